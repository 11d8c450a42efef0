"""Configurations for ``@tilelang.autotune``: those of TileLang's space that run, best first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilesearch.api.context import DeviceLike, make
from tilesearch.api.solve import solve_problem
from tilesearch.kernels.names import parameters
from tilesearch.specs.ops import OpSpec
from tilesearch.specs.problems import Problem


def configs(
    op: OpSpec | Problem,
    device: DeviceLike | None = None,
    *,
    version: str | None = None,
    space: Mapping[str, Any] | None = None,
    rules: Sequence[str] | None = None,
    rank: str | None = None,
    top: int = 20,
    names: Mapping[str, str] | None = None,
) -> list[dict[str, int]]:
    """The `top` tiles of `op` in TileLang as dicts that a kernel factory takes: block_M, …, num_stages, threads.

    `names` maps a variable to what the factory calls it (None in its place leaves it out), for example
    ``{"num_warps": "num_threads"}``. Hand the list to ``@tilelang.autotune(configs=…)``.
    """
    kernel = {"language": "tilelang", **({} if version is None else {"version": version})}
    search = {"top": top, **({} if rank is None else {"rank": rank})}
    problem = make(op, device, kernel=kernel, space=space, rules=rules, search=search)
    found = solve_problem(problem)
    return [parameters("tilelang", c.tile.as_dict(), problem.device, names) for c in found.candidates]
