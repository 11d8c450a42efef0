"""verify ncu: bytes between L2 and the SMs and reads of DRAM, against a profiler's counters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tilesearch.answers import VerifyAnswer
from tilesearch.api.check import complete_tile
from tilesearch.api.context import make, model_of
from tilesearch.api.verify.feasibility.read import table_rows
from tilesearch.api.verify.replay import Tally
from tilesearch.api.verify.times.cases import DEVICE
from tilesearch.api.verify.times.read import gemm_row
from tilesearch.api.verify.times.rows import Timed
from tilesearch.errors import InputError, Issue
from tilesearch.models.time import Constants, constants_of, launch_of, predict
from tilesearch.program import lower
from tilesearch.rules.columns import value_columns
from tilesearch.specs.devices import load_device

_INTO_SMS, _READS = "l1tex_m_xbar2l1tex_read_bytes_sum", "dram_bytes_read_sum"
_REREAD = 1.15
"""Reads above this many times the compulsory bytes: data was fetched from memory again."""


@dataclass(frozen=True)
class Counted:
    """One profiled launch: bytes as counted and as modelled."""

    row: Timed
    group: int
    into_sms: float
    reads: float
    modelled_sms: float
    modelled_reads: float
    compulsory: float


def verify_ncu(files: list[Path]) -> VerifyAnswer:
    """Errors of ``l2_bytes`` and ``dram_bytes``, as shares of what the profiler counted. Only reports.

    stats: for ``l2_to_sm`` and ``dram_reads``: rows, `mean`, `median` and `worst` absolute error, and the bias;
    ``dram_reads_again`` the same over launches that fetch data again. The worst rows are named.
    """
    tally = Tally("ncu")
    counted = [row for path in files for row in _counted(path)]
    tally.agree = len(counted)
    into = np.array([c.modelled_sms / c.into_sms for c in counted])
    reads = np.array([c.modelled_reads / c.reads for c in counted])
    again = np.array([c.reads > _REREAD * c.compulsory for c in counted])
    tally.stats["l2_to_sm"] = _errors(into)
    tally.stats["dram_reads"] = _errors(reads)
    if again.any():
        tally.stats["dram_reads_again"] = _errors(reads[again])
    answer = tally.answer()
    for what, ratio in (("L2 to SM", into), ("DRAM reads", reads)):
        for i in np.argsort(-np.abs(ratio - 1))[:3]:
            one = counted[i]
            answer.notes.append(f"{what}: {ratio[i] - 1:+.0%} at {one.row.shape} {one.row.config}, group_m {one.group}")
    return answer


def _errors(ratio: Any) -> dict[str, float]:
    error = np.abs(ratio - 1)
    return {
        "rows": float(len(ratio)),
        "mean": float(error.mean()),
        "median": float(np.median(error)),
        "worst": float(error.max()),
        "bias": float(ratio.mean() - 1),
    }


def _counted(path: Path) -> Iterator[Counted]:
    rows = list(table_rows(path))
    if not rows or not {"M", "N", "K", "config", _INTO_SMS, _READS} <= set(rows[0]):
        hint = f"columns wanted: M, N, K, config, {_INTO_SMS}, {_READS}"
        raise InputError(Issue("these rows are no counters that can be replayed", source=str(path), hint=hint))
    constants = constants_of(load_device(DEVICE))
    assert isinstance(constants, Constants), constants
    for number, data in enumerate(rows):
        row = gemm_row(number, data, 1.0, True)
        group = int(data.get("GM") or row.tile.get("group_m", 8))
        model = model_of(make(row.build_op or row.op, DEVICE, kernel=row.kernel))
        columns = value_columns(model.names, [complete_tile(model, {**row.tile, "group_m": group})])
        program = lower(row.op)
        found = predict(launch_of(program, model, columns), constants)
        inputs = sum(program.tensor_bytes(t) for t in program.tensors if t not in program.outputs)
        yield Counted(
            row,
            group,
            float(data[_INTO_SMS]),
            float(data[_READS]),
            float(found.l2_bytes[0]),
            float(found.dram_bytes[0]),
            float(inputs),
        )
