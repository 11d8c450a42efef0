"""Grouped GEMM in the program form."""

from __future__ import annotations

from tilesearch.program.form import Axis, Contraction, Dim, Held, Program, Role, Tensor, Term
from tilesearch.program.units import indexed, matrix_unit, plain, split_over
from tilesearch.specs.dtypes import dtype
from tilesearch.specs.ops import GroupedGemm


def lower_grouped_gemm(op: GroupedGemm) -> Program:
    """Rows in pieces that no tile straddles: ``sum over groups of ceil(rows / block_m)`` blocks along m.

    Each block reads the matrix of its group. With routing, a is gathered from the tokens: it is read once for
    each of a token's experts, but any kernel must move it only once. flops = 2 rows n k.
    """
    m = Dim("m", sum(op.sizes), "block_m", pieces=op.sizes, piece="group")
    n, k = Dim("n", op.n, "block_n"), Dim("k", op.k, "block_k", reduce=True)
    acc = dtype(op.operand("acc"))
    routed = op.groups is None
    rows = Axis(op.tokens or 0, (("m", 1),), gathered=True) if routed else plain(m)[0]
    weights = indexed({"group": len(op.sizes)})
    tensors = [
        Tensor("a", Role.INPUT, dtype(op.operand("a")), (rows, *plain(k)), staged=True),
        Tensor("b", Role.INPUT, dtype(op.operand("b")), (*weights, *plain(k, n)), staged=True),
        Tensor("out", Role.OUTPUT, dtype(op.operand("out")), plain(m, n)),
    ]
    if routed:
        tensors.insert(2, Tensor("token_ids", Role.TABLE, dtype("int32"), plain(m)))
    roof = op.roof or matrix_unit(op.operand("a"))
    return Program(
        kind="grouped_gemm",
        dims=(m, n, k),
        tensors=tuple(tensors),
        terms=(Term("multiply-add", roof, 2, ("m", "n", "k")),),
        roof=roof,
        contractions=(Contraction("m", "n", "k", "a", "b", acc),),
        held=(Held("accumulator", ("m", "n"), acc),),
        split=split_over("k", acc),
        constants={**op.constants, "m": m.extent, "groups": len(op.sizes)},
    )
