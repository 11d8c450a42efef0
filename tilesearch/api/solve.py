"""solve: which tiles fit, best first, with the proof that the list is complete or the best is the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesearch.answers import Candidate, Counts, SolveAnswer, SpaceSummary
from tilesearch.api.branching import LISTED, Proof, fastest, size_of
from tilesearch.api.context import DeviceLike, KernelLike, make, model_of
from tilesearch.api.ranking import Ranked, breaks_soft, candidates, rank_keys, rank_tiles, tile_columns, timed
from tilesearch.api.timing import Filters, Times, Timing, exact_rank_of, rank_of, require_times, timing_of
from tilesearch.engines.base import Deadline, Engine, Outcome, Progress, Request, Status, Tiles
from tilesearch.engines.registry import engine as engine_named
from tilesearch.errors import InputError, Issue, UnsupportedError, suggest
from tilesearch.kernels.registry import FLOAT_METRICS, FLOATS, rule_names, with_reason
from tilesearch.rules.expr import TRUE, Expr, negate
from tilesearch.rules.model import Model, Rule
from tilesearch.rules.parse import parse_integer
from tilesearch.specs.ops import OpSpec
from tilesearch.specs.problems import RANKS, Problem, cartesian

VECTOR_LIMIT = 4_000_000_000
"""Largest Cartesian product that `auto` gives to the vector engine first."""

LIST_LIMIT = {"cpsat": 20_000, "z3": 5_000}
"""Largest Cartesian product that a solver engine lists in full; above it, it proves the best k."""


def solve(
    op: OpSpec | Problem,
    device: DeviceLike | None = None,
    *,
    kernel: KernelLike | None = None,
    space: Mapping[str, Any] | None = None,
    rules: Sequence[str] | Mapping[str, Any] | None = None,
    model: Mapping[str, Any] | None = None,
    rank: str | None = None,
    engine: str | None = None,
    top: int | None = None,
    allow_soft: bool | None = None,
    time_limit_s: float | None = None,
    progress: Progress | None = None,
) -> SolveAnswer:
    """Every tile of `op` that fits `device`, best first.

    `op` is an operator or a loaded problem; the other arguments replace what the problem says. `rank` is
    ``carver`` ((traffic + 1) * waves), ``traffic`` (bytes), ``time``, or a whole number written as users' rules
    are; the least comes first. Raises `InputError` for bad input; a problem without a tile is an answer (status
    ``infeasible``), not an error.
    """
    options = {"rank": rank, "engine": engine, "top": top, "allow_soft": allow_soft, "time_limit_s": time_limit_s}
    search = {name: value for name, value in options.items() if value is not None}
    problem = make(op, device, kernel=kernel, space=space, rules=rules, model=model, search=search or None)
    return solve_problem(problem, progress)


def solve_problem(problem: Problem, progress: Progress | None = None, deadline: Deadline | None = None) -> SolveAnswer:
    """`solve` for a problem that is ready. A `deadline` of the caller's may be interrupted while it runs."""
    deadline = deadline or Deadline(problem.search.time_limit_s)
    built = model_of(problem)
    timing, (rank, said) = timing_of(problem, built), _rank(problem, built)
    filters = Filters(problem, built)
    require_times(filters, timing, problem.rules.extra)
    by_time = rank == "time" and "time" not in built.keys
    key = None if by_time and timing.constants is not None else rank_key(built, problem, rank)
    request = Request(built, problem.search.allow_soft, deadline, progress)
    searched = _search(problem, request, timing, filters) if key is None else None
    if searched is not None:
        name, (outcome, proof) = "vector", searched
    else:
        proof = None
        if filters:
            name, outcome = _run(problem, replace(request, allow_soft=True), None)
            _filter(filters, timing, outcome, problem.search.allow_soft)
        else:
            name, outcome = _run(problem, request, key)
    if built.undecided and outcome.unknown is None:
        outcome.unknown = _unknown(request)
    if key is None:
        ranked, shown = _by_time(built, timing, outcome, problem.search.top)
    else:
        ranked = rank_tiles(built, outcome.tiles, key, problem.search.top, outcome.listed)
        shown = timing.of(built, tile_columns(built, ranked.tiles))
    status = _status(built, outcome)
    return SolveAnswer(
        problem=problem.name,
        device=problem.device.name,
        op=problem.op.model_dump(exclude_none=True),
        kernel=problem.kernel.language,
        engine=name,
        rank=rank,
        space=SpaceSummary(
            variables={v.name: list(v.domain) for v in built.variables}, cartesian=cartesian(built.domains)
        ),
        counts=_counts(built, outcome),
        status=status.value,
        complete=outcome.listed and status in (Status.COMPLETE, Status.INFEASIBLE),
        proved_optimal=status in (Status.COMPLETE, Status.OPTIMAL),
        elapsed_s=round(deadline.elapsed, 6),
        candidates=_listed(problem, built, ranked, shown, key if rank not in RANKS else None),
        bound_us=None if proof is None else proof.bound_us,
        gap=None if proof is None else proof.gap,
        notes=[
            *built.notes,
            *said,
            *outcome.notes,
            *_notes(problem, built, outcome, timing, rank),
            *([f"the first takes {timing.story(shown, 0)}"] if shown is not None and rank == "time" else []),
        ],
    )


def _rank(problem: Problem, model: Model) -> tuple[str, list[str]]:
    """What the tiles are ranked by; with a note where a solver that was asked for cannot list them for their times."""
    rank, engine, size = rank_of(problem), problem.search.engine, cartesian(model.domains)
    by_default = problem.search.rank is None and rank == "time" and "time" not in model.keys
    if by_default and size > LIST_LIMIT.get(engine, size):
        other = exact_rank_of(problem)
        return other, [f"ranked by {other}: {engine} cannot list {size} candidates, as times need; vector can"]
    return rank, []


def _listed(
    problem: Problem, model: Model, ranked: Ranked, shown: Times | None, written: Expr | None
) -> list[Candidate]:
    """What the answer lists: metrics, times, and the value of a ranking that was written out."""
    listed = candidates(model, ranked, problem.search.allow_soft)
    if written is not None:
        keys = rank_keys(model, ranked.tiles, written).tolist()
        listed = [c.model_copy(update={"key": value}) for c, value in zip(listed, keys, strict=True)]
    return [c.model_copy(update={"metrics": timed(c.metrics, shown, i)}) for i, c in enumerate(listed)]


def _search(
    problem: Problem, request: Request, timing: Timing, filters: Filters
) -> tuple[Outcome, Proof | None] | None:
    """The fastest tiles of a set that is too large to time one and all; None where it is not."""
    if problem.search.engine not in ("auto", "vector") or cartesian(request.model.domains) <= LISTED:
        return None
    decided = replace(request, model=_decided(request.model), attribute=False)
    size = size_of(decided)
    if size is not None and size <= LISTED:
        return None

    def keep(tiles: Tiles, times: Times) -> NDArray[np.bool_]:
        passed = filters.passed(tile_columns(request.model, tiles), times).values()
        return np.asarray(np.logical_and.reduce(list(passed)), dtype=bool)

    outcome, proof = fastest(decided, timing, problem.search.top, keep if filters else None)
    outcome.feasible = size if size is not None and not filters else None
    return outcome, proof


def _filter(filters: Filters, timing: Timing, outcome: Outcome, allow_soft: bool) -> None:
    """Leave out what the users' rules on times reject, and count it under their ids.

    `outcome` holds all tiles that break no hard rule: those that break soft ones are judged and counted as well.
    """
    outcome.rejected = None if outcome.rejected is None else {**outcome.rejected, **dict.fromkeys(filters.trees, 0)}
    columns, count = tile_columns(filters.model, outcome.tiles), len(outcome.tiles)
    times = timing.of(filters.model, columns)
    if times is None:
        return
    kept = np.ones(count, dtype=bool)
    for name, passed in filters.passed(columns, times).items():
        if outcome.rejected is not None:
            outcome.rejected[name] = int((kept & ~passed).sum())
        kept &= passed
    soft = breaks_soft(filters.model, outcome.tiles)
    if outcome.listed:
        outcome.feasible, outcome.soft = int((kept & ~soft).sum()), int((kept & soft).sum())
    outcome.tiles = outcome.tiles[kept if allow_soft else kept & ~soft]
    if not len(outcome.tiles) and outcome.status is not Status.UNKNOWN:
        outcome.status = Status.INFEASIBLE if outcome.listed else Status.UNKNOWN


def _by_time(model: Model, timing: Timing, outcome: Outcome, top: int) -> tuple[Ranked, Times | None]:
    """The first tiles by time, and their times; those whose interval overlaps the first one's count as tied."""
    times = timing.of(model, tile_columns(model, outcome.tiles))
    if times is None:
        return Ranked(outcome.tiles, []), None
    ranked = rank_tiles(model, outcome.tiles, times.places, top, outcome.listed)
    shown = timing.of(model, tile_columns(model, ranked.tiles))
    count = int(times.tied.sum()) if outcome.listed else None
    return Ranked(ranked.tiles, [] if shown is None else [count if tied else 1 for tied in shown.tied]), shown


def rankable(model: Model, problem: Problem) -> tuple[Problem, list[str]]:
    """The problem, ranked by traffic where its own rank needs what is not known of the device, with a note on it.

    A rank by time is never replaced: it was asked for.
    """
    rank = rank_of(problem)
    if rank in model.keys or rank == "time" or rank not in RANKS or not model.keys:
        return problem, []
    other = next(iter(model.keys))
    metric = model.metrics.get("priority")
    reason = f": {metric.reason}" if metric is not None and metric.reason else ""
    changed = problem.replace(search=problem.search.model_copy(update={"rank": other}))
    return changed, [f"ranked by {other}: {rank} cannot be computed{reason}"]


def rank_key(model: Model, problem: Problem, rank: str | None = None) -> Expr:
    """The tree that the problem ranks by. Raises `InputError` where this problem has none."""
    rank = rank or exact_rank_of(problem)
    if rank in model.keys:
        return model.keys[rank]
    if rank not in RANKS:
        return _expression(model, problem, rank)
    metric = model.metrics.get(RANKS[rank])
    cycles = model.metrics.get("cycles")
    if rank == "time" and cycles is not None:
        metric = cycles
    reason = metric.reason if metric is not None else timing_of(problem, model).reason
    other = ", ".join(model.keys)
    raise InputError(
        Issue(f"cannot rank by {rank}: {reason}", "search.rank", problem.source, f"this problem can rank by {other}")
    )


def _expression(model: Model, problem: Problem, rank: str) -> Expr:
    """The tree of a ranking that is written out. Raises `InputError` for what is neither a ranking nor a number."""
    names = rule_names(model)
    if rank in FLOAT_METRICS:
        raise InputError(Issue(f"cannot rank by {rank}", "search.rank", problem.source, FLOATS))
    if rank.isidentifier() and rank not in names:
        message = f"{rank!r} is no ranking: {', '.join(RANKS)}, or an expression over the tile and its metrics"
        hint = suggest(rank, [*RANKS, *names])
        raise InputError(Issue(message, "search.rank", problem.source, hint))
    try:
        return parse_integer(rank, names, model.domains, "search.rank", problem.source)
    except InputError as error:
        reasons = dict.fromkeys(FLOAT_METRICS, FLOATS)
        raise InputError([with_reason(issue, reasons) for issue in error.issues]) from None


def _run(problem: Problem, request: Request, key: Expr | None) -> tuple[str, Outcome]:
    chosen = problem.search.engine
    size = cartesian(request.model.domains)
    if chosen != "auto":
        return chosen, _ask(engine_named(chosen), request, key, problem.search.top, size)
    refused = [f"the space has {size} candidates, too many to list"]
    if size <= VECTOR_LIMIT:
        try:
            outcome = engine_named("vector").enumerate(request)
            outcome.notes.append(f"auto chose vector: {size} candidates can be listed one and all")
            return "vector", outcome
        except UnsupportedError as error:
            refused = [str(error)]
    for name in ("cpsat", "z3"):
        try:
            outcome = _ask(engine_named(name), request, key, problem.search.top, size)
        except UnsupportedError as error:
            refused.append(f"{name} refuses: {error}")
            continue
        outcome.notes.append(f"auto chose {name}: {'; '.join(refused)}")
        return name, outcome
    raise UnsupportedError(f"no engine can search this space: {'; '.join(refused)}; narrow it with [space] or a rule")


def _ask(solver: Engine, request: Request, key: Expr | None, top: int, size: int) -> Outcome:
    if solver.name == "vector":
        return solver.enumerate(request)
    decided = replace(request, model=_decided(request.model))
    if size <= LIST_LIMIT[solver.name]:
        return solver.enumerate(decided)
    if key is None:
        raise UnsupportedError(f"{solver.name} cannot list {size} candidates, and times need the list")
    return solver.best(decided, key, top)


def _decided(model: Model) -> Model:
    """Undecidable rules become rules that keep their tiles out, for engines that know no third verdict."""
    return model.with_rules(tuple(_keep_out(r) if r.hard and r.limit is None else r for r in model.rules))


def _keep_out(rule: Rule) -> Rule:
    return replace(rule, value=negate(TRUE if rule.when is None else rule.when), limit=TRUE, when=None, has_slack=False)


def _unknown(request: Request) -> int | None:
    """How many tiles satisfy every rule that can be judged but not all; None where that cannot be counted."""
    known = tuple(rule for rule in request.model.rules if not rule.hard or rule.limit is not None)
    models = (request.model.with_rules(known), _decided(request.model))
    possible, decided = (size_of(replace(request, model=m, allow_soft=True, attribute=False)) for m in models)
    return None if possible is None or decided is None else possible - decided


def _status(model: Model, outcome: Outcome) -> Status:
    """The engine's status; nothing is proved infeasible where tiles may fit that cannot be judged."""
    if outcome.status is Status.INFEASIBLE and model.undecided and outcome.unknown != 0:
        return Status.UNKNOWN
    return outcome.status


def _counts(model: Model, outcome: Outcome) -> Counts:
    return Counts(
        candidates=cartesian(model.domains),
        feasible=outcome.feasible,
        soft=outcome.soft if model.soft or outcome.soft is None else 0,
        unknown=outcome.unknown,
        rejected=outcome.rejected,
    )


def _notes(problem: Problem, model: Model, outcome: Outcome, timing: Timing, rank: str) -> list[str]:
    notes = [f"{rule.id} is not judged: {rule.unknown}" for rule in model.undecided]
    if outcome.soft and not problem.search.allow_soft:
        notes.append(f"{outcome.soft} tiles break only soft rules and are left out; --allow-soft lists them")
    notes += [f"{m.name}: {m.reason}" for m in model.metrics.values() if m.expr is None]
    notes += timing.notes()
    if rank == "carver" and "carver" in model.keys:
        notes.append(
            "carver: (traffic_bytes + 1) x waves of the launch; TileLang's carver itself, with its own tiles and "
            "residency, is tilesearch.models.carver"
        )
    if problem.model.blocks_per_sm is not None:
        notes.append(f"waves, tail_fill and priority assume {problem.model.blocks_per_sm} blocks per SM, as asked")
    return notes
