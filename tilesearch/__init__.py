"""tilesearch: which tiles fit, which rule stops the others, and the nearest tile that fits."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilesearch.api import (
        check,
        design,
        explain,
        export,
        fuse,
        occupancy,
        port,
        prune,
        roofline,
        schedule,
        shard,
        solve,
    )
    from tilesearch.errors import InputError, TilesearchError, UnknownLimitError
    from tilesearch.specs.devices import list_devices, load_device
    from tilesearch.specs.ops import (
        Attention,
        BlockScaledGemm,
        Chain,
        Conv2d,
        Einsum,
        Elementwise,
        Gemm,
        Gemv,
        GroupedGemm,
        Reduction,
        Rows,
    )
    from tilesearch.specs.problems import Problem, load_problem

__version__ = "0.1.0"

# Resolved on first use, so that `import tilesearch` costs next to nothing.
_HOMES = {
    "check": "tilesearch.api",
    "design": "tilesearch.api",
    "explain": "tilesearch.api",
    "export": "tilesearch.api",
    "fuse": "tilesearch.api",
    "occupancy": "tilesearch.api",
    "port": "tilesearch.api",
    "prune": "tilesearch.api",
    "roofline": "tilesearch.api",
    "schedule": "tilesearch.api",
    "shard": "tilesearch.api",
    "solve": "tilesearch.api",
    "InputError": "tilesearch.errors",
    "TilesearchError": "tilesearch.errors",
    "UnknownLimitError": "tilesearch.errors",
    "list_devices": "tilesearch.specs.devices",
    "load_device": "tilesearch.specs.devices",
    "Attention": "tilesearch.specs.ops",
    "Elementwise": "tilesearch.specs.ops",
    "Gemm": "tilesearch.specs.ops",
    "Gemv": "tilesearch.specs.ops",
    "Reduction": "tilesearch.specs.ops",
    "BlockScaledGemm": "tilesearch.specs.ops",
    "Chain": "tilesearch.specs.ops",
    "Conv2d": "tilesearch.specs.ops",
    "Einsum": "tilesearch.specs.ops",
    "GroupedGemm": "tilesearch.specs.ops",
    "Rows": "tilesearch.specs.ops",
    "Problem": "tilesearch.specs.problems",
    "load_problem": "tilesearch.specs.problems",
}

__all__ = [
    "Attention",
    "BlockScaledGemm",
    "Chain",
    "Conv2d",
    "Einsum",
    "Elementwise",
    "Gemm",
    "Gemv",
    "GroupedGemm",
    "InputError",
    "Problem",
    "Reduction",
    "Rows",
    "TilesearchError",
    "UnknownLimitError",
    "check",
    "design",
    "explain",
    "export",
    "fuse",
    "list_devices",
    "load_device",
    "load_problem",
    "occupancy",
    "port",
    "prune",
    "roofline",
    "schedule",
    "shard",
    "solve",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tilesearch' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
