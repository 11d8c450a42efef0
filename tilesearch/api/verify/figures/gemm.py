"""Figures of single GEMM tiles: what fits, residency, waves and traffic (sections 1.1 and 4.3)."""

from __future__ import annotations

from tilesearch.answers import CheckAnswer, Metrics
from tilesearch.api.check import check
from tilesearch.api.verify.figures.registry import figure
from tilesearch.api.verify.figures.roofs import DEVICE
from tilesearch.specs.ops import Gemm

EXTENT = 4096
WORKED_TILE = {"block_m": 128, "block_n": 256, "block_k": 64, "num_stages": 3, "num_warps": 8}
STAGE4_TILE = {"block_m": 256, "block_n": 256, "block_k": 64, "num_stages": 4, "num_warps": 8}
_KIB = 1024
_NAMES = {"C1": "smem", "C2": "regs", "C4": "threads"}


def check_tile(tile: dict[str, int], **changes: int) -> CheckAnswer:
    """A tile of the text's GEMM, by the text's residency arithmetic."""
    op = Gemm(m=EXTENT, n=EXTENT, k=EXTENT, dtype="fp16", acc="fp32")
    return check(op, DEVICE, {**tile, **changes}, model={"occupancy": "seed"})


def _worked(**changes: int) -> Metrics:
    return check_tile(WORKED_TILE, **changes).metrics


def _number(value: int | float | None) -> int | float:
    """A metric that every GEMM on this device has."""
    assert value is not None
    return value


@figure("tile.stage_smem")
def stage_smem_kib() -> float:
    """Shared memory of one stage, KB of 1024 B."""
    return _number(_worked(num_stages=1).shared_bytes) / _KIB


@figure("tile.smem")
def smem_kib() -> float:
    """Shared memory of all stages, KB of 1024 B."""
    return _number(_worked().shared_bytes) / _KIB


@figure("tile.acc")
def accumulators() -> float:
    """Accumulator registers a thread."""
    return _number(_worked().accumulators_per_thread)


@figure("tile.regs_block")
def registers_per_block() -> float:
    """Registers a block."""
    return _number(_worked().registers_per_block)


@figure("tile.occ_regs")
def blocks_by_registers() -> float:
    """Blocks an SM by registers."""
    return _number(_worked().blocks_by["registers"])


@figure("tile.occ_smem")
def blocks_by_shared_memory() -> float:
    """Blocks an SM by shared memory."""
    return _number(_worked().blocks_by["shared_memory"])


@figure("tile.occ_threads")
def blocks_by_threads() -> float:
    """Blocks an SM by threads."""
    return _number(_worked().blocks_by["threads"])


@figure("tile.binding")
def binding_resource() -> str:
    """The resource with the least slack, in the text's words."""
    binding = check_tile(WORKED_TILE).binding or ""
    return _NAMES.get(binding.split(".")[0], binding)


@figure("tile.grid")
def grid() -> float:
    """Blocks of the launch."""
    return _number(_worked().grid)


@figure("tile.waves")
def waves() -> float:
    """Waves of the launch."""
    return _number(_worked().waves)


@figure("tile.tail")
def tail_percent() -> float:
    """How full the last wave is, in percent."""
    return 100 * _number(_worked().tail_fill)


@figure("tile.{}x{}_{}")
def accumulators_of(m: str, n: str, threads: str) -> float:
    """Accumulator registers a thread of an m x n tile on so many threads."""
    return _number(_shaped(m, n, threads).accumulators_per_thread)


@figure("tile.{}x{}_{}.occ")
def blocks_by_registers_of(m: str, n: str, threads: str) -> float:
    """Blocks an SM by registers of an m x n tile on so many threads."""
    return _number(_shaped(m, n, threads).blocks_by["registers"])


def _shaped(m: str, n: str, threads: str) -> Metrics:
    tile = {"block_m": m, "block_n": n, "num_threads": threads, "block_k": "64"}
    return check_tile({name: int(value) for name, value in tile.items()}).metrics


@figure("traffic.{}x{}")
def traffic_mb(m: str, n: str) -> float:
    """Traffic of an m x n tile, MB of 1e6 B."""
    return _number(_worked(block_m=int(m), block_n=int(n)).traffic_bytes) / 1e6


@figure("gemm_stage4.smem")
def stage4_smem_kib() -> float:
    """Shared memory of the tile that does not fit, KB of 1024 B."""
    return _number(check_tile(STAGE4_TILE).metrics.shared_bytes) / _KIB


@figure("gemm_stage4.acc")
def stage4_accumulators() -> float:
    """Accumulator registers a thread of the tile that does not fit."""
    return _number(check_tile(STAGE4_TILE).metrics.accumulators_per_thread)
