"""TileLang: explicit shared buffers, a pipelined loop, fragments shared out over warps."""

from tilesearch.kernels.tilelang.build import build

__all__ = ["build"]
