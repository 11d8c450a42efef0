"""Micro-benchmarks of the tensor cores: tiles that stay in an SM are multiplied, timed by its own clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tilesearch.measure.probes import Lab, Measured, measured
from tilesearch.measure.stamps import Stamps


@dataclass(frozen=True)
class Loop:
    """One loop of products: operand type of torch, tile, warps, and blocks on an SM."""

    dtype: str
    tile: tuple[int, int, int]
    warps: int
    blocks: int = 1
    rounds: int = 400

    @property
    def flops(self) -> int:
        """Operations of one program."""
        m, n, k = self.tile
        return 2 * m * n * k * self.rounds


PEAKS = {
    "fp16": Loop("float16", (128, 256, 256), 8),
    "bf16": Loop("bfloat16", (128, 256, 256), 8),
    "fp8": Loop("float8_e4m3fn", (128, 256, 512), 8),
    "int8": Loop("int8", (128, 256, 512), 8),
    "tf32": Loop("float32", (128, 256, 128), 8),
}
"""Loops that fill the warpgroup instruction, and shared memory nearly."""

MMA = Loop("float16", (32, 128, 64), 4, blocks=4, rounds=2000)
"""Rows too few for the warpgroup instruction: mma.sync, from registers."""

SHORT, LONG = Loop("float16", (64, 16, 16), 4, rounds=4000), Loop("float16", (64, 16, 256), 4, rounds=1000)
CROWDED = Loop("float16", (64, 16, 256), 4, blocks=5, rounds=1000)
_K_OF_WGMMA = 16
_ACROSS = 16  # columns of the narrow products


def run(lab: Lab, loop: Loop) -> Stamps:
    """Run a loop once, on every SM."""
    import triton.language as tl

    from tilesearch.measure.kernels import dot

    torch = lab.torch
    m, n, k = loop.tile
    integer = loop.dtype == "int8"
    a, b = (_tile(torch, size, loop.dtype, integer) for size in (m * k, n * k))
    programs = loop.blocks * lab.gpu.sm_count
    stamps, out = lab.stamps(programs), torch.empty(programs, device="cuda")
    options: dict[str, Any] = {"BM": m, "BN": n, "BK": k, "ACC": tl.int32 if integer else tl.float32}
    dot[(programs,)](a, b, stamps, out, loop.rounds, num_warps=loop.warps, **options)
    return Stamps.of(stamps)


def _tile(torch: Any, size: int, dtype: str, integer: bool) -> Any:
    if integer:
        return torch.randint(-8, 8, (size,), device="cuda").to(torch.int8)
    return torch.randn(size, device="cuda").to(getattr(torch, dtype))


def flops_per_cycle(lab: Lab, loop: Loop) -> tuple[list[float], list[float]]:
    """Operations of an SM in a cycle, and the clock that they ran at, of each repeat."""
    run(lab, loop)
    rates, clocks = [], []
    for _ in range(lab.repeats):
        stamps = run(lab, loop)
        rates.append(loop.flops / stamps.cycles_each())
        clocks.append(stamps.hertz())
    return rates, clocks


def peaks(lab: Lab) -> Iterator[Measured]:
    """What an SM multiplies in a cycle, by operand type, and mma.sync beside the warpgroup instruction."""
    half: list[float] = []
    for name, loop in PEAKS.items():
        if lab.gpu.capability < (8, 9) and name == "fp8":
            continue
        rates, clocks = flops_per_cycle(lab, loop)
        size = "x".join(map(str, loop.tile))
        note = f"{name} products of {size} that stay in an SM, {loop.warps} warps"
        yield measured(f"tensor_flops_{name}", rates, "FLOP/clk/SM", note)
        chip = [r * c * lab.gpu.sm_count for r, c in zip(rates, clocks, strict=True)]
        yield measured(
            f"tensor_rate_{name}", chip, "FLOP/s", f"{note}; at the clock of the run, {clocks[0] / 1e6:.0f} MHz"
        )
        half = rates if name == "fp16" else half
    if lab.gpu.capability[0] != 9:
        yield measured("mma_share", [1.0], "", "tensor_flops is of mma.sync here")
        return
    rates, _ = flops_per_cycle(lab, MMA)
    share = [a / b for a, b in zip(rates, half, strict=True)]
    yield measured("mma_share", share, "", "fp16 mma.sync from registers over wgmma, 4 blocks of 4 warps on an SM")


def chains(lab: Lab) -> Iterator[Measured]:
    """Narrow warpgroup products: one after the other, and many side by side. Hopper only."""
    if lab.gpu.capability[0] != 9:
        return
    steps = (LONG.tile[2] - SHORT.tile[2]) // _K_OF_WGMMA
    waits, side_by_side = [], []
    for _ in range(lab.repeats):
        short = run(lab, SHORT).cycles_each() / SHORT.rounds
        long = run(lab, LONG).cycles_each() / LONG.rounds
        waits.append((long - short) / steps)
        crowded = run(lab, CROWDED).cycles_each() / CROWDED.rounds
        side_by_side.append(crowded / (LONG.tile[2] // _K_OF_WGMMA))
    yield measured("wgmma_interval", waits, "cycles", f"a wgmma of {_ACROSS} columns after the one that it adds to")
    note = f"a wgmma of {_ACROSS} columns, {CROWDED.blocks} warpgroups side by side"
    yield measured("wgmma_issue", side_by_side, "cycles", note)
