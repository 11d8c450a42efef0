"""Why the period is what it is: the cycle of waits behind it, and the pipe or buffer that binds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilesearch.scheduling.bounds import arcs
from tilesearch.scheduling.cycles import Arc, Cycle, positive_cycle
from tilesearch.scheduling.problem import Loop
from tilesearch.scheduling.solve import Schedule

PIPE_NAMES: Mapping[str, str] = {"M": "Cube", "V": "Vector", "FIX": "FixPipe", "S": "Scalar"}
"""What people call a pipe; the others go by their own names."""


@dataclass(frozen=True)
class Explanation:
    """The critical cycle and what binds: a pipe (``Cube``, ``MTE2``, …), ``buffer NAME``, ``chain`` or ``nothing``.

    ``nothing``, with an empty cycle: a schedule that is not proved the best, and in which nothing forbids a
    shorter period. `order_matters` says that another order of the tasks has no such cycle: that none has a shorter
    period was then proved by search, where the period is proved.
    """

    cycle: Cycle
    binding: str
    text: str
    order_matters: bool


def explain(loop: Loop, found: Schedule) -> Explanation:
    """What makes the period of `found` no shorter."""
    bounds = found.bounds
    cycle, order_matters = Cycle(), False
    if bounds is not None and bounds.resource == found.ii:
        cycle = _queue(loop, bounds.clique)
    elif bounds is not None and bounds.cycle.period == found.ii:
        cycle = bounds.cycle
    if not cycle.arcs:
        cycle = positive_cycle(len(loop.tasks), ordered_arcs(loop, found), found.ii - 1) or Cycle()
        order_matters = any(a.kind == "pipe" for a in cycle.arcs)
    if not cycle.arcs:
        return Explanation(cycle, "nothing", f"{found.ii} is the best period found; nothing in it forbids less", False)
    binding = _binding(loop, cycle)
    return Explanation(cycle, binding, _sentence(loop, found.ii, cycle, binding), order_matters)


def _queue(loop: Loop, clique: Sequence[int]) -> Cycle:
    """Tasks that take turns on one pipe."""
    following = [*clique[1:], clique[0]]
    laps = [0] * (len(clique) - 1) + [1]
    return Cycle(
        tuple(Arc(a, b, loop.tasks[a].interval, lap, "pipe") for a, b, lap in zip(clique, following, laps, strict=True))
    )


def ordered_arcs(loop: Loop, found: Schedule) -> list[Arc]:
    """All waits of `loop` once the order of exclusive tasks and the versions are those of `found`."""
    result = arcs(loop, found.versions)
    result += [Arc(a, b, 1, 1, "window") for a, b in loop.windows]
    result += [Arc(i, i, t.interval, 1, "pipe") for i, t in enumerate(loop.tasks)]
    for x in loop.exclusions:
        lap = (found.starts[x.second] - found.starts[x.first] - x.hold) // found.ii
        result.append(Arc(x.first, x.second, x.hold, -lap, "pipe", x.reason))
        result.append(Arc(x.second, x.first, x.back, lap + 1, "pipe", x.reason))
    return result


def _binding(loop: Loop, cycle: Cycle) -> str:
    buffers = [a.about for a in cycle.arcs if a.kind == "buffer"]
    if buffers:
        return f"buffer {buffers[0]}"
    shared = frozenset.intersection(*(loop.tasks[a.source].pipes for a in cycle.arcs))
    if not shared:
        return "chain"
    # A task that holds two pipes is bound by the one that does the work, not by the mover that feeds it.
    name = "M" if "M" in shared else min(shared)
    return PIPE_NAMES.get(name, name)


def pipe_loads(loop: Loop) -> dict[str, int]:
    """Cycles that one iteration holds each pipe."""
    return {name: sum(loop.tasks[i].interval for i in tasks) for name, tasks in loop.pipes.items()}


def _sentence(loop: Loop, ii: int, cycle: Cycle, binding: str) -> str:
    """``copy A + copy B on MTE2 = 1230 < gemm 1800: Cube binds``, or the cycle step by step."""
    if binding == "chain" or binding.startswith("buffer"):
        return f"{_steps(loop, cycle)} = {cycle.latency} over {cycle.distance}: {binding} binds"
    involved = list(dict.fromkeys(a.source for a in cycle.arcs))
    others = [
        f"{' + '.join(loop.tasks[i].name for i in tasks)} on {PIPE_NAMES.get(name, name)} = {load}"
        for (name, tasks), load in zip(loop.pipes.items(), pipe_loads(loop).values(), strict=True)
        if PIPE_NAMES.get(name, name) != binding and load < ii and not set(tasks) & set(involved)
    ]
    names = " + ".join(loop.tasks[i].name for i in involved)
    total = f"{names} on {binding} = {ii}" if len(involved) > 1 else f"{names} {ii}"
    return f"{f'{max(others, key=_load)} < ' if others else ''}{total}: {binding} binds"


def _load(text: str) -> int:
    return int(text.rpartition("= ")[2])


def _steps(loop: Loop, cycle: Cycle) -> str:
    steps = []
    for a in cycle.arcs:
        why = {"buffer": f" (frees {a.about})", "pipe": " (same pipe)", "window": " (within one period)"}.get(
            a.kind, ""
        )
        steps.append(f"{loop.tasks[a.source].name} {a.latency}{why}")
    return " + ".join(steps)
