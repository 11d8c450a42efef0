"""CUTLASS: the 2.x multistage mainloop and the 3.x warp-specialised collectives."""

from tilesearch.kernels.cutlass.build import build

__all__ = ["build"]
