"""prune: of a list of configurations, those that run on the device, best first, and why the others do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tilesearch.answers.languages import Kept, PruneAnswer, Rejected
from tilesearch.api.configurations import tiles_of
from tilesearch.api.context import DeviceLike, KernelLike, make, model_of
from tilesearch.api.judging import JudgedTiles
from tilesearch.api.ranking import rank_order, tile_columns, timed
from tilesearch.api.solve import rank_key
from tilesearch.api.timing import Filters, Times, rank_of, require_times, timing_of
from tilesearch.engines.base import Tiles
from tilesearch.rules.columns import Column
from tilesearch.specs.ops import OpSpec
from tilesearch.specs.problems import Problem


def prune(
    configs: Sequence[Any],
    op: OpSpec | Problem,
    device: DeviceLike | None = None,
    *,
    kernel: KernelLike | None = None,
    rules: Sequence[str] | Mapping[str, Any] | None = None,
    model: Mapping[str, Any] | None = None,
    rank: str | None = None,
    top: int | None = None,
    allow_soft: bool = True,
) -> PruneAnswer:
    """Keep the configurations that run, ranked; say of each other one which rules it breaks.

    `configs` are dicts as Triton, vLLM, SGLang, Inductor or TileLang write them, or ``triton.Config`` objects;
    ``kept[i].config`` is the caller's own object. Those that only run badly (spills) come last, and go where
    `allow_soft` is false. With `top`, what is beyond it is dropped without a reason of its own: it appears in
    neither list. `kernel` defaults to Triton. Raises `InputError` for a configuration that cannot be read.
    """
    search = None if rank is None else {"rank": rank}
    chosen = kernel if kernel is not None or isinstance(op, Problem) else "triton"
    problem = make(op, device, kernel=chosen, rules=rules, model=model, search=search)
    return prune_problem(configs, problem, top, allow_soft)


def prune_problem(
    configs: Sequence[Any], problem: Problem, top: int | None = None, allow_soft: bool = True
) -> PruneAnswer:
    """`prune` for a problem that is ready."""
    built = model_of(problem)
    if not configs:
        return PruneAnswer(kept=[], rejected=[])
    tiles = tiles_of(built, configs)
    values = {name: {tile[name] for tile in tiles} for name in built.names}
    wide = built.with_domains({v.name: tuple(sorted({*v.domain, *values[v.name]})) for v in built.variables})
    judged = JudgedTiles(wide, tiles)
    wanted = ("fits", "spills") if allow_soft else ("fits",)
    places = [i for i, verdict in enumerate(judged.verdicts) if verdict in wanted]
    timing, filters = timing_of(problem, wide), Filters(problem, wide)
    require_times(filters, timing, problem.rules.extra)
    chosen_tiles = np.array([list(tiles[i].values()) for i in places], dtype=np.int64).reshape(
        len(places), len(built.names)
    )
    columns = tile_columns(wide, chosen_tiles) if places else {}
    times = timing.of(wide, columns)
    slow = _slow(filters, columns, times, places)
    order = _best_first(judged, places, chosen_tiles, times, problem)
    kept = [
        Kept.model_construct(
            config=configs[places[p]],
            verdict=judged.verdicts[places[p]],
            metrics=timed(judged.metrics(places[p]), times, p),
        )
        for p in [p for p in order if places[p] not in slow][:top]
    ]
    chosen = set(places) - slow.keys()
    rejected = [
        Rejected.model_construct(config=config, violations=slow.get(i) or judged.violations(i) or judged.undecided(i))
        for i, config in enumerate(configs)
        if i not in chosen
    ]
    return PruneAnswer.model_construct(kept=kept, rejected=rejected)


def _slow(filters: Filters, columns: dict[str, Column], times: Times | None, places: list[int]) -> dict[int, list[str]]:
    """The configurations that users' rules on times reject, with the ids of the rules."""
    if not filters or times is None:
        return {}
    passed = filters.passed(columns, times)
    broken = {place: [name for name, good in passed.items() if not good[p]] for p, place in enumerate(places)}
    return {place: names for place, names in broken.items() if names}


def _best_first(
    judged: JudgedTiles, places: list[int], tiles: Tiles, times: Times | None, problem: Problem
) -> list[int]:
    """Positions in `places` in the order of the rank, what spills after what fits."""
    if not places:
        return []
    rank = rank_of(problem)
    by_time = rank == "time" and times is not None and "time" not in judged.model.keys
    key = times.picoseconds if by_time and times is not None else rank_key(judged.model, problem, rank)
    order = [int(p) for p in rank_order(judged.model, tiles, key)]
    return sorted(order, key=lambda p: judged.verdicts[places[p]] != "fits")
