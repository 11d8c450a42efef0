"""`triton.autotune` with tilesearch's pruning hook against `triton.autotune` alone, on the GPU in front of us.

    python -m benchmarks.live_autotune --out DIR [--budget 340] [--share 0.1] [--few 10] [--workers N]

For shapes that the time model has never seen, one kernel is tuned three times: over the whole list of configurations,
over a tenth of it, and over ten of them, chosen by `early_config_prune(top=…)`. The winners are then timed in turns.
The list is a grid without tiles of more than 128 accumulators a thread, which spill and compile for minutes.
Configurations are compiled beforehand in parallel, which none of the three is charged for: `compile_s` adds up what
compiling the configurations that each has tried takes one after another, as `triton.autotune` does it.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.live import Record, environment
from tilesearch.measure.compile import Compilers
from tilesearch.measure.gpu import require_gpu, state
from tilesearch.measure.timer import Timer, resolution

SHAPES = [
    (1472, 1344, 6144),
    (40, 8192, 5120),
    (6144, 1536, 384),
    (3840, 5120, 1280),
    (96, 7168, 2304),
    (513, 4608, 4096),
    (2816, 2816, 2816),
    (10240, 2048, 3072),
]
MOST_ACCUMULATORS = 128
ROUNDS = 7


def grid() -> list[dict[str, int]]:
    """The configurations that a user would list."""
    found = []
    for m, n, k, stages, warps in product(
        (16, 32, 64, 128, 256), (32, 64, 128, 256), (32, 64, 128), (2, 3, 4, 5), (4, 8)
    ):
        if m * n / (32 * warps) <= MOST_ACCUMULATORS:
            sizes = {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP_M": 8}
            found.append(sizes | {"num_stages": stages, "num_warps": warps})
    return found


def config_of(options: dict[str, int]) -> Any:
    import triton

    own = dict(options)
    stages, warps = own.pop("num_stages"), own.pop("num_warps")
    return triton.Config(own, num_stages=stages, num_warps=warps)


def name_of(config: Any) -> str:
    own = config.kwargs
    return f"{own['BLOCK_M']}x{own['BLOCK_N']}x{own['BLOCK_K']}.w{config.num_warps}.s{config.num_stages}"


def tuners(options: list[dict[str, int]], tops: dict[str, int | None]) -> dict[str, Any]:
    """One autotuned kernel for each number of configurations that the hook may keep (None: no hook)."""
    import triton

    from benchmarks.live_kernels import gemm
    from tilesearch.hooks.triton import early_config_prune

    def bench(call: Any, quantiles: Any) -> Any:
        return triton.testing.do_bench(call, warmup=3, rep=15, quantiles=quantiles)

    made = {}
    for name, top in tops.items():
        pruning = None if top is None else {"early_config_prune": early_config_prune(top=top)}
        decorate = triton.autotune(
            configs=[config_of(o) for o in options], key=["M", "N", "K"], prune_configs_by=pruning, do_bench=bench
        )
        made[name] = decorate(gemm)
    return made


class Problem:
    def __init__(self, torch: Any, shape: tuple[int, int, int]) -> None:
        m, n, k = shape
        torch.manual_seed(0)
        self.shape = shape
        self.a = torch.randn(m, k, device="cuda").half()
        self.b = torch.randn(k, n, device="cuda").half()
        self.c = torch.full((m, n), float("nan"), device="cuda", dtype=torch.float16)
        self.wanted = self.a.float() @ self.b.float()

    def arguments(self) -> tuple[Any, ...]:
        m, n, k = self.shape
        return (self.a, self.b, self.c, m, n, k, k, n, n)

    def error(self) -> float:
        return float(((self.c.float() - self.wanted).norm() / self.wanted.norm()).item())


def tune_one(tuner: Any, problem: Problem, seconds_of: dict[str, float]) -> dict[str, Any]:
    """One run of triton.autotune: what it tried, what it chose, and how long that took."""
    from benchmarks.live_kernels import grid_of

    start = time.perf_counter()
    problem.c.fill_(float("nan"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tuner[grid_of](*problem.arguments())
    wall = time.perf_counter() - start
    timings = {name_of(c): min(t) if isinstance(t, list | tuple) else t for c, t in tuner.configs_timings.items()}
    return {
        "tried": len(timings),
        "ran": sum(t < float("inf") for t in timings.values()),
        "chosen": name_of(tuner.best_config),
        "bench_s": wall,
        "compile_s": sum(seconds_of.get(name, 0.0) for name in timings),
        "relative_error": problem.error(),
        "timings_us": {name: round(t * 1e3, 2) for name, t in timings.items() if t < float("inf")},
    }


def compile_grid(
    pool: Compilers, shape: tuple[int, int, int], options: list[dict[str, int]], limit_s: float
) -> tuple[dict[str, float], list[str], float]:
    """Seconds for each configuration, those that were not compiled, and the wall time."""
    from benchmarks.live_kernels import precompile

    start = time.perf_counter()
    tasks = {place: (precompile, place, shape, config) for place, config in enumerate(options)}
    seconds, failed = {}, []
    for built in pool.run_all(tasks, limit_s):
        name = name_of(config_of(options[built.place]))
        seconds[name] = built.seconds
        if built.error:
            failed.append(f"{name}: {built.error}")
    return seconds, failed, time.perf_counter() - start


def finals(timer: Timer, problem: Problem, names: list[str], options: list[dict[str, int]]) -> dict[str, list[float]]:
    """The chosen configurations in turns."""
    from benchmarks.live_kernels import gemm, grid_of

    by_name = {name_of(config_of(o)): o for o in options}
    m, n, _ = problem.shape

    def launch(config: dict[str, int]) -> Any:
        grid = grid_of({"M": m, "N": n, **config})
        return lambda: gemm[grid](*problem.arguments(), **config)

    return timer.interleaved({name: launch(by_name[name]) for name in sorted(set(names))}, ROUNDS)


def one_shape(
    timer: Timer, made: dict[str, Any], problem: Problem, options: list[dict[str, int]], seconds: dict[str, float]
) -> dict[str, Any]:
    runs = {name: tune_one(tuner, problem, seconds) for name, tuner in made.items()}
    whole = runs["all"]["timings_us"]
    nearest = sorted(whole, key=lambda name: whole[name])[:3]
    rounds = finals(timer, problem, [*(run["chosen"] for run in runs.values()), *nearest], options)
    times = {name: sorted(values)[len(values) // 2] for name, values in rounds.items()}
    base = times[runs["all"]["chosen"]]
    return {
        "shape": "x".join(map(str, problem.shape)),
        "runs": runs,
        "final_us": times,
        "rounds_us": rounds,
        "resolution": resolution(rounds),
        "loss": {name: times[run["chosen"]] / base - 1 for name, run in runs.items()},
        "loss_to_best": {name: times[run["chosen"]] / min(times.values()) - 1 for name, run in runs.items()},
    }


def line(row: dict[str, Any]) -> str:
    runs = row["runs"]
    parts = [
        f"{name}: {run['tried']} tried, {run['chosen']} {row['final_us'][run['chosen']]:.2f} us, "
        f"{row['loss'][name]:+.2%}"
        for name, run in runs.items()
    ]
    return f"{row['shape']:16} resolution {row['resolution']:.2%}  " + "  ".join(parts)


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    names = [name for name in (rows[0]["runs"] if rows else {}) if name != "all"]
    return {
        name: {
            "shapes": len(rows),
            "within_1": sum(row["loss"][name] <= 0.01 for row in rows),
            "worst": max(row["loss"][name] for row in rows),
            "compiles": max(row["runs"][name]["tried"] / row["runs"]["all"]["tried"] for row in rows),
            "compile_time": max(row["runs"][name]["compile_s"] / row["runs"]["all"]["compile_s"] for row in rows),
        }
        for name in names
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--budget", type=float, default=340)
    parser.add_argument("--share", type=float, default=0.1, help="most configurations that the hook may keep")
    parser.add_argument("--few", type=int, default=10)
    parser.add_argument("--workers", type=int)
    given = parser.parse_args()
    deadline = time.perf_counter() + given.budget
    torch = require_gpu("live_autotune")
    options = grid()
    os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()
    tops = {"all": None, "tenth": int(given.share * len(options)), "few": given.few}
    record = Record(given.out / "live_autotune.json", environment() | {"before": state(), "configs": len(options)})
    timer, seconds = Timer(torch), dict[Any, dict[str, float]]()
    with Compilers(given.workers) as pool:
        print(f"{pool.workers} processes started in {pool.start():.1f} s; {len(options)} configurations", flush=True)
        made = tuners(options, tops)
        longest = 0.0
        for shape in SHAPES:
            if deadline - time.perf_counter() < longest + 10:
                print(f"{shape}: left out", flush=True)
                continue

            def measure(shape: tuple[int, int, int] = shape) -> dict[str, Any]:
                key = tuple(extent % 16 == 0 for extent in shape)
                if key not in seconds:
                    seconds[key], failed, wall = compile_grid(pool, shape, options, 90)
                    print(f"  compiled in {wall:.1f} s wall, {sum(seconds[key].values()):.0f} s of processes; "
                          f"{len(failed)} failed {failed[:1]}", flush=True)  # fmt: skip
                return one_shape(timer, made, Problem(torch, shape), options, seconds[key])

            longest = max(longest, record.take(str(shape), measure, summary, line))
    record.about["after"] = state()
    record.finish(summary(record.rows))
    for name, figures in record.summary.items():
        print(name, figures)


if __name__ == "__main__":
    main()
