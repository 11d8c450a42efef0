"""Figures of the text's recomputation of carver's search (section 3.2)."""

from __future__ import annotations

from functools import cache

from tilesearch.answers import SolveAnswer
from tilesearch.api.solve import solve
from tilesearch.api.verify.figures.gemm import EXTENT
from tilesearch.api.verify.figures.registry import figure
from tilesearch.api.verify.figures.roofs import DEVICE
from tilesearch.specs.ops import Gemm

_POWERS = {"min": 16, "max": EXTENT, "power_of_two": True}
_SPACE = {"block_m": _POWERS, "block_n": _POWERS, "block_k": _POWERS, "num_stages": 1, "num_warps": 8}


@cache
def recomputation() -> SolveAnswer:
    """Every tile that the text's rules leave, ranked by carver's key."""
    op = Gemm(m=EXTENT, n=EXTENT, k=EXTENT, dtype="fp16", acc="fp32")
    return solve(op, DEVICE, space=_SPACE, rules={"preset": "seed-carver"}, rank="carver", top=1000)


def _rejected(rule: str) -> int:
    return (recomputation().counts.rejected or {})[rule]


@figure("carver.visited")
def visited() -> int:
    """Candidates."""
    return recomputation().counts.candidates


@figure("carver.valid")
def valid() -> int:
    """Candidates that fit."""
    return recomputation().counts.feasible or 0


@figure("carver.smem")
def rejected_on_shared_memory() -> int:
    """Candidates rejected on shared memory, which is tested first."""
    return _rejected("C1.shared_memory")


@figure("carver.reg")
def rejected_on_registers() -> int:
    """Candidates rejected on registers, of those left."""
    return _rejected("C2.register_file")


@figure("carver.priorities")
def distinct_priorities() -> int:
    """Distinct values of carver's key."""
    return len({candidate.metrics.priority for candidate in recomputation().candidates})


@figure("carver.ties")
def tied_at_the_top() -> int:
    """Candidates that share the best key."""
    return recomputation().best.tied or 0
