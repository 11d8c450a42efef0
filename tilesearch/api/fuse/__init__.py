"""fuse: fuse a chain into one kernel or keep it apart; split a reduction over blocks or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilesearch.answers.fuse import FuseAnswer
from tilesearch.api.context import DeviceLike, make
from tilesearch.api.fuse.chain import fuse_chain
from tilesearch.api.fuse.split import fuse_split
from tilesearch.specs.kernels import FuseSpec
from tilesearch.specs.ops import Chain, OpSpec
from tilesearch.specs.problems import Problem
from tilesearch.specs.validation import validate

__all__ = ["fuse", "fuse_problem"]


def fuse(
    op: OpSpec | Problem | Sequence[Mapping[str, Any]],
    device: DeviceLike | None = None,
    *,
    space: Mapping[str, Any] | None = None,
    model: Mapping[str, Any] | None = None,
    policy: str | None = None,
    count: str | None = None,
) -> FuseAnswer:
    """Which version wins, and by which criterion (seed 5.1 and 5.2).

    `op` is a chain (a `Chain`, or the tables of ``[[ops]]``), or one operator with a reduction that can be split
    over blocks. `count` = ``outputs`` counts only what is written and a split's partials. Raises `InputError`
    for an operator with nothing to fuse or split.
    """
    if isinstance(op, Sequence) and not isinstance(op, str | bytes):
        op = validate(Chain, {"ops": [dict(table) if isinstance(table, Mapping) else table for table in op]})
    table = {**(model or {}), **({} if policy is None else {"roofs": policy})}
    problem = make(op, device, space=space, model=table or None)
    if count is not None:
        problem = problem.replace(fuse=validate(FuseSpec, {"count": count}, prefix="fuse"))
    return fuse_problem(problem)


def fuse_problem(problem: Problem) -> FuseAnswer:
    """`fuse` for a problem that is ready."""
    return fuse_chain(problem, problem.op) if isinstance(problem.op, Chain) else fuse_split(problem)
