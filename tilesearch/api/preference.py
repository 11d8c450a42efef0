"""The tiles that `port` lists and `export` writes: those of `solve`, ties going to what waits least for memory."""

from __future__ import annotations

import numpy as np

from tilesearch.answers import Candidate
from tilesearch.api.context import model_of
from tilesearch.api.ranking import element_bits, idleness
from tilesearch.api.solve import solve_problem
from tilesearch.program import lower
from tilesearch.specs.problems import Problem

_MOST_TIED = 2_000
_KEYS = {"carver": "priority", "traffic": "traffic_bytes"}


def pipelined_first(problem: Problem) -> list[Candidate]:
    """The best `top` tiles; within a tie pipelined ones first, where `solve` has the most slack first.

    Reads as many of `solve`'s candidates as share a key with the last one wanted, up to a limit.
    """
    top = problem.search.top
    answer = solve_problem(problem)
    found = answer.candidates
    if answer.rank not in _KEYS:
        return found
    last = found[-1].tied if found else None
    if last is not None and len(found) == top:
        wanted = min(_MOST_TIED, top + last)
        found = solve_problem(problem.replace(search=problem.search.model_copy(update={"top": wanted}))).candidates
    if not found:
        return []
    model = model_of(problem)
    tiles = np.array([list(c.tile.as_dict().values()) for c in found], dtype=np.int64)
    waits = idleness(model, tiles, element_bits(lower(problem.op)))
    ties = _ties(found, answer.rank)
    order = sorted(range(len(found)), key=lambda n: (ties[n], int(waits[n]), n))
    return [found[n].model_copy(update={"rank": rank}) for rank, n in enumerate(order[:top], start=1)]


def _ties(found: list[Candidate], rank: str) -> list[int]:
    """For each candidate the place where its tie begins."""
    values = [getattr(c.metrics, _KEYS[rank]) for c in found]
    starts: list[int] = []
    for place, value in enumerate(values):
        same = place > 0 and value is not None and value == values[place - 1]
        starts.append(starts[-1] if same else place)
    return starts
