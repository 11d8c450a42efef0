"""Numbers and tiles in the words that reports use."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tilesearch.answers import Metrics, Nearest, Tile
from tilesearch.report.operators import op_text

ABSENT = "-"

_SHORT_VARIABLES = {
    "num_stages": "s{}",
    "num_warps": "w{}",
    "split_k": "split{}",
    "group_m": "group{}",
    "tokens_per_block": "tokens{}",
    "rows_per_block": "rows{}",
}
_BLOCKS = ("block_m", "block_n", "block_k")
_CLUSTERS = ("cluster_m", "cluster_n")
_USUAL = (*_BLOCKS, "num_stages", "num_warps", "tokens_per_block", "rows_per_block")

_SHORT_RESOURCES = {"registers": "regs", "shared_memory": "smem", "blocks": "slots"}


def tile_text(tile: Tile | Mapping[str, int], varying: Collection[str] | None = None) -> str:
    """A tile in short: ``256x128x64 s4 w8``, then whatever else varies (by default: is not 1)."""
    values = tile.as_dict() if isinstance(tile, Tile) else dict(tile)

    def wanted(name: str) -> bool:
        if name not in values:
            return False
        return name in _USUAL or (values[name] != 1 if varying is None else name in varying)

    parts = ["x".join(str(values[name]) for name in _BLOCKS if name in values)]
    for name, value in values.items():
        if name not in (*_BLOCKS, *_CLUSTERS) and wanted(name):
            parts.append(_SHORT_VARIABLES.get(name, name + "={}").format(value))
    if any(wanted(name) for name in _CLUSTERS):
        parts.append("cluster" + "x".join(str(values.get(name, 1)) for name in _CLUSTERS))
    return " ".join(filter(None, parts))


def nearest_text(nearest: Nearest) -> str:
    """A nearby tile and what it changes: ``256x128x64 s3 w8 (num_stages 4 -> 3)``."""
    changes = ", ".join(f"{name} {pair[0]} -> {pair[1]}" for name, pair in nearest.changes.items())
    return f"{tile_text(nearest.tile)}  ({changes})"


def subject(op: Mapping[str, Any], device: str, kernel: str) -> str:
    """What an answer is about: ``gemm 4096x4096x4096 fp16 -> fp16 on h200, generic kernel``."""
    return f"{op_text(op)}; on {device}; {kernel} kernel"


def megabytes(count: int | None) -> str:
    """Bytes of traffic in MB of a million bytes."""
    return ABSENT if count is None else f"{count / 1e6:,.1f}"


def kilobytes(count: int | None) -> str:
    """Bytes on chip in KB of 1024 bytes."""
    return ABSENT if count is None else f"{count / 1024:.1f}"


def integer(count: int | None) -> str:
    """A count, digit by digit."""
    return ABSENT if count is None else str(count)


def percent(share: float | None) -> str:
    """A share in per cent."""
    return ABSENT if share is None else f"{100 * share:.1f}"


def microseconds(metrics: Metrics) -> str:
    """The time estimate with its interval: ``41.2 (38.9-44.0)``."""
    if metrics.time_us is None:
        return ABSENT
    if metrics.time_low_us is None or metrics.time_high_us is None:
        return f"{metrics.time_us:.4g}"
    return f"{metrics.time_us:.4g} ({metrics.time_low_us:.4g}-{metrics.time_high_us:.4g})"


def residency(metrics: Metrics) -> str:
    """Blocks per SM and the resources that allow no more: ``2 regs+smem``."""
    if metrics.blocks_per_sm is None:
        return ABSENT
    return f"{metrics.blocks_per_sm} {'+'.join(_SHORT_RESOURCES.get(n, n) for n in _binding(metrics))}".strip()


def residency_text(metrics: Metrics) -> str:
    """The same in a sentence: ``2 blocks/SM by registers and shared_memory``."""
    binds = " and ".join(_binding(metrics))
    return f"{integer(metrics.blocks_per_sm)} blocks/SM{f' by {binds}' if binds else ''}"


def _binding(metrics: Metrics) -> list[str]:
    return [name for name, blocks in metrics.blocks_by.items() if blocks == metrics.blocks_per_sm]


def amount(value: int | None, unit: str) -> str:
    """A value or limit of a rule in a table: bytes in KB, counts bare, since the rule says of what."""
    if value is None:
        return ABSENT
    if unit == "B" and abs(value) < 1024:
        return f"{value} B"
    return f"{value / 1024:.1f} KB" if unit == "B" else str(value)


def count_of(number: int, singular: str, plural: str = "") -> str:
    """``1 tile``, ``2 tiles``."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def listed(items: Sequence[str]) -> str:
    """Items in a row with commas."""
    return ", ".join(items)
