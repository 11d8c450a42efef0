"""The tiles worth measuring: the first by time, or a list that covers what the time model cannot tell apart.

A predicted time is off by a factor that nobody knows, and similar tiles share it: where the model thinks too well of
128 x 256 it does so with three stages and with four. Ten neighbours are then one bet. `diverse` draws such factors
many times and picks, one after another, the tile that most lowers the expected best time of the list. What a list is
expected to gain falls with its length, so that picking greedily is within 1 - 1/e of the best list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilesearch.answers import Candidate
from tilesearch.api.solve import solve_problem
from tilesearch.api.timing import rank_of, timing_of
from tilesearch.errors import InputError, Issue
from tilesearch.specs.problems import Problem

Values = NDArray[np.float64]

APART = {
    "block_m": 0.26, "block_n": 0.32, "block_k": 0.38, "num_stages": 0.30, "num_warps": 0.20,
    "split_k": 0.38, "group_m": 0.26,
}  # fmt: skip
"""How fast errors part with each doubling of a variable (num_stages: with each stage).

The correlation of two errors is exp(-sum of these). Fitted to the squared differences of log(measured / predicted) of
276276 pairs of GEMM tiles on 30 shapes (Triton 3.6, H200), each shape judged by constants that had not seen it.
split_k and group_m did not vary there: they stand like block_k and block_m.
"""

APART_CLASS = 0.88
"""The same for two tiles in different classes of kernels, from the same fit."""

DRAWS = 1024
MOST = 400
"""Tiles that are looked at, the first by time: others have no chance within their interval."""

_Z80 = 1.2815515655446004  # of a normal distribution 80 % lie within so many standard deviations


@dataclass(frozen=True)
class Guess:
    """What is known of candidates before they are measured, a row each.

    `time_us`: predicted. `low_us`, `high_us`: the interval that holds 80 %. `tiles`: the values of each variable.
    """

    time_us: Values
    low_us: Values
    high_us: Values
    tiles: Mapping[str, NDArray[np.int64]]


def by_time(problem: Problem) -> Problem:
    """The problem, ranked by time where there is a model of it, whatever rank it asks for."""
    if timing_of(problem).constants is None:
        return problem
    return problem.replace(search=problem.search.model_copy(update={"rank": "time"}))


def shortlist(problem: Problem, count: int, spread: bool = False) -> list[Candidate]:
    """The `count` tiles of `problem` to measure, in rank order: the first by its rank, or a diverse list.

    Raises `InputError` where a diverse list is asked for and there is no time to tell tiles by.
    """
    looked_at = max(count, MOST) if spread else count
    answer = solve_problem(problem.replace(search=problem.search.model_copy(update={"top": looked_at})))
    listed = answer.candidates
    if not spread:
        return listed
    if rank_of(problem) != "time" or any(c.metrics.time_us is None for c in listed):
        raise InputError(Issue("a diverse list needs predicted times", "--diverse", hint="--rank time"))
    chosen = diverse(_guess(listed), count)
    return [listed[place] for place in sorted(chosen)]


def _guess(listed: Sequence[Candidate]) -> Guess:
    tiles = [candidate.tile.as_dict() for candidate in listed]
    names = tiles[0] if tiles else {}
    return Guess(
        time_us=np.array([c.metrics.time_us for c in listed], dtype=np.float64),
        low_us=np.array([c.metrics.time_low_us for c in listed], dtype=np.float64),
        high_us=np.array([c.metrics.time_high_us for c in listed], dtype=np.float64),
        tiles={name: np.array([tile[name] for tile in tiles], dtype=np.int64) for name in names},
    )


def diverse(guess: Guess, count: int, draws: int = DRAWS, seed: int = 0) -> list[int]:
    """Places of `count` candidates whose best is expected to be fastest, in the order in which they were picked."""
    rows = len(guess.time_us)
    if rows == 0:
        return []
    times = drawn_times(guess, draws, seed)
    best = np.full(draws, np.inf)
    chosen: list[int] = []
    for _ in range(min(count, rows)):
        expected = np.minimum(times, best[None, :]).mean(axis=1)
        expected[chosen] = np.inf
        place = int(np.argmin(expected))
        chosen.append(place)
        best = np.minimum(best, times[place])
    return chosen


def drawn_times(guess: Guess, draws: int, seed: int = 0) -> Values:
    """Times that the candidates may turn out to have, a column for each draw, in units of the best prediction."""
    width = np.log(guess.high_us / guess.low_us) / (2 * _Z80)
    middle = np.log(np.sqrt(guess.low_us * guess.high_us) / guess.time_us.min())
    together = likeness(guess)
    factor = np.linalg.cholesky(together + 1e-6 * np.eye(len(together)))
    normal = np.random.default_rng(seed).standard_normal((len(together), draws))
    return np.asarray(np.exp(middle[:, None] + width[:, None] * (factor @ normal)))


def likeness(guess: Guess) -> Values:
    """The correlation of the errors of each two candidates."""
    rows = len(guess.time_us)
    apart = np.zeros((rows, rows))
    for name, rate in APART.items():
        if name in guess.tiles:
            values = guess.tiles[name].astype(np.float64)
            steps = values if name == "num_stages" else np.log2(np.maximum(values, 1))
            apart += rate * np.abs(steps[:, None] - steps[None, :])
    kind = np.round(np.log(guess.high_us / guess.low_us), 4)  # classes differ in their intervals
    apart += APART_CLASS * (kind[:, None] != kind[None, :])
    return np.asarray(np.exp(-apart))
