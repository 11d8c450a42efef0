"""What a sharded product is made of: each rank's operator, its best tile's time, the messages of its collective."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tilesearch.answers import Candidate
from tilesearch.api.solve import solve_problem
from tilesearch.api.timing import timing_of
from tilesearch.errors import InputError, Issue, TilesearchError
from tilesearch.ledger import ledger_of, rates_for
from tilesearch.program import lower
from tilesearch.specs.dtypes import dtype
from tilesearch.specs.kernels import KernelSpec
from tilesearch.specs.ops import Gemm, OpSpec
from tilesearch.specs.problems import Problem

Split = Literal["row", "column"]

TIMED = ("triton", "tilelang")
"""Languages with a time model."""

_VARIANTS = ("tma", "pointer", "split_k")
_VERSION = "3.6"


@dataclass(frozen=True)
class Local:
    """The product of one rank: the fastest tile over the kernels tried; us, cool and under the power limit.

    `notes` say how strong the statement on its time is, `validated` whether measurements cover such kernels.
    """

    op: Gemm
    kernel: KernelSpec
    candidate: Candidate
    time_us: float
    sustained_us: float | None
    validated: bool
    notes: tuple[str, ...]

    @property
    def used_us(self) -> float:
        """The time that totals are made of."""
        return self.time_us if self.sustained_us is None else self.sustained_us


def local_op(op: Gemm, split: Split, ranks: int, rows: int | None = None) -> Gemm:
    """What one rank multiplies: K over the ranks (row) or N (column), rounded up, for `rows` of M.

    With K split the result is a partial sum: what follows it (bias, activation, an added C) comes after the
    collective and is left out.
    """
    changes: dict[str, object] = {"m": rows or op.m}
    if split == "row":
        changes |= {"k": -(-op.k // ranks), "bias": False, "activation": "none", "c_in": False}
    else:
        changes["n"] = -(-op.n // ranks)
    return op.model_copy(update=changes)


def message_bytes(op: Gemm, split: Split, ranks: int, rows: int) -> int:
    """Bytes of the tensor that one rank hands to the collective, for `rows` of M.

    Row: its partial C. Column: its share of A's rows.
    """
    if split == "row":
        return op.batch * -(-rows * op.n * dtype(op.operand("out")).bits // 8)
    held = -(-rows // ranks)
    return op.batch * -(-held * op.k * dtype(op.operand("a")).bits // 8)


def local_gemm(problem: Problem, op: Gemm) -> Local:
    """The fastest tile of `op` by the time model. Raises `InputError` where there is none.

    A problem in a language without a time model is timed as Triton kernels, the fastest of its variants.
    """
    given = problem.kernel.language in TIMED
    kernels = [problem.kernel] if given else [_triton(v) for v in _VARIANTS]
    found: list[tuple[float, KernelSpec, Candidate]] = []
    refused: list[Issue] = []
    for kernel in kernels:
        try:
            best = _best(problem, op, kernel)
        except InputError as error:
            refused += error.issues
            continue
        if best is not None and best.metrics.time_us is not None:
            found.append((best.metrics.time_us, kernel, best))
    if not found:
        raise InputError(refused or [Issue("no tile of the local product fits, so it has no time", "op")])
    time, kernel, candidate = min(found, key=lambda one: one[0])
    timing = timing_of(problem.replace(op=op, kernel=kernel))
    known = timing.validated and timing.constants is not None and timing.constants.strength == "calibrated"
    return Local(op, kernel, candidate, time, _sustained(problem, op, time), known, tuple(timing.notes()))


def _best(problem: Problem, op: Gemm, kernel: KernelSpec) -> Candidate | None:
    search = problem.search.model_copy(update={"rank": "time", "top": 1})
    return next(iter(solve_problem(problem.replace(op=op, kernel=kernel, search=search)).candidates), None)


def _triton(variant: str) -> KernelSpec:
    return KernelSpec(language="triton", version=_VERSION, variant=variant)


def _sustained(problem: Problem, op: OpSpec, time_us: float) -> float | None:
    """The time under the power limit: never below operations over the roof's sustained rate."""
    ledger = ledger_of(lower(op))
    try:
        rates = rates_for(lower(op), problem.device, "predict", ledger.read_share)
    except TilesearchError:  # no such roof, or its rate is not known
        return None
    found = problem.device.roofs[rates.roof.name].calibration(rates.roof.calibration_id)
    if found is None or found.regime != "sustained":
        return None
    return max(time_us, ledger.flops / rates.roof.value * 1e6)
