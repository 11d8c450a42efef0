"""explain: why nothing fits, what to give up, and the nearest tiles that do fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tilesearch.answers import ExplainAnswer, Nearest
from tilesearch.api.context import DeviceLike, KernelLike, make, model_of
from tilesearch.engines.base import Deadline, Request
from tilesearch.engines.registry import engine
from tilesearch.errors import InputError, Issue, UnsupportedError
from tilesearch.explanation.conflict import Conflict, find_conflict
from tilesearch.explanation.judge import slack, verdict_of
from tilesearch.explanation.nearest import nearest
from tilesearch.kernels.registry import timed_rules
from tilesearch.rules.model import Model, Rule
from tilesearch.specs.ops import OpSpec
from tilesearch.specs.problems import Problem

_MOST_WANTED = 2_000


def explain(
    op: OpSpec | Problem,
    device: DeviceLike | None = None,
    *,
    kernel: KernelLike | None = None,
    space: Mapping[str, Any] | None = None,
    rules: Sequence[str] | Mapping[str, Any] | None = None,
    model: Mapping[str, Any] | None = None,
    allow_soft: bool | None = None,
    time_limit_s: float | None = None,
) -> ExplainAnswer:
    """The minimal conflict between device, operator, space and the user's rules.

    `core` lists rules that no tile satisfies together, any of which, dropped, makes the rest satisfiable.
    `corrections` are the minimal sets of rules to drop, the user's own first. `nearest` starts from the tile
    among those asked for that comes closest to fitting.
    """
    options = {"allow_soft": allow_soft, "time_limit_s": time_limit_s}
    search = {name: value for name, value in options.items() if value is not None}
    return explain_problem(
        make(op, device, kernel=kernel, space=space, rules=rules, model=model, search=search or None)
    )


def explain_problem(problem: Problem, deadline: Deadline | None = None) -> ExplainAnswer:
    """`explain` for a problem that is ready. Raises TimeoutError where the time ends with nothing settled."""
    deadline = deadline or Deadline(problem.search.time_limit_s)
    built = model_of(problem)
    timed = timed_rules(problem.rules.extra)
    if timed:
        number, text = next(iter(timed.items()))
        message = f"{text!r}: explain works on rules over whole numbers, and a time is none"
        hint = "leave it out: it is a filter on what fits"
        raise InputError(Issue(message, f"rules.extra[{number - 1}]", problem.source, hint))
    rules = Request(built, problem.search.allow_soft).enforced()
    conflict = find_conflict(built, rules, deadline, engine("cpsat"))
    notes = [f"{rule.id} is not judged: {rule.unknown}" for rule in built.undecided]
    if not conflict.complete:
        notes.append("corrections: the search was cut short; there may be others")
    return ExplainAnswer(
        feasible=conflict.feasible,
        core=[rule.id for rule in conflict.core],
        corrections=[[rule.id for rule in correction] for correction in conflict.corrections],
        nearest=[] if conflict.feasible else _nearest(built, problem, deadline, notes),
        rules={rule.id: rule.sentence for rule in _named(conflict)},
        notes=[*notes, *(["something fits: ask solve for the list"] if conflict.feasible else [])],
    )


def _named(conflict: Conflict) -> list[Rule]:
    rules = [*conflict.core, *(rule for correction in conflict.corrections for rule in correction)]
    return list({rule.id: rule for rule in rules}.values())


def _nearest(model: Model, problem: Problem, deadline: Deadline, notes: list[str]) -> list[Nearest]:
    """From the tile asked for that comes closest to fitting, the nearest that fit without the user's rules."""
    users = tuple(rule for rule in model.rules if rule.id.startswith("user."))
    others = model.with_rules(tuple(rule for rule in model.rules if rule not in users))
    wanted = _wanted(model.with_rules(users), others, deadline)
    if wanted is None:
        notes.append("nearest: no tile in the space satisfies the user's rules even by themselves")
        return []
    return nearest(others, wanted, deadline, problem.search.allow_soft)


def _wanted(asked: Model, judged: Model, deadline: Deadline) -> dict[str, int] | None:
    try:
        tiles = engine("vector").enumerate(Request(asked, deadline=deadline)).tiles
    except UnsupportedError:
        tiles = engine("cpsat").first(Request(asked, deadline=deadline)).tiles
    if not len(tiles):
        return None
    picks = np.unique(np.linspace(0, len(tiles) - 1, min(len(tiles), _MOST_WANTED)).astype(np.int64))
    candidates = [{n: int(v) for n, v in zip(asked.names, tiles[i], strict=True)} for i in picks]
    return min(candidates, key=lambda tile: _distance(judged, tile))


def _distance(model: Model, tile: dict[str, int]) -> tuple[int, float]:
    """How far a tile is from fitting: broken hard rules, then the worst excess over a limit."""
    alone = [model.with_rules((replace(rule, when=None),)) for rule in model.hard]
    broken = sum(verdict_of(one, tile) == "infeasible" for one in alone)
    slacks = [float(s) for rule in model.hard if (s := slack(rule, tile)) is not None]
    return broken, -min(slacks, default=0.0)
