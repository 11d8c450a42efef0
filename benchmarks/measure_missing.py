"""Times of kernels that no measurement covered, on the GPU in front of us.

    python -m benchmarks.measure_missing --out DIR [--budget 300] [--workers N] [--only KIND …] [--tiles 1.0]

Stream-K, epilogues, batches, prefill by pointers, sliding windows and layernorm as `export` writes them; elements,
groups, convolutions and paged decode by `missing_kernels.py`. Of every shape some tiles are predicted to be fast and
the rest are drawn at random from all that fit. They are compiled in parallel, each is compared with torch in fp32 and
timed as `tilesearch tune` does it. DIR/missing_times.csv grows shape by shape and is what `verify times` and
`benchmarks.ranking` read; DIR/missing_times.json says what ran and by how much the best three differ between rounds.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tilesearch as ts
from benchmarks.live import Record, environment
from benchmarks.missing_bench import OwnBench
from tilesearch.answers import Candidate
from tilesearch.api.context import make
from tilesearch.api.solve import solve_problem
from tilesearch.api.verify.times.tuned import COLUMNS
from tilesearch.measure.bench import Bench, Sample
from tilesearch.measure.compile import Built, Compilers, Source, task_of
from tilesearch.measure.gpu import gpu_of, require_gpu, state
from tilesearch.measure.table import POWER_LIMITED_US
from tilesearch.measure.timer import Timer, resolution
from tilesearch.specs.ops import OpSpec
from tilesearch.specs.problems import Problem

FAST = 0.4
"""Share of the tiles of a shape that are the first by predicted time."""

FINALISTS, ROUNDS = 3, 3
COMPILE_SHARE = 0.6
"""Share of the budget that compiling may take."""


@dataclass(frozen=True)
class Case:
    """One shape of one kind: `count` of its tiles are timed; `own`: the kernel is one of missing_kernels.py."""

    kind: str
    shape: str
    op: OpSpec
    count: int
    variant: str = "pointer"
    space: dict[str, list[int]] = field(default_factory=dict)
    own: bool = False

    @property
    def problem(self) -> Problem:
        kernel = {"language": "triton", "version": "3.6", "variant": self.variant}
        return make(self.op, "h200", kernel=kernel, space=self.space or None, search={"rank": "time", "top": 100_000})


PRODUCT = {
    "block_m": [16, 32, 64, 128, 256],
    "block_n": [32, 64, 128, 256],
    "block_k": [32, 64, 128],
    "num_stages": [2, 3, 4, 5],
    "num_warps": [4, 8],
}
PREFILL = {"block_m": [64, 128], "block_n": [32, 64, 128], "num_stages": [2, 3, 4], "num_warps": [4, 8], "split_k": [1]}
PAGED = {"block_m": [16], "block_n": [32, 64, 128], "num_stages": [2, 3, 4], "num_warps": [2, 4], "split_k": [1, 4, 8]}


def gemm(kind: str, m: int, n: int, k: int, count: int, variant: str = "pointer", **more: Any) -> Case:
    batch = f"{more['batch']}x" if "batch" in more else ""
    return Case(
        kind, f"{batch}{m}x{n}x{k}", ts.Gemm(m=m, n=n, k=k, **{"dtype": "fp16"} | more), count, variant, PRODUCT
    )


def attention(kind: str, heads: int, length: int, window: int | None, count: int, causal: bool = True) -> Case:
    op = ts.Attention(batch=1, heads=heads, q_len=length, head_dim=128, causal=causal, window=window, dtype="fp16")
    return Case(kind, f"h{heads}l{length}w{window or 0}c{int(causal)}", op, count, space=PREFILL)


def paged(batch: int, length: int, page: int, count: int) -> Case:
    op = ts.Attention(
        batch=batch, heads=32, kv_heads=8, q_len=1, kv_len=length, head_dim=128, page_size=page, dtype="fp16"
    )
    return Case("paged_decode", f"{batch}x{length}p{page}", op, count, space=PAGED, own=True)


def grouped(shape: str, groups: tuple[int, ...], n: int, k: int, count: int) -> Case:
    op = ts.GroupedGemm(groups=groups, n=n, k=k, dtype="fp16")
    return Case("grouped", shape, op, count, space=PRODUCT, own=True)


def convolution(side: int, c_in: int, c_out: int, stride: int, count: int) -> Case:
    image = {"n": 32, "h": side, "w": side, "kh": 3, "kw": 3, "pad": 1, "dtype": "fp16"}
    op = ts.Conv2d(c_in=c_in, c_out=c_out, stride=stride, **image)
    return Case("conv2d", f"32x{side}x{side}x{c_in}x{c_out}k3s{stride}", op, count, space=PRODUCT, own=True)


def cases() -> list[Case]:
    """What is measured: the kinds in turn, so that a run that is cut short has some of each."""
    rows = {"affine": False, "function": "layernorm"}
    return [
        gemm("stream_k", 1536, 1536, 6144, 26, "stream_k"),
        gemm("stream_k", 4096, 4096, 4096, 26, "stream_k"),
        gemm("stream_k", 64, 4096, 14336, 26, "stream_k"),
        gemm("stream_k", 2304, 2304, 1152, 26, "stream_k"),
        Case("elementwise", "2x8192x8192", ts.Elementwise(shape=(8192, 8192), inputs=2, **silu(2)), 99, own=True),
        Case("elementwise", "1x16777216", ts.Elementwise(shape=(2**24,), inputs=1, **silu(1)), 99, own=True),
        Case("elementwise", "2x1000000", ts.Elementwise(shape=(10**6,), inputs=2, **silu(2)), 99, own=True),
        Case("layernorm", "8192x4096", ts.Reduction(shape=(8192, 4096), dtype="bf16", **rows), 99),
        Case("layernorm", "32768x1024", ts.Reduction(shape=(32768, 1024), dtype="bf16", **rows), 99),
        Case("layernorm", "4096x5000", ts.Reduction(shape=(4096, 5000), dtype="bf16", **rows), 99),
        attention("window", 32, 8192, 1024, 14),
        attention("window", 16, 16384, 4096, 14),
        attention("prefill_pointer", 32, 4096, None, 14),
        attention("prefill_pointer", 64, 2048, None, 14, causal=False),
        grouped("8x2048x4096", (700, 33, 1024, 256, 5, 410, 96, 512), 2048, 4096, 18),
        grouped("32x4096x2048", (64,) * 32, 4096, 2048, 18),
        convolution(56, 128, 128, 1, 18),
        convolution(28, 256, 512, 2, 18),
        paged(16, 4096, 16, 16),
        paged(64, 2000, 64, 16),
        gemm("batched", 1024, 1024, 512, 14, batch=16),
        gemm("batched", 512, 512, 2048, 14, batch=48),
        gemm("epilogue", 4096, 4096, 1024, 14, bias=True, activation="gelu", dtype="bf16"),
        gemm("epilogue", 1024, 8192, 2048, 14, bias=True, activation="silu", dtype="bf16"),
    ]  # fmt: skip


def silu(inputs: int) -> dict[str, Any]:
    """silu(a), or silu(a) * b: a sum, a quotient and a product or two, and an exponential."""
    return {"dtype": "bf16", "arithmetic_per_element": 2 + inputs, "special_per_element": 1}


def chosen(case: Case, share: float = 1.0) -> list[Candidate]:
    """The tiles to time: the first by predicted time, and others at random; the same in every run."""
    listed = [c for c in solve_problem(case.problem).candidates if (c.tile.as_dict().get("group_m") or 8) == 8]
    count = min(len(listed), max(3, round(case.count * share)))
    first = listed[: max(1, round(FAST * count))]
    others = listed[len(first) :]
    return first + random.Random(case.shape).sample(others, count - len(first))


@dataclass
class Work:
    """A case with its tiles, their sources, and how each compilation went."""

    case: Case
    tiles: list[Candidate]
    bench: Bench
    sources: list[Source]
    built: dict[int, Built] = field(default_factory=dict)


def prepare(torch: Any, timer: Any, wanted: Sequence[Case], folder: Path, share: float) -> list[Work]:
    """Tiles and sources of all cases."""
    found = []
    for number, case in enumerate(wanted):
        tiles = chosen(case, share)
        kind = OwnBench if case.own else Bench
        bench = kind(torch, case.problem, folder / f"case_{number}", timer)
        found.append(Work(case, tiles, bench, bench.write([c.tile.as_dict() for c in tiles])))
    return found


def compile_all(pool: Compilers, works: Sequence[Work], limit_s: float, cache: Path) -> None:
    """Compile every tile of every case, in one queue."""
    tasks: dict[int, Any] = {}
    where: dict[int, tuple[Work, int]] = {}
    for work in works:
        for place, source in enumerate(work.sources):
            number = len(tasks)
            task = work.bench.task if isinstance(work.bench, OwnBench) else task_of
            tasks[number] = task(number, source, str(cache))
            where[number] = work, place
    for built in pool.run_all(tasks, limit_s):
        work, place = where[built.place]
        work.built[place] = built


def time_case(work: Work, deadline: float) -> tuple[list[Sample], float | None]:
    """Every tile that compiled, then the best few in turns: samples, and how far rounds lie apart."""
    samples = []
    for place, source in enumerate(work.sources):
        built = work.built.get(place)
        if built is None or built.error:
            samples.append(Sample(error=built.error if built else "not compiled"))
        elif time.perf_counter() > deadline:
            samples.append(Sample(error="out of time"))
        else:
            samples.append(work.bench.sample(source))
    ran = sorted((s.reading.median_us, n) for n, s in enumerate(samples) if s.reading is not None and not s.error)
    best = [n for _, n in ran[:FINALISTS]]
    if not best or time.perf_counter() > deadline:
        return samples, None
    rounds = work.bench.timer.interleaved({str(n): work.bench.launch(work.sources[n]) for n in best}, ROUNDS)
    return samples, resolution(rounds)


def rows_of(work: Work, samples: Sequence[Sample], gpu: str) -> list[dict[str, Any]]:
    """What `verify times` reads, a row for each tile that ran right."""
    found = []
    problem = work.case.problem
    for place, (candidate, sample) in enumerate(zip(work.tiles, samples, strict=True)):
        reading, metrics = sample.reading, candidate.metrics
        if reading is None or sample.error:
            continue
        tile = candidate.tile.as_dict()
        values = (
            work.case.kind, work.case.shape, ".".join(f"{n}{v}" for n, v in tile.items()),
            json.dumps(problem.op.model_dump(exclude_none=True)),
            json.dumps(problem.kernel.model_dump(exclude_none=True)), json.dumps(tile),
            round(reading.median_us, 3), round(reading.least_us, 3), round(reading.most_us, 3), reading.launches,
            int(reading.median_us < POWER_LIMITED_US),
            metrics.time_us, metrics.time_low_us, metrics.time_high_us, sample.relative_error,
            sample.registers, sample.spills, sample.shared, round(work.built[place].seconds, 3), "h200", gpu,
        )  # fmt: skip
        found.append(dict(zip(COLUMNS, values, strict=True)))
    return found


def about(work: Work, samples: Sequence[Sample], apart: float | None) -> dict[str, Any]:
    """One case in the record, and what went wrong in it."""
    ran = [(s.reading.median_us, c) for s, c in zip(samples, work.tiles, strict=True) if s.reading and not s.error]
    best = min(ran, key=lambda pair: pair[0]) if ran else None
    shared = [
        (s.shared, c.metrics.shared_bytes) for s, c in zip(samples, work.tiles, strict=True) if s.shared is not None
    ]
    return {
        "kind": work.case.kind,
        "shape": work.case.shape,
        "tiles": len(work.tiles),
        "timed": len(ran),
        "best_us": best and round(best[0], 2),
        "best": best and best[1].tile.as_dict(),
        "first_us": round(ran[0][0], 2) if ran else None,
        "mean_error": ran and sum(abs((c.metrics.time_us or 0) / t - 1) for t, c in ran) / len(ran),
        "resolution": apart,
        "bytes_as_predicted": [sum(a == b for a, b in shared), len(shared)],
        "errors": sorted({s.error for s in samples if s.error})[:3],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--budget", type=float, default=300, help="seconds for everything")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--only", nargs="*", metavar="KIND")
    parser.add_argument("--tiles", type=float, default=1.0, help="share of the tiles of each shape")
    given = parser.parse_args()
    deadline = time.perf_counter() + given.budget
    torch = require_gpu("measure_missing")
    torch.backends.cudnn.allow_tf32 = False
    gpu, timer = gpu_of(torch).name, Timer(torch)
    record = Record(given.out / "missing_times.json", environment() | {"before": state()})
    wanted = [case for case in cases() if not given.only or case.kind in given.only]
    with (
        Compilers(given.workers) as pool,
        tempfile.TemporaryDirectory() as folder,
        (given.out / "missing_times.csv").open("w", newline="", encoding="utf-8") as file,
    ):
        print(f"{pool.workers} processes started in {pool.start():.1f} s", flush=True)
        start = time.perf_counter()
        works = prepare(torch, timer, wanted, Path(folder), given.tiles)
        print(f"{sum(len(w.tiles) for w in works)} tiles chosen in {time.perf_counter() - start:.1f} s", flush=True)
        start, cache = time.perf_counter(), Path(folder) / "cache"
        compile_all(pool, works, COMPILE_SHARE * (deadline - start), cache)
        print(f"compiled in {time.perf_counter() - start:.1f} s", flush=True)
        os.environ["TRITON_CACHE_DIR"] = str(cache)
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for work in works:
            samples, apart = time_case(work, deadline)
            writer.writerows(rows_of(work, samples, gpu))
            file.flush()
            row = about(work, samples, apart)
            record.add(row)
            print({name: value for name, value in row.items() if name != "best"}, flush=True)
            work.bench.close()
    record.about["after"] = state()
    record.finish({"cases": len(record.rows), "timed": sum(row["timed"] for row in record.rows)})


if __name__ == "__main__":
    main()
