"""prune: of a list of configurations, those that run on the device, best first, and why the others do not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesearch.answers import Metrics, Verdict
from tilesearch.answers.languages import Kept, PruneAnswer, Rejected
from tilesearch.api.configurations import Options, configurations, options_of, tile_of
from tilesearch.api.context import DeviceLike, KernelLike, make, model_of
from tilesearch.api.judging import JudgedTiles
from tilesearch.api.ranking import element_bits, idleness, rank_keys, rank_order, tile_columns, timed
from tilesearch.api.solve import rank_key, rankable
from tilesearch.api.timing import Filters, Times, rank_of, require_times, timing_of
from tilesearch.engines.base import Tiles
from tilesearch.errors import InputError, Issue
from tilesearch.program import lower
from tilesearch.specs.ops import OpSpec
from tilesearch.specs.problems import Problem, SearchSpec
from tilesearch.specs.validation import validate

UNREADABLE = "unreadable"
CLUSTER = "C3.cluster"


def prune(
    configs: Iterable[Any],
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
    neither list. `kernel` defaults to Triton. Ties of the rank go to pipelined configurations. Where the rank
    cannot be computed on the device, `notes` say what ranked instead. Raises `InputError` for a configuration
    that cannot be read.
    """
    search = None if rank is None else {"rank": rank}
    chosen = kernel if kernel is not None or isinstance(op, Problem) else "triton"
    problem = make(op, device, kernel=chosen, rules=rules, model=model, search=search)
    return prune_problem(configs, problem, top, allow_soft)


def prune_problem(
    configs: Iterable[Any],
    problem: Problem,
    top: int | None = None,
    allow_soft: bool = True,
    places: Sequence[str] | None = None,
) -> PruneAnswer:
    """`prune` for a problem that is ready.

    `places` name the configurations of a file: one that cannot be read is then rejected with a note, and the
    others are judged.
    """
    if top is not None:
        validate(SearchSpec, {"top": top})
    listed = configurations(configs)
    batch = _Batch(listed, problem, places)
    kept = [i for i in batch.order() if allow_soft or batch.verdict(i) == "fits"]
    chosen = set(kept)
    return PruneAnswer.model_construct(
        rank=batch.rank,
        kept=[
            Kept.model_construct(config=listed[i], verdict=batch.verdict(i), metrics=batch.metrics(i))
            for i in kept[:top]
        ],
        rejected=[
            Rejected.model_construct(config=config, violations=batch.reasons(i))
            for i, config in enumerate(listed)
            if i not in chosen
        ],
        notes=batch.notes,
    )


@dataclass(frozen=True)
class _Group:
    """Configurations that are compiled with the same options, judged by one model; `rows` are their places."""

    judged: JudgedTiles
    problem: Problem
    rows: list[int]

    @cached_property
    def running(self) -> dict[int, int]:
        """Positions of the configurations that run, and the rows of `tiles` that are theirs."""
        runs = [p for p, verdict in enumerate(self.judged.verdicts) if verdict in ("fits", "spills")]
        return {p: row for row, p in enumerate(runs)}

    @cached_property
    def tiles(self) -> Tiles:
        """The tiles that run, a row each."""
        listed = [list(self.judged.tiles[p].values()) for p in self.running]
        return np.array(listed, dtype=np.int64).reshape(len(listed), len(self.judged.model.names))

    @cached_property
    def times(self) -> Times | None:
        """Times of the tiles that run."""
        model = self.judged.model
        return timing_of(self.problem, model).of(model, tile_columns(model, self.tiles)) if self.running else None

    @cached_property
    def slow(self) -> dict[int, list[str]]:
        """Positions that users' rules on times reject, with the ids of the rules."""
        filters = Filters(self.problem, self.judged.model)
        require_times(filters, timing_of(self.problem, self.judged.model), self.problem.rules.extra)
        if not filters or self.times is None:
            return {}
        passed = filters.passed(tile_columns(self.judged.model, self.tiles), self.times)
        broken = {p: [name for name, good in passed.items() if not good[n]] for p, n in self.running.items()}
        return {p: names for p, names in broken.items() if names}

    def keys(self) -> NDArray[np.int64]:
        """What the tiles that run are ranked by, smaller first."""
        model, rank = self.judged.model, rank_of(self.problem)
        if rank == "time" and "time" not in model.keys and self.times is not None:
            return self.times.picoseconds
        return rank_keys(model, self.tiles, rank_key(model, self.problem, rank))

    def metrics(self, place: int) -> Metrics:
        """The metrics of one configuration; its time where it runs."""
        found = self.judged.metrics(place)
        return timed(found, self.times, self.running[place]) if place in self.running else found


class _Batch:
    """All configurations, judged: one model for each set of compiler options."""

    def __init__(self, configs: list[Any], problem: Problem, places: Sequence[str] | None) -> None:
        self.notes: list[str] = []
        self.unread: set[int] = set()
        self.options: dict[int, Options] = {}
        self.spot: dict[int, tuple[_Group, int]] = {}
        names = places if places is not None else [f"configs[{i}]" for i in range(len(configs))]
        base = model_of(problem)
        tiles: dict[int, dict[str, int]] = {}
        issues: list[Issue] = []
        in_triton = problem.kernel.language == "triton"
        for i, config in enumerate(configs):
            try:
                tiles[i] = tile_of(base, config, names[i])
                self.options[i] = options_of(config, names[i]) if in_triton else Options()
            except InputError as error:
                self.unread.add(i)
                issues += error.issues
        if issues and (places is None or not tiles):
            raise InputError([replace(issue, source=issue.source or problem.source) for issue in issues])
        self.notes += [f"{UNREADABLE}: {issue}" for issue in issues]
        self.groups = self._grouped(problem, tiles)
        self.rank = rank_of(self.groups[0].problem if self.groups else problem)
        timing = timing_of(problem, base)
        weak = timing.notes() if rank_of(problem) == "time" and not timing.validated else []
        self._say([*base.notes, *weak])

    def _grouped(self, problem: Problem, tiles: Mapping[int, Mapping[str, int]]) -> list[_Group]:
        by_cap: dict[int | None, list[int]] = {}
        for i in tiles:
            if i not in self.unread:
                by_cap.setdefault(self.options[i].maxnreg, []).append(i)
        groups = []
        for cap, rows in by_cap.items():
            kernel = problem.kernel if cap is None else problem.kernel.model_copy(update={"maxnreg": cap})
            model = model_of(problem.replace(kernel=kernel))
            values = {name: {tiles[i][name] for i in rows} for name in model.names}
            wide = model.with_domains({v.name: tuple(sorted({*v.domain, *values[v.name]})) for v in model.variables})
            ranked, notes = rankable(model, problem)
            self.notes += [note for note in notes if note not in self.notes]
            group = _Group(JudgedTiles(wide, [tiles[i] for i in rows]), ranked, rows)
            groups.append(group)
            self.spot.update({i: (group, place) for place, i in enumerate(rows)})
        return groups

    def _say(self, of_the_model: Sequence[str]) -> None:
        self.notes += of_the_model
        if any(self._in_cluster(i) for i in self.spot):
            self.notes.append(f"{CLUSTER} is not judged: what num_ctas above 1 makes of a kernel is not known")
        ignored = dict.fromkeys(name for i in self.spot for name in self.options[i].ignored)
        if ignored:
            self.notes.append(f"no rule covers {', '.join(ignored)}: configurations are judged without them")

    def _in_cluster(self, i: int) -> bool:
        return self.options[i].num_ctas > 1

    def verdict(self, i: int) -> Verdict:
        group, place = self.spot[i]
        verdict = "infeasible" if place in group.slow else group.judged.verdicts[place]
        return "unknown" if self._in_cluster(i) and verdict != "infeasible" else verdict

    def metrics(self, i: int) -> Metrics:
        group, place = self.spot[i]
        return group.metrics(place)

    def reasons(self, i: int) -> list[str]:
        """The rules that a configuration breaks, or that cannot be judged for it."""
        if i in self.unread:
            return [UNREADABLE]
        group, place = self.spot[i]
        broken = group.judged.violations(place) + group.slow.get(place, [])
        if self.verdict(i) != "unknown":
            return broken
        return [*broken, *group.judged.undecided(place), *([CLUSTER] if self._in_cluster(i) else [])]

    def order(self) -> list[int]:
        """Places of the configurations that run, in the order of the rank; what spills after what fits."""
        ranked = [place for group in self.groups for place in self._ranked(group)]
        ranked.sort(key=lambda item: item[:-1])
        return [item[-1] for item in ranked]

    def _ranked(self, group: _Group) -> list[tuple[bool, int, int, int, int]]:
        """(spills, key, idleness, position within the group, place) of what runs of one group."""
        if not group.running:
            return []
        model, keys = group.judged.model, group.keys()
        waits = idleness(model, group.tiles, element_bits(lower(group.problem.op)))
        order = rank_order(model, group.tiles, keys, waits).tolist()
        places = [group.rows[p] for p in group.running]
        ranked = [
            (self.verdict(places[n]) == "spills", int(keys[n]), int(waits[n]), position, places[n])
            for position, n in enumerate(order)
        ]
        return [item for item in ranked if self.verdict(item[-1]) in ("fits", "spills")]
