"""CPU time of the least period with its proof, against TileLang's scheduler.

    python benchmarks/schedules.py tests/data/ascend/schedules.json.gz [FILE ...]

With TileLang and its Ascend scheduler installed, that scheduler is run again on this machine; otherwise its
times are the ones that the files record, from the machine that the files name, and the output says so.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

from tilesearch.api.verify.ascend.instances import LoopArgs
from tilesearch.scheduling import Goal, schedule_loop
from tilesearch.scheduling.check import violations
from tilesearch.scheduling.probe import Budget

LIMIT_S = 60.0
SMALL, SMALL_S = 28, 10.0
_SCHEDULER = ("tilelang.ascend.transform.z3_scheduler", "z3_schedule_loop_python")


def loops(paths: list[Path]) -> Iterator[tuple[dict[str, Any], str]]:
    for path in paths:
        text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        data = json.loads(text)
        for instance in data["instances"]:
            if instance["kind"] == "loop":
                yield instance, str(data.get("machine", "unknown machine"))


def shipped_scheduler() -> Callable[..., Any] | None:
    try:
        return getattr(import_module(_SCHEDULER[0]), _SCHEDULER[1], None)
    except ImportError:
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--engine", default="auto", choices=["auto", "search", "cpsat", "z3"])
    given = parser.parse_args()
    shipped = shipped_scheduler()
    rows = []
    warm_up = LoopArgs(num_stages=1, latencies=[1], iis=[1], resource_flags=[1]).problem()
    schedule_loop(warm_up, engine=given.engine)
    print(
        f"{'instance':46} {'tasks':>5} {'II':>6} {'best known':>10} {'status':9} {'CPU s':>8} {'other':>8} {'ratio':>8}"
    )
    instances = list(loops(given.files))
    source = instances[0][1] if instances else ""
    for instance, _ in instances:
        loop = LoopArgs.model_validate(instance["args"]).problem()
        begin = time.process_time()
        found = schedule_loop(loop, engine=given.engine, goal=Goal.PERIOD, budget=Budget(LIMIT_S))
        ours = max(time.process_time() - begin, 1e-6)
        wrong = violations(loop, found.ii, found.starts, found.versions)
        other = rerun(shipped, instance["args"]) if shipped else instance["answer"]["solve_cpu_seconds"]
        best = instance["reference"]["best_II_known"]
        rows.append((len(loop.tasks), found.status == "optimal" and not wrong, ours, other, found.ii - best))
        print(
            f"{instance['id']:46} {len(loop.tasks):5} {found.ii:6} {best:10} {found.status:9} {ours:8.4f} {other:8.3f} "
            f"{other / ours:8.0f}{'  INVALID' if wrong else ''}"
        )
    recorded = f"recorded times, {source}; TileLang is not installed here"
    summary(rows, f"TileLang, run again here: {_SCHEDULER[0]}" if shipped else recorded)


def rerun(shipped: Callable[..., Any], arguments: dict[str, Any]) -> float:
    begin = time.process_time()
    shipped(**arguments)
    return time.process_time() - begin


def summary(rows: list[tuple[int, bool, float, float, int]], source: str) -> None:
    small = [(proved, ours) for tasks, proved, ours, _, _ in rows if tasks <= SMALL]
    quick = sum(proved and ours <= SMALL_S for proved, ours in small)
    ours, other = sum(r[2] for r in rows), sum(r[3] for r in rows)
    optimal, shorter, longer = (sum(r[1] for r in rows), sum(r[4] < 0 for r in rows), sum(r[4] > 0 for r in rows))
    ratio = median(r[3] / r[2] for r in rows)
    print(f"\nthe other scheduler: {source}")
    print(f"{len(rows)} loops, {optimal} optimal with proof, {shorter} shorter than the best known, {longer} longer")
    print(f"{quick} of {len(small)} with up to {SMALL} tasks proved within {SMALL_S:.0f} s")
    print(f"CPU: {ours:.3f} s against {other:.1f} s, {other / ours:.0f}x less; median of the ratios {ratio:.0f}x")


if __name__ == "__main__":
    main()
