"""port: a configuration tuned on one device, on another: what breaks, and the best that fits there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilesearch.answers import CheckAnswer, Tile
from tilesearch.answers.languages import Judged, PortAnswer
from tilesearch.api.check import check_problem
from tilesearch.api.configurations import tiles_of
from tilesearch.api.context import DeviceLike, KernelLike, make, model_of
from tilesearch.api.solve import solve_problem
from tilesearch.api.timing import rank_of
from tilesearch.specs.devices import NvidiaDevice
from tilesearch.specs.kernels import KernelSpec
from tilesearch.specs.ops import OpSpec
from tilesearch.specs.problems import Problem

_THROUGH_TMA = ("tma", "persistent_tma")
_WITHOUT_TMA = {"tma": "pointer", "persistent_tma": "persistent_pointer"}
"""The variant that takes the place of one that a device has no hardware for."""


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
    breaks on the second device with their numbers, soft ones included; `best` are the `top` tiles of the
    language's own space there, by the problem's rank (or by traffic, where residency is not known).
    """
    search = {"top": top, **({} if rank is None else {"rank": rank})}
    chosen = kernel if kernel is not None or isinstance(op, Problem) else "triton"
    source = make(op, device_from, kernel=chosen, search=search)
    target = make(op, device_to, kernel=chosen, search=search)
    return port_problem(config, source, target)


def port_problem(config: Any, source: Problem, target: Problem) -> PortAnswer:
    """`port` for the same problem on two devices."""
    tile = tiles_of(model_of(source), [config])[0]
    before, after = check_problem(source, tile), check_problem(target, tile)
    found = solve_problem(_rankable(_runnable(target)))
    return PortAnswer(
        origin=_judged(source, before),
        target=_judged(target, after),
        tile=Tile(**tile),
        broken=[report for report in after.rules if report.ok is False],
        best=found.candidates,
    )


def _judged(problem: Problem, answer: CheckAnswer) -> Judged:
    kernel = problem.kernel.model_dump(exclude_none=True)
    return Judged(device=problem.device.name, kernel=kernel, verdict=answer.verdict, metrics=answer.metrics)


def _runnable(problem: Problem) -> Problem:
    """The problem with a variant that the device has the hardware for."""
    variant, device = problem.kernel.variant, problem.device
    if variant in _THROUGH_TMA and (not isinstance(device, NvidiaDevice) or device.tma is None):
        kernel = KernelSpec(**{**problem.kernel.model_dump(), "variant": _WITHOUT_TMA[variant]})
        return problem.replace(kernel=kernel)
    return problem


def _rankable(problem: Problem) -> Problem:
    """The problem ranked by traffic where its own rank needs what is not known of the device."""
    rank = rank_of(problem)
    if rank in model_of(problem).keys or rank == "time":
        return problem
    return problem.replace(search=problem.search.model_copy(update={"rank": "traffic"}))
