"""Operators as users write them. One model a kind; each is lowered once, in `tilesearch.program`."""

from tilesearch.specs.ops.attention import Attention
from tilesearch.specs.ops.base import MAX_EXTENT, OpSpec
from tilesearch.specs.ops.block_scaled_gemm import BlockScaledGemm
from tilesearch.specs.ops.chain import Chain, Link
from tilesearch.specs.ops.conv2d import Conv2d
from tilesearch.specs.ops.einsum import Einsum
from tilesearch.specs.ops.elementwise import Elementwise
from tilesearch.specs.ops.gemm import Gemm
from tilesearch.specs.ops.gemv import Gemv
from tilesearch.specs.ops.grouped_gemm import GroupedGemm
from tilesearch.specs.ops.reduction import Reduction
from tilesearch.specs.ops.registry import OP_KINDS, Op, parse_op
from tilesearch.specs.ops.rows import Rows, RowTable

__all__ = [
    "MAX_EXTENT",
    "OP_KINDS",
    "Attention",
    "BlockScaledGemm",
    "Chain",
    "Conv2d",
    "Einsum",
    "Elementwise",
    "Gemm",
    "Gemv",
    "GroupedGemm",
    "Link",
    "Op",
    "OpSpec",
    "Reduction",
    "RowTable",
    "Rows",
    "parse_op",
]
