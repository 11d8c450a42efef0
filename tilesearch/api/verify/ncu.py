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
from tilesearch.api.verify.replay import Tally
from tilesearch.api.verify.tables import positive, read_tables
from tilesearch.api.verify.times.cases import DEVICE
from tilesearch.api.verify.times.read import gemm_row
from tilesearch.api.verify.times.rows import Timed
from tilesearch.models.time import Constants, Launch, constants_of, launch_of, predict
from tilesearch.program import lower
from tilesearch.rules.columns import value_columns
from tilesearch.specs.devices import load_device
from tilesearch.specs.problems import parse_tile

_INTO_SMS, _READS = "l1tex_m_xbar2l1tex_read_bytes_sum", "dram_bytes_read_sum"
_SETTLED, _BOUND = 2, 0.07
_GROUP = 8
"""The order of blocks of a row that names none."""
_REREAD = 1.15
"""Reads above this many times the compulsory bytes: data was fetched from memory again."""


@dataclass(frozen=True)
class Counted:
    """One profiled launch: bytes as counted and as modelled; `least` and `most` bound the modelled reads."""

    row: Timed
    group: int
    into_sms: float
    reads: float
    modelled_sms: float
    modelled_reads: float
    least: float
    most: float
    compulsory: float


@dataclass(frozen=True)
class Profiled:
    """One row of counters, and the launch it was counted on."""

    row: Timed
    group: int
    launch: Launch
    into_sms: float
    reads: float


def verify_ncu(files: list[Path]) -> VerifyAnswer:
    """Errors of ``l2_bytes`` and ``dram_bytes``, as shares of what the profiler counted. Only reports.

    stats: for ``l2_to_sm`` and ``dram_reads``: rows, `mean`, `median` and `worst` absolute error, and the bias;
    ``dram_reads_again`` the same over launches that fetch data again, ``dram_reads_settled`` over those whose bounds
    are less than a factor of two apart; ``dram_bounds_hold``: share of launches within 7 % of their bounds. The worst
    rows are named.
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
    settled = np.array([c.most < _SETTLED * c.least for c in counted])
    if settled.any():
        tally.stats["dram_reads_settled"] = _errors(reads[settled])
    held = [c.least * (1 - _BOUND) <= c.reads <= c.most * (1 + _BOUND) for c in counted]
    tally.stats["dram_bounds_hold"] = float(np.mean(held))
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
    constants = constants_of(load_device(DEVICE))
    assert isinstance(constants, Constants), constants
    for one in profiled(path):
        found, program = predict(one.launch, constants), one.launch.program
        inputs = sum(program.tensor_bytes(t) for t in program.tensors if t not in program.outputs)
        yield Counted(
            one.row,
            one.group,
            one.into_sms,
            one.reads,
            modelled_sms=float(found.l2_bytes[0]),
            modelled_reads=float(found.dram_bytes[0]),
            least=float(found.dram_least[0]),
            most=float(found.dram_most[0]),
            compulsory=float(inputs),
        )


def profiled(path: Path) -> Iterator[Profiled]:
    """The launches of a table of counters. Raises `InputError` for another table."""
    wanted = {"M", "N", "K", "config", _INTO_SMS, _READS}
    return read_tables([path], lambda _: ((wanted, _profiled),), "counters")


def _profiled(number: int | str, data: dict[str, Any]) -> Profiled:
    row = gemm_row(number, data, 1.0, True)
    tile = parse_tile({**row.tile, "group_m": int(data.get("GM") or row.tile.get("group_m", _GROUP))})
    model = model_of(make(row.build_op or row.op, DEVICE, kernel=row.kernel))
    columns = value_columns(model.names, [complete_tile(model, tile)])
    launch = launch_of(lower(row.op), model, columns)
    return Profiled(row, tile["group_m"], launch, positive(data, _INTO_SMS), positive(data, _READS))
