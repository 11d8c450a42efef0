"""prune: of a list of configurations, those that run on the device, best first, and why the others do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tilesearch.answers.languages import Kept, PruneAnswer, Rejected
from tilesearch.api.configurations import tiles_of
from tilesearch.api.context import DeviceLike, KernelLike, make, model_of
from tilesearch.api.judging import JudgedTiles
from tilesearch.api.ranking import rank_order
from tilesearch.api.solve import rank_key
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
    order = _best_first(judged, places, problem)
    kept = [
        Kept.model_construct(config=configs[i], verdict=judged.verdicts[i], metrics=judged.metrics(i))
        for i in order[:top]
    ]
    chosen = set(places)
    rejected = [
        Rejected.model_construct(config=config, violations=judged.violations(i) or judged.undecided(i))
        for i, config in enumerate(configs)
        if i not in chosen
    ]
    return PruneAnswer.model_construct(kept=kept, rejected=rejected)


def _best_first(judged: JudgedTiles, places: list[int], problem: Problem) -> list[int]:
    """Places in the order of the rank, what spills after what fits."""
    if not places:
        return []
    tiles = np.array([list(judged.tiles[i].values()) for i in places], dtype=np.int64)
    order = rank_order(judged.model, tiles, rank_key(judged.model, problem))
    ranked = [places[i] for i in order]
    return sorted(ranked, key=lambda i: judged.verdicts[i] != "fits")
