"""Dispatch from an operator's specification to its program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilesearch.errors import InputError, Issue
from tilesearch.program.attention import lower_attention
from tilesearch.program.block_scaled_gemm import lower_block_scaled_gemm
from tilesearch.program.conv2d import lower_conv2d
from tilesearch.program.einsum import lower_einsum
from tilesearch.program.elementwise import lower_elementwise
from tilesearch.program.form import Program
from tilesearch.program.gemm import lower_gemm
from tilesearch.program.gemv import lower_gemv
from tilesearch.program.grouped_gemm import lower_grouped_gemm
from tilesearch.program.reduction import lower_reduction
from tilesearch.program.rows import lower_rows
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
    OpSpec,
    Reduction,
    Rows,
)

_LOWERINGS: dict[type[OpSpec], Callable[[Any], Program]] = {
    Attention: lower_attention,
    BlockScaledGemm: lower_block_scaled_gemm,
    Conv2d: lower_conv2d,
    Einsum: lower_einsum,
    Elementwise: lower_elementwise,
    Gemm: lower_gemm,
    Gemv: lower_gemv,
    GroupedGemm: lower_grouped_gemm,
    Reduction: lower_reduction,
    Rows: lower_rows,
}


def lower(op: OpSpec) -> Program:
    """The program of `op`. Every registered operator kind has exactly one lowering.

    Raises `InputError` for a chain, which is several operators.
    """
    if isinstance(op, Chain):
        raise InputError(Issue("a chain of operators is a question for `tilesearch fuse`", "ops"))
    return _LOWERINGS[type(op)](op)
