"""Judging a schedule by the definition alone: nothing here is shared with the code that finds schedules."""

from __future__ import annotations

from collections.abc import Sequence

from tilesearch.scheduling.problem import Line, Loop


def violations(loop: Loop, ii: int, starts: Sequence[int], versions: Sequence[int]) -> list[str]:
    """Everything that is wrong with a schedule of `loop`; empty when it is valid."""
    if len(starts) != len(loop.tasks) or len(versions) != len(loop.buffers):
        return ["the schedule does not have one start a task and one count a buffer"]
    if ii < 1:
        return [f"the period {ii} is no positive number of cycles"]
    wrong = [f"{t.name} starts at {s}, before 0" for t, s in zip(loop.tasks, starts, strict=True) if s < 0]
    wrong += [f"{t.name} holds its pipe for {t.interval} > {ii}" for t in loop.tasks if t.interval > ii]
    return [
        *wrong,
        *_late(loop, ii, starts, versions),
        *_overlapping(loop, ii, starts),
        *_misplaced(loop, ii, starts),
        *_unstorable(loop, versions),
    ]


def _late(loop: Loop, ii: int, starts: Sequence[int], versions: Sequence[int]) -> list[str]:
    wrong = []
    for e in loop.edges:
        distance = e.distance if e.buffer is None else versions[e.buffer]
        apart = starts[e.target] - starts[e.source] + ii * distance
        if apart < e.latency:
            names = f"{loop.tasks[e.source].name} -> {loop.tasks[e.target].name}"
            wrong.append(f"{names} at distance {distance}: {apart} cycles, {e.latency} are needed")
    return wrong


def _overlapping(loop: Loop, ii: int, starts: Sequence[int]) -> list[str]:
    wrong = []
    for x in loop.exclusions:
        ahead = (starts[x.second] - starts[x.first]) % ii
        # A start exactly one period later is a start at the same place: it matters where `back` is 0.
        if not any(x.hold <= a <= ii - x.back for a in ((0, ii) if ahead == 0 else (ahead,))):
            names = f"{loop.tasks[x.first].name} and {loop.tasks[x.second].name}"
            wrong.append(f"{names} overlap ({x.reason or 'exclusive'}): {ahead} cycles apart in a period of {ii}")
    return wrong


def _misplaced(loop: Loop, ii: int, starts: Sequence[int]) -> list[str]:
    wrong = []
    if not loop.offset:
        for name, tasks in loop.pipes.items():
            spread = max(starts[i] for i in tasks) - min(starts[i] for i in tasks)
            if spread >= ii:
                wrong.append(f"the tasks of {name} start {spread} cycles apart, not less than {ii}")
    for i, j in loop.pipe_order:
        if starts[i] % ii > starts[j] % ii:
            wrong.append(f"{loop.tasks[i].name} comes after {loop.tasks[j].name} in the period")
    for u, w in loop.stage_order:
        if starts[u] // ii > starts[w] // ii:
            wrong.append(f"{loop.tasks[u].name} has a later stage than {loop.tasks[w].name}")
    for i, stage in enumerate(loop.stages or ()):
        if starts[i] // ii != stage:
            wrong.append(f"{loop.tasks[i].name} is in stage {starts[i] // ii}, not {stage}")
    return wrong


def _unstorable(loop: Loop, versions: Sequence[int]) -> list[str]:
    wrong = [
        f"{b.name} has {v} versions, 1 to {loop.max_versions} are possible"
        for b, v in zip(loop.buffers, versions, strict=True)
        if not 1 <= v <= loop.max_versions
    ]
    for group in loop.groups:
        used = sum(versions[b] * loop.buffers[b].size for b in group.members)
        # A memory that is full before the loop has a capacity below zero, which is no fault of an empty group.
        if group.members and used > group.capacity:
            wrong.append(f"{group.name}: {used} B > {group.capacity} B")
    return wrong


def line_violations(line: Line, starts: Sequence[int]) -> list[str]:
    """Everything that is wrong with start times of `line`; empty when they are valid."""
    if len(starts) != len(line.tasks):
        return ["there is not one start a task"]
    names = [t.name for t in line.tasks]
    wrong = [f"{name} starts at {s}, before 0" for name, s in zip(names, starts, strict=True) if s < 0]
    wrong += [
        f"{names[e.target]} starts before {names[e.source]} has finished"
        for e in line.edges
        if starts[e.target] < starts[e.source] + e.latency
    ]
    for x in line.exclusions:
        first, second = starts[x.first], starts[x.second]
        if not (second >= first + x.hold or first >= second + x.back):
            wrong.append(f"{names[x.first]} and {names[x.second]} overlap")
    wrong += [f"{names[i]} comes after {names[j]}" for i, j in line.order if starts[i] > starts[j]]
    return wrong
