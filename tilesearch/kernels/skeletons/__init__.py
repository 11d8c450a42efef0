"""Kernels to start from: the loops, tiles and copies of a program with a tile, what it computes left to fill in."""

from tilesearch.kernels.skeletons.tilelang import tilelang_skeleton
from tilesearch.kernels.skeletons.triton import triton_skeleton

__all__ = ["tilelang_skeleton", "triton_skeleton"]
