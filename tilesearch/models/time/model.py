"""The tile time model: one vectorised evaluator for every kernel it covers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilesearch.models.time.attention import attention_launch
from tilesearch.models.time.block import Block, Chip, Composed, compose
from tilesearch.models.time.constants import Constants
from tilesearch.models.time.elements import elements_launch
from tilesearch.models.time.launch import Launch, Values
from tilesearch.models.time.matrix import matrix_launch, matrix_of
from tilesearch.models.time.other_products import walks
from tilesearch.models.time.streaming import rows_launch, vector_launch
from tilesearch.models.time.traffic import Memory, l2_bytes, order_of
from tilesearch.program.form import Program

Physics = Callable[[Launch, Constants], tuple[Block, Chip, Memory]]

CLASSES = (
    "wgmma, pointers", "wgmma, TMA", "producer", "persistent", "mma", "8 bits", "split", "one stage", "spills",
    "no hints", "attention", "decode", "rows", "vectors",
)  # fmt: skip
"""Classes of candidates with errors of their own, in the order of `Prediction.kind`."""


@dataclass(frozen=True)
class Prediction:
    """Predicted times in us and bytes, a column each; `kind` is the place of a candidate's class in `CLASSES`.

    `dram_least` and `dram_most` bound the reads of memory: blocks in step, and blocks that drift apart.
    """

    time_us: Values
    dram_bytes: Values
    dram_least: Values
    dram_most: Values
    l2_bytes: Values
    kind: NDArray[np.int64]
    block: Block
    chip: Chip
    composed: Composed


def physics_of(program: Program) -> Physics | None:
    """The part of the model that a program needs; None where there is none."""
    if program.kind == "attention":
        return attention_launch
    if program.contractions:
        return matrix_launch
    if program.kind == "gemv":
        return vector_launch
    if program.kind == "elementwise":
        return elements_launch
    return rows_launch if program.kind in ("reduction", "rows") else None


def predict(launch: Launch, constants: Constants) -> Prediction:
    """The time of every candidate of `launch`: behind a flush that leaves L2 cold and full of dirty lines, as
    benchmarks time it, at the full clock, one launch with its floor included.
    """
    physics = physics_of(launch.program)
    if physics is None:
        raise ValueError(f"no time model for {launch.program.kind}")
    with np.errstate(over="ignore"):
        block, chip, memory = physics(launch, constants)
        composed = compose(block, chip, constants)
    return Prediction(
        time_us=composed.time * 1e-3,
        dram_bytes=memory.reads,
        dram_least=memory.least,
        dram_most=memory.most,
        l2_bytes=_into_sms(launch, constants),
        kind=classes_of(launch),
        block=block,
        chip=chip,
        composed=composed,
    )


def _into_sms(launch: Launch, constants: Constants) -> Values:
    if physics_of(launch.program) is not matrix_launch:
        return launch["traffic_bytes"]
    matrix = matrix_of(launch.program)
    return l2_bytes(matrix, order_of(launch, matrix, constants), launch) * walks(launch.program)


def classes_of(launch: Launch) -> NDArray[np.int64]:
    """The place in `CLASSES` of each candidate."""
    program = launch.program
    if program.kind == "attention":
        return np.full(launch.rows, CLASSES.index("decode" if program.profile == "decode" else "attention"))
    if not program.contractions:
        return np.full(launch.rows, CLASSES.index("vectors" if program.kind == "gemv" else "rows"))
    narrow = program.tensor(program.contractions[0].a).dtype.bits <= 8
    rules = [
        (launch["narrow"] > 0, "no hints"),
        (launch["live_registers"] > launch["register_cap"], "spills"),
        (launch["producer"] > 0, "producer"),
        (launch["num_stages"] <= 1, "one stage"),
        ((launch["split_k"] > 1) | (launch["second"] > 0), "split"),
        (launch["persistent"] > 0, "persistent"),
        (np.full(launch.rows, narrow), "8 bits"),
        (launch["wgmma"] <= 0, "mma"),
        (launch["tma"] > 0, "wgmma, TMA"),
    ]
    masks = [mask for mask, _ in rules]
    chosen = [CLASSES.index(name) for _, name in rules]
    return np.asarray(np.select(masks, chosen, CLASSES.index("wgmma, pointers")), dtype=np.int64)
