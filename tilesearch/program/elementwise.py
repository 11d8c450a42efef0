"""Chains of elementwise operations in the program form."""

from __future__ import annotations

from math import prod

from tilesearch.program.form import Dim, Held, Program, Role, Tensor, Term
from tilesearch.program.units import SPECIAL, plain
from tilesearch.specs.dtypes import dtype
from tilesearch.specs.ops import Elementwise


def lower_elementwise(op: Elementwise) -> Program:
    """Independent elements: each input read once and each output written once, whatever the tile.

    Nothing is staged; a block holds an fp32 value for each of its elements of each input (or of one output).
    """
    m = Dim("m", prod(op.shape), "block_m")
    roof = op.roof or "cuda_core.fp32"
    inputs = tuple(Tensor(f"in{i}", Role.INPUT, dtype(op.dtype), plain(m), view=op.shape) for i in range(op.inputs))
    kind = dtype(op.operand("out"))
    outputs = tuple(Tensor(f"out{i}", Role.OUTPUT, kind, plain(m), view=op.shape) for i in range(op.outputs))
    terms = [Term("arithmetic", roof, op.arithmetic_per_element, ("m",))]
    if op.special_per_element:
        terms.append(Term("special functions", SPECIAL, op.special_per_element, ("m",)))
    return Program(
        kind="elementwise",
        dims=(m,),
        tensors=(*inputs, *outputs),
        terms=tuple(terms),
        roof=roof,
        held=tuple(Held(f"value{i}", ("m",), dtype("fp32")) for i in range(max(1, op.inputs))),
        profile="elements",
        constants={"m": m.extent, **op.constants},
    )
