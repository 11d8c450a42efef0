"""design: the whole loop on one sheet - ledger, class, tile, pipeline, special paths, diagnosis, review, skeleton."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilesearch.answers.design import DesignAnswer
from tilesearch.api.context import DeviceLike, KernelLike, make
from tilesearch.api.design.sheet import Measured, design_problem
from tilesearch.specs.ops import OpSpec
from tilesearch.specs.problems import Problem

__all__ = ["design", "design_problem"]


def design(
    op: OpSpec | Problem,
    device: DeviceLike | None = None,
    *,
    kernel: KernelLike | None = None,
    space: Mapping[str, Any] | None = None,
    rules: list[str] | Mapping[str, Any] | None = None,
    model: Mapping[str, Any] | None = None,
    rank: str | None = None,
    policy: str | None = None,
    measured_us: float | None = None,
    measured_bytes: float | None = None,
) -> DesignAnswer:
    """The design sheet of `op` on `device`, in the five steps of seed 1.2.

    The arguments are those of `solve`, and `policy` that of `roofline`, as are the measurements of a kernel that has
    the chosen tile. Raises `InputError` where no tile fits,
    for a unit that the device lacks, and for a device without design rules.
    """
    table = {**(model or {}), **({} if policy is None else {"roofs": policy})}
    search = None if rank is None else {"rank": rank}
    problem = make(op, device, kernel=kernel, space=space, rules=rules, model=table or None, search=search)
    return design_problem(problem, Measured(measured_us, measured_bytes))
