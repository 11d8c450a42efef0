"""Triton: a program a tile, its loop pipelined by the compiler; what 2.0 to 3.9 do with it."""

from tilesearch.kernels.triton.build import build

__all__ = ["build"]
