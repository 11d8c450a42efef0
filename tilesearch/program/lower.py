"""Dispatch from an operator's specification to its program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilesearch.program.form import Program
from tilesearch.program.gemm import lower_gemm
from tilesearch.specs.ops import Gemm, OpSpec

_LOWERINGS: dict[type[OpSpec], Callable[[Any], Program]] = {Gemm: lower_gemm}


def lower(op: OpSpec) -> Program:
    """The program of `op`. Every registered operator kind has exactly one lowering."""
    return _LOWERINGS[type(op)](op)
