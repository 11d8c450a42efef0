"""Operators as users write them. One model a kind; each is lowered once, in `tilesearch.program`."""

from tilesearch.specs.ops.base import MAX_EXTENT, OpSpec
from tilesearch.specs.ops.gemm import Gemm
from tilesearch.specs.ops.registry import OP_KINDS, Op, parse_op

__all__ = ["MAX_EXTENT", "OP_KINDS", "Gemm", "Op", "OpSpec", "parse_op"]
