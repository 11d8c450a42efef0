"""Short lists against exhaustive tuning, on the GPU in front of us.

    python -m benchmarks.live_tune --out DIR [--budget 520] [--variants pointer tma] [--shapes 10] [--workers N]
    python -m benchmarks.live_tune --out DIR --extents MxNxK …

For shapes that the time model has never seen: every tile of a grid (over 200) that fits is compiled, checked and timed,
and so are the first ten by predicted time and a diverse list of ten, each list in a fresh compiler cache. The best of
each, and the three best of all, are then timed again in turns: `loss` is the list's best over the exhaustive best.
Tiles that spill or do not fit are left to neither side, which favours exhaustive tuning: those compile slowest.
A build depends on a shape only by which extents 16 divides; shapes that agree in that share one exhaustive compilation,
whose time is charged to each of them, as each would need it alone. Starting processes is charged to nobody.
Results go to DIR/live_tune.json as they come.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.live import Record, environment
from tilesearch.answers.measured import TuneSeconds
from tilesearch.api.context import make
from tilesearch.api.shortlist import shortlist
from tilesearch.api.solve import solve_problem
from tilesearch.measure.bench import Bench, Sample
from tilesearch.measure.compile import Compilers, Source
from tilesearch.measure.gpu import require_gpu, state
from tilesearch.measure.timer import Timer, resolution
from tilesearch.measure.tune import compile_list
from tilesearch.specs.ops import Gemm
from tilesearch.specs.problems import Problem

SHAPES = [
    (1664, 1408, 4096),  # just past a wave of 128 x 128
    (48, 5120, 13824),  # skinny
    (12288, 3072, 320),  # short K
    (4096, 4608, 3584),
    (777, 1536, 2304),  # M that 16 does not divide
    (24, 6144, 6144),  # skinnier
    (1250, 1350, 750),  # no extent that 16 divides
    (2304, 2304, 1152),
    (8192, 6144, 2048),
    (5120, 3200, 2560),
]
SPACE = {
    "block_m": [16, 32, 64, 128, 256],
    "block_n": [32, 64, 128, 256],
    "block_k": [32, 64, 128],
    "num_stages": [2, 3, 4, 5],
    "num_warps": [4, 8],
    "split_k": [1],
    "group_m": [8],
}
SHORT = 10
ROUNDS = 7


def problem_of(shape: tuple[int, int, int], variant: str) -> Problem:
    m, n, k = shape
    kernel = {"language": "triton", "version": "3.6", "variant": variant}
    return make(Gemm(m=m, n=n, k=k, dtype="fp16"), "h200", kernel=kernel, space=SPACE, search={"rank": "time"})


def all_tiles(problem: Problem) -> list[dict[str, int]]:
    wide = problem.replace(search=problem.search.model_copy(update={"top": 100_000}))
    return [c.tile.as_dict() for c in solve_problem(wide).candidates]


@dataclass
class Run:
    """What all shapes share."""

    torch: Any
    timer: Timer
    pool: Compilers
    folder: Path
    deadline: float
    compiled: dict[Any, TuneSeconds]

    def left(self) -> float:
        return self.deadline - time.perf_counter()


def exhaustive_compile(run: Run, key: Any, bench: Bench, sources: list[Source]) -> tuple[TuneSeconds, Path]:
    """Compile the whole grid once for each way in which 16 divides the extents."""
    cache = run.folder / ("cache_" + "_".join(map(str, key)))
    if key not in run.compiled:
        seconds = TuneSeconds()
        built = compile_list(sources, seconds, run.pool, cache)
        bad = [b.error for b in built.values() if b.error]
        print(
            f"  {len(built)} compiled in {seconds.compiling:.1f} s wall, {seconds.compiling_processes:.0f} s of "
            f"processes, {len(bad)} failed {bad[:1]}",
            flush=True,
        )
        run.compiled[key] = seconds
    return run.compiled[key], cache


def measure_list(run: Run, bench: Bench, problem: Problem, spread: bool) -> dict[str, Any]:
    """A short list by itself: chosen, compiled in a fresh cache, checked and timed."""
    start = time.perf_counter()
    seconds = TuneSeconds()
    listed = shortlist(problem, SHORT, spread)
    tiles = [c.tile.as_dict() for c in listed]
    own = Bench(bench.torch, problem, bench.folder / f"list_{int(spread)}", bench.timer)
    own._inputs, own._wanted = bench._inputs, bench._wanted
    sources = own.write(tiles)
    seconds.listing = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as fresh:
        compile_list(sources, seconds, run.pool, Path(fresh))
        os.environ["TRITON_CACHE_DIR"] = fresh
        before = time.perf_counter()
        samples = [own.sample(source) for source in sources]
        seconds.timing = time.perf_counter() - before
    rows = [
        {"tile": t, "predicted_us": c.metrics.time_us, **shown(s)}
        for t, c, s in zip(tiles, listed, samples, strict=True)
    ]
    own._programs.clear()
    return {"seconds": seconds.model_dump(), "wall_s": time.perf_counter() - start, "rows": rows}


def shown(sample: Sample) -> dict[str, Any]:
    reading = sample.reading
    return {
        "time_us": None if reading is None else round(reading.median_us, 3),
        "launches": 0 if reading is None else reading.launches,
        "relative_error": sample.relative_error,
        "error": sample.error,
    }


def best_of(rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    right = [row for row in rows if row["time_us"] is not None and not row["error"]]
    return min(right, key=lambda row: row["time_us"]) if right else None


def one_shape(run: Run, shape: tuple[int, int, int], variant: str) -> dict[str, Any]:
    """Both lists and the whole grid on one shape, and the best of each timed again in turns."""
    problem = problem_of(shape, variant)
    bench = Bench(run.torch, problem, run.folder / f"{variant}_{'x'.join(map(str, shape))}", run.timer)
    tiles = all_tiles(problem)
    sources = bench.write(tiles)
    key = (variant, *(extent % 16 == 0 for extent in shape))
    compiled, cache = exhaustive_compile(run, key, bench, sources)
    bench.inputs(sources[0].planes)
    lists = {"first": measure_list(run, bench, problem, False), "diverse": measure_list(run, bench, problem, True)}
    os.environ["TRITON_CACHE_DIR"] = str(cache)
    start = time.perf_counter()
    rows = time_all(run, bench, tiles, sources)
    timing = time.perf_counter() - start
    row: dict[str, Any] = {
        "shape": "x".join(map(str, shape)),
        "variant": variant,
        "tiles": len(tiles),
        "timed": len(rows),
        "exhaustive": {"compile_s": compiled.compiling, "compile_processes_s": compiled.compiling_processes,
                       "timing_s": timing, "wall_s": compiled.compiling + timing, "compiles": len(tiles)},
        "lists": lists,
        "rows": rows,
    }  # fmt: skip
    row |= finals(bench, dict(zip(map(str, tiles), sources, strict=True)), lists, rows)
    bench.close()
    return row


def time_all(run: Run, bench: Bench, tiles: list[dict[str, int]], sources: list[Source]) -> list[dict[str, Any]]:
    """Every tile, in no order that would help."""
    order = list(range(len(tiles)))
    random.Random(0).shuffle(order)
    rows = []
    for place in order:
        if run.left() < 15:
            print("  out of time: the grid is not timed in full", flush=True)
            break
        rows.append({"tile": tiles[place], **shown(bench.sample(sources[place]))})
    return rows


def finals(
    bench: Bench, sources: dict[str, Source], lists: dict[str, Any], rows: list[dict[str, Any]]
) -> dict[str, Any]:
    """The best of each list and the three best of all, in turns, several rounds."""
    ranked = sorted((r for r in rows if r["time_us"] is not None and not r["error"]), key=lambda r: r["time_us"])
    chosen = {"first": best_of(lists["first"]["rows"]), "diverse": best_of(lists["diverse"]["rows"])}
    names = {str(r["tile"]) for r in [*ranked[:3], *chosen.values()] if r is not None}
    rounds = bench.timer.interleaved({name: bench.launch(sources[name]) for name in sorted(names)}, ROUNDS)
    times = {name: sorted(values)[len(values) // 2] for name, values in rounds.items()}
    best = min(times.values())
    result: dict[str, Any] = {
        "final_us": {name: round(value, 3) for name, value in times.items()},
        "rounds_us": {name: [round(v, 3) for v in values] for name, values in rounds.items()},
        "best_us": best,
        "best": min(times, key=lambda name: times[name]),
        "resolution": resolution(rounds),
    }
    for name, row in chosen.items():
        result[f"loss_{name}"] = None if row is None else times[str(row["tile"])] / best - 1
    return result


def line(row: dict[str, Any]) -> str:
    whole = row["exhaustive"]
    walls = [row["lists"][name]["wall_s"] for name in ("first", "diverse")]
    losses = ["-" if row[f"loss_{n}"] is None else f"{row[f'loss_{n}']:6.2%}" for n in ("first", "diverse")]
    return (
        f"{row['variant']:8} {row['shape']:16} {row['timed']:4}/{row['tiles']:<4} best {row['best_us']:8.2f} us  "
        f"loss first {losses[0]} diverse {losses[1]}  resolution {row['resolution']:.2%}  "
        f"wall {whole['wall_s']:6.1f} s against {walls[0]:5.2f} and {walls[1]:5.2f} s"
    )


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for variant in sorted({row["variant"] for row in rows}):
        own = [row for row in rows if row["variant"] == variant]
        found[variant] = {"shapes": len(own)} | {
            name: {
                "within_2": sum((row[f"loss_{name}"] or 0.0) <= 0.02 for row in own if row[f"loss_{name}"] is not None),
                "worst": max((row[f"loss_{name}"] or 0.0) for row in own),
                "compiles": max(SHORT / row["tiles"] for row in own),
                "time": max(row["lists"][name]["wall_s"] / row["exhaustive"]["wall_s"] for row in own),
            }
            for name in ("first", "diverse")
        }
    return found


def extents_of(text: str) -> tuple[int, int, int]:
    m, n, k = map(int, text.split("x"))
    return m, n, k


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--budget", type=float, default=520)
    parser.add_argument("--variants", nargs="+", default=["pointer", "tma"])
    parser.add_argument("--shapes", type=int, default=len(SHAPES), help="how many of the shapes above")
    parser.add_argument("--extents", nargs="+", metavar="MxNxK", help="other shapes, in place of those above")
    parser.add_argument("--workers", type=int)
    given = parser.parse_args()
    shapes = [extents_of(text) for text in given.extents or ()] or SHAPES[: given.shapes]
    deadline = time.perf_counter() + given.budget
    torch = require_gpu("live_tune")
    folder = Path(tempfile.mkdtemp())
    record = Record(given.out / "live_tune.json", environment() | {"before": state(), "space": SPACE})
    with Compilers(given.workers) as pool:
        print(f"{pool.workers} processes started in {pool.start():.1f} s", flush=True)
        run = Run(torch, Timer(torch), pool, folder, deadline, {})
        longest = 0.0
        for variant in given.variants:
            for shape in shapes:
                if variant == "tma" and any(extent % 8 for extent in shape[1:]):
                    continue
                if run.left() < longest + 15:
                    print(f"{variant} {shape}: left out, {run.left():.0f} s left", flush=True)
                    continue
                measure = partial(one_shape, run, shape, variant)
                longest = max(longest, record.take(f"{variant} {shape}", measure, summary, line))
    record.about["after"] = state()
    record.finish(summary(record.rows))
    for variant, figures in record.summary.items():
        print(variant, figures)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
