"""port: a configuration tuned on one device, on another: what breaks, and the best that fits there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilesearch.answers import Candidate, CheckAnswer, Metrics, RuleReport, Tile
from tilesearch.answers.languages import Judged, PortAnswer
from tilesearch.api.check import check_problem
from tilesearch.api.configurations import options_of, tile_of
from tilesearch.api.context import DeviceLike, KernelLike, make, model_of
from tilesearch.api.preference import pipelined_first
from tilesearch.api.solve import rankable
from tilesearch.api.timing import rank_of
from tilesearch.errors import InputError
from tilesearch.kernels.base import language_data
from tilesearch.rules.model import Model
from tilesearch.specs.ops import OpSpec
from tilesearch.specs.problems import Problem

_BREAKS = {"op.dtype": "C3.instruction", "op.scale_dtype": "C3.instruction", "kernel.variant": "C3.variant"}
"""What a device refuses without a tile, by the key that is at fault: the rule that it is reported under."""

_NEEDS = ("C3.tma", "C3.variant")
"""Rules that no tile mends: another variant of the kernel does."""


def port(
    config: Mapping[str, Any] | Any,
    op: OpSpec | Problem,
    device_from: DeviceLike,
    device_to: DeviceLike,
    *,
    kernel: KernelLike | None = None,
    rank: str | None = None,
    top: int = 5,
) -> PortAnswer:
    """Judge `config` on both devices, and rank what fits the second.

    `config` is written as for `prune`; `kernel` defaults to Triton. `broken` lists the rules that the tile
    breaks on the second device with their numbers, soft ones included, and what the device has no hardware
    for; ``target.nearest`` are the nearest tiles that fit. `best` are the `top` tiles of the language's own
    space there, by `rank`: the problem's (or traffic, where residency is not known), ties going to pipelined
    tiles; where the device has no such variant of the kernel, of the one that takes its place.
    """
    search = {"top": top, **({} if rank is None else {"rank": rank})}
    chosen = kernel if kernel is not None or isinstance(op, Problem) else "triton"
    source = make(op, device_from, kernel=chosen, search=search)
    target = make(op, device_to, kernel=chosen, search=search)
    return port_problem(config, source, target)


def port_problem(config: Any, source: Problem, target: Problem) -> PortAnswer:
    """`port` for the same problem on two devices."""
    tile = tile_of(model_of(source), config, "config")
    if source.kernel.language == "triton":
        source, target = _capped(source, config), _capped(target, config)
    notes: list[str] = []
    rank = rank_of(target)
    before = _judged(source, check_problem(source, tile))
    after, broken = _on_target(target, tile)
    stand_in = _stand_in(target, broken)
    best: list[Candidate] = []
    if stand_in is not None:
        problem, model = stand_in
        if problem is not target:
            notes.append(f"best is of the variant {problem.kernel.variant}, which takes the place of the one asked for")
        ranked, said = rankable(model, problem)
        rank, best = rank_of(ranked), pipelined_first(ranked)
        notes += [*said, *(note for note in model.notes if note not in after.notes)]
    after = after.model_copy(update={"notes": [*after.notes, *notes]})
    return PortAnswer(origin=before, target=after, tile=Tile(**tile), broken=broken, rank=rank, best=best)


def _capped(problem: Problem, config: Any) -> Problem:
    """The problem compiled with the register cap that the configuration asks for."""
    cap = options_of(config, "config").maxnreg
    return problem if cap is None else problem.replace(kernel=problem.kernel.model_copy(update={"maxnreg": cap}))


def _judged(problem: Problem, answer: CheckAnswer) -> Judged:
    kernel = problem.kernel.model_dump(exclude_none=True)
    return Judged(
        device=problem.device.name,
        kernel=kernel,
        verdict=answer.verdict,
        metrics=answer.metrics,
        nearest=answer.nearest,
        notes=list(model_of(problem).notes),
    )


def _on_target(target: Problem, tile: Mapping[str, int]) -> tuple[Judged, list[RuleReport]]:
    """The verdict there and what breaks; what the device refuses whatever the tile breaks as well."""
    try:
        answer = check_problem(target, tile)
    except InputError as error:
        refused = [_refused(issue.where, issue.message) for issue in error.issues if issue.where in _BREAKS]
        if len(refused) < len(error.issues):
            raise
        kernel = target.kernel.model_dump(exclude_none=True)
        judged = Judged(device=target.device.name, kernel=kernel, verdict="infeasible", metrics=Metrics())
        return judged, refused
    return _judged(target, answer), [report for report in answer.rules if report.ok is False]


def _refused(where: str, message: str) -> RuleReport:
    return RuleReport(
        id=_BREAKS[where],
        ok=False,
        hard=True,
        value=None,
        limit=None,
        unit="",
        slack=None,
        formula=where,
        detail=message,
        source="the device's and the language's data",
    )


def _stand_in(target: Problem, broken: list[RuleReport]) -> tuple[Problem, Model] | None:
    """The problem with a variant that the device has the hardware for, and its model; None where there is none."""
    replacements = language_data(target.kernel.language).get("stand_ins", {})
    problem, unfit = target, any(report.id in _NEEDS for report in broken)
    while True:
        if not unfit:
            try:
                return problem, model_of(problem)
            except InputError:
                pass
        variant = replacements.get(problem.kernel.variant)
        if variant is None:
            return None
        problem = problem.replace(kernel=problem.kernel.model_copy(update={"variant": variant}))
        unfit = False
