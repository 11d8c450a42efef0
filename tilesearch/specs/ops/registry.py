"""The kinds of operator that a problem file may name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilesearch.errors import InputError, Issue, suggest
from tilesearch.specs.ops.attention import Attention
from tilesearch.specs.ops.base import OpSpec
from tilesearch.specs.ops.block_scaled_gemm import BlockScaledGemm
from tilesearch.specs.ops.conv2d import Conv2d
from tilesearch.specs.ops.einsum import Einsum
from tilesearch.specs.ops.elementwise import Elementwise
from tilesearch.specs.ops.gemm import Gemm
from tilesearch.specs.ops.gemv import Gemv
from tilesearch.specs.ops.grouped_gemm import GroupedGemm
from tilesearch.specs.ops.reduction import Reduction
from tilesearch.specs.ops.rows import Rows
from tilesearch.specs.validation import validate

OP_KINDS: dict[str, type[OpSpec]] = {
    "gemm": Gemm,
    "grouped_gemm": GroupedGemm,
    "gemv": Gemv,
    "attention": Attention,
    "conv2d": Conv2d,
    "reduction": Reduction,
    "elementwise": Elementwise,
    "rows": Rows,
    "block_scaled_gemm": BlockScaledGemm,
    "einsum": Einsum,
}
"""Operator kind to model: the one place where a new kind is registered."""

Op = OpSpec


def parse_op(data: Mapping[str, Any], source: str = "", prefix: str = "op") -> OpSpec:
    """Build an operator from its table. Raises `InputError` naming every fault."""
    if not isinstance(data, Mapping):
        raise InputError(Issue("a table is wanted", where=prefix, source=source))
    kind = data.get("kind")
    where = f"{prefix}.kind" if prefix else "kind"
    if kind is None:
        raise InputError(Issue("is required and absent", where, source, f"allowed: {', '.join(OP_KINDS)}"))
    if not isinstance(kind, str) or kind not in OP_KINDS:
        hint = suggest(str(kind), list(OP_KINDS))
        raise InputError(Issue(f"unknown operator kind {kind!r}", where, source, hint))
    return validate(OP_KINDS[kind], data, source, prefix)
