"""Micro-benchmarks of constants that can be measured alone. Each returns values in SI units with their spread."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tilesearch.measure.gpu import Gpu, state
from tilesearch.measure.stamps import Stamps
from tilesearch.measure.timer import Timer

LINE_BYTES = 128
_BLOCK, _COUNT = 4096, 4  # elements of fp32 that a program moves at once, and how often
_MB = 1 << 20
_SPECIAL_ROUNDS, _SPECIAL_BLOCK, _SPECIAL_UNROLLED = 200, 1024, 16
_STAMPS = 5


@dataclass(frozen=True)
class Measured:
    """One constant: its median over repeats and their relative range."""

    name: str
    value: float
    unit: str
    spread: float
    note: str


@dataclass
class Lab:
    """Where probes run. `quick` halves what they repeat."""

    torch: Any
    gpu: Gpu
    timer: Timer
    quick: bool = False

    @property
    def repeats(self) -> int:
        """How often each probe is taken."""
        return 3 if self.quick else 7

    def time_us(self, launch: Callable[[], object], count: int = 10) -> list[float]:
        """Medians of `repeats` bursts."""
        launch()
        return [statistics.median(self.timer.burst(launch, count)) for _ in range(self.repeats)]

    def floats(self, count: int) -> Any:
        """Random fp32 numbers on the GPU."""
        return self.torch.randn(count, device="cuda")

    def stamps(self, programs: int) -> Any:
        """Room for what `programs` programs read off their clocks."""
        return self.torch.zeros(programs * _STAMPS, dtype=self.torch.int64, device="cuda")


def measured(name: str, values: list[float], unit: str, note: str) -> Measured:
    """The median of repeats, and how far they lie apart. Raises `ValueError` where it is not above the noise."""
    middle = statistics.median(values)
    if not middle > 0:
        raise ValueError(f"{name} is not above the noise: {middle:.3g} {unit}")
    return Measured(name, middle, unit, (max(values) - min(values)) / middle, note)


def launches(lab: Lab) -> Iterator[Measured]:
    """The floor of a timed launch, what each block adds to it, and what a second kernel in the queue costs."""
    from tilesearch.measure.kernels import empty

    out = lab.floats(1)
    floor = lab.time_us(lambda: empty[(1,)](out, num_warps=4), 20)
    yield measured("launch_floor", [t * 1e-6 for t in floor], "s", "an empty kernel between two events, behind a fill")
    few, many = 20_480, 163_840
    least = lab.time_us(lambda: empty[(few,)](out, num_warps=4), 20)
    most = lab.time_us(lambda: empty[(many,)](out, num_warps=4), 20)
    each = [(b - a) * 1e-6 / (many - few) for a, b in zip(least, most, strict=True)]
    yield measured("block_dispatch", each, "s", f"{few} and {many} empty blocks of 128 threads")

    def two() -> None:
        empty[(1,)](out, num_warps=4)
        empty[(1,)](out, num_warps=4)

    both = lab.time_us(two, 20)
    second = [(b - a) * 1e-6 for a, b in zip(floor, both, strict=True)]
    yield measured("second_launch_alone", second, "s", "two empty kernels less one")


def memory(lab: Lab) -> Iterator[Measured]:
    """Main memory: a read, a write and a copy of far more than L2 holds."""
    from tilesearch.measure import kernels

    count = (512 if lab.quick else 1024) * _MB
    count = min(count, lab.gpu.memory_bytes // 16 // (_BLOCK * _COUNT) * (_BLOCK * _COUNT))
    grid = (count // (_BLOCK * _COUNT),)
    x, out = lab.floats(count), lab.torch.empty(grid[0], device="cuda")
    options = {"BLOCK": _BLOCK, "COUNT": _COUNT, "num_warps": 8}
    size = f"{4 * count / 1e9:.1f} GB"
    reading = lab.time_us(lambda: kernels.read[grid](x, out, **options), 3)
    yield measured("dram_stream", [4 * count / t * 1e6 for t in reading], "B/s", f"a Triton read of {size}")
    y = lab.torch.empty_like(x)
    writing = lab.time_us(lambda: kernels.write[grid](y, **options), 3)
    yield measured("dram_write", [4 * count / t * 1e6 for t in writing], "B/s", f"a Triton write of {size}")
    copying = lab.time_us(lambda: kernels.copy[grid](x, y, **options), 3)
    yield measured(
        "dram_copy", [8 * count / t * 1e6 for t in copying], "B/s", f"a Triton copy of {size}, read and written"
    )


def cache(lab: Lab) -> Iterator[Measured]:
    """L2 into the SMs: everyone reads something else, and everyone reads the same."""
    from tilesearch.measure.kernels import reread

    kept = min(20 * _MB, lab.gpu.l2_bytes // 3) // 4
    blocks, rounds = kept // _BLOCK, 400
    x = lab.floats(blocks * _BLOCK)
    programs = 4 * lab.gpu.sm_count
    out = lab.torch.empty(programs, device="cuda")
    moved = programs * rounds * _BLOCK * 4

    def rate(step: int) -> list[float]:
        def launch() -> None:
            reread[(programs,)](x, out, blocks, rounds, step, BLOCK=_BLOCK, num_warps=8)

        return [moved / t * 1e6 for t in lab.time_us(launch, 3)]

    apart = max(1, blocks // programs)
    note = f"{programs} blocks read {4 * kept / 1e6:.0f} MB again and again, past L1"
    yield measured("l2_bandwidth", rate(apart), "B/s", f"{note}, each from another place")
    yield measured("l2_shared_read", rate(0), "B/s", f"{note}, all from the same place at about the same time")


def latencies(lab: Lab) -> Iterator[Measured]:
    """A load that L2 has, and how much longer one takes that it has not: pointers that are followed."""
    from tilesearch.measure.kernels import chase

    steps = 4_000 if lab.quick else 10_000
    out = lab.torch.zeros(1, dtype=lab.torch.int64, device="cuda")

    def each(size: int, before: int) -> list[float]:
        """Seconds of a step, after `before` steps that are not counted."""
        links = _links(lab.torch, size)
        base = lab.time_us(lambda: chase[(1,)](links, out, before, num_warps=1), 3)
        whole = lab.time_us(lambda: chase[(1,)](links, out, before + steps, num_warps=1), 3)
        return [(b - a) * 1e-6 / steps for a, b in zip(base, whole, strict=True)]

    near = each(_MB, 2 * _MB // LINE_BYTES)
    far = each(1024 * _MB, 1)
    yield measured("l2_hit_latency", near, "s", "links that are followed within 1 MB, past L1, after two rounds")
    beyond = [b - a for a, b in zip(near, far, strict=True)]
    note = "more for links within 1 GB; misses of address translation are included"
    yield measured("dram_miss_latency", beyond, "s", note)


def _links(torch: Any, size: int) -> Any:
    """One cycle through all lines of `size` bytes in random order, as offsets in int64."""
    lines, words = size // LINE_BYTES, LINE_BYTES // 8
    order = torch.randperm(lines, device="cuda")
    links = torch.zeros(lines * words, dtype=torch.int64, device="cuda")
    links[order * words] = torch.roll(order, -1) * words
    return links


def functions(lab: Lab) -> Iterator[Measured]:
    """Special functions of an SM in a cycle."""
    from tilesearch.measure.kernels import special

    programs = 8 * lab.gpu.sm_count
    x, stamps = lab.floats(_SPECIAL_BLOCK), lab.stamps(programs)
    out = lab.torch.empty(programs * _SPECIAL_BLOCK, device="cuda")
    values = []
    for _ in range(lab.repeats):
        special[(programs,)](x, stamps, out, _SPECIAL_ROUNDS, BLOCK=_SPECIAL_BLOCK, num_warps=4)
        read = Stamps.of(stamps)
        values.append(_SPECIAL_BLOCK * _SPECIAL_ROUNDS * _SPECIAL_UNROLLED / read.cycles_each())
    yield measured("special_rate", values, "", "ex2 of an SM in a cycle, 8 blocks of 128 threads on each")


def clocks(lab: Lab) -> Iterator[Measured]:
    """The SM clock inside a large GEMM, from clock64 and globaltimer: one launch after rest, and many in a row."""
    size = 4096 if lab.quick else 8192
    run = _gemm(lab, size)
    cool, rates = [], []
    for _ in range(lab.repeats):
        time.sleep(0.5)
        read = run()
        cool.append(read.hertz())
        rates.append(2 * size**3 / read.seconds())
    note = f"cycles over nanoseconds inside a {size}^3 GEMM (fp16, 128x256x64)"
    yield measured("clock_gemm_cool", cool, "Hz", f"{note}, one launch after rest")
    yield measured("gemm_rate_cool", rates, "FLOP/s", f"that GEMM, first to last timer reading, {size}^3")
    hot: list[float] = []
    fast: list[float] = []
    power: list[float] = []
    start = time.perf_counter()
    while time.perf_counter() - start < (1.5 if lab.quick else 4.0):
        for _ in range(100):
            run(wait=False)
        power.append(state().get("power_w", 0.0))
        read = run()
        hot.append(read.hertz())
        fast.append(2 * size**3 / read.seconds())
    late = len(hot) // 2
    most = max(power, default=0.0)
    drawn = f"; {most:.0f} W by nvidia-smi" if most else ""
    yield measured("clock_gemm_sustained", hot[late:], "Hz", f"{note}, back to back{drawn}")
    yield measured("gemm_rate_sustained", fast[late:], "FLOP/s", f"that GEMM back to back{drawn}")


def _gemm(lab: Lab, size: int) -> Callable[..., Any]:
    from tilesearch.measure.kernels import gemm

    torch = lab.torch
    a, b = (torch.randn(size, size, device="cuda").half() for _ in range(2))
    c = torch.empty_like(a)
    programs = (size // 128) * (size // 256)
    stamps = lab.stamps(programs)

    def run(wait: bool = True) -> Any:
        gemm[(programs,)](
            a, b, c, stamps, size, size, size, BM=128, BN=256, BK=64, GROUP=8, num_warps=8, num_stages=3
        )  # fmt: skip
        return Stamps.of(stamps) if wait else None

    run()
    return run
