"""Matrix-vector products in the program form."""

from __future__ import annotations

from tilesearch.program.form import Dim, Held, Program, Role, Tensor, Term
from tilesearch.program.units import plain, scalar_unit, split_over
from tilesearch.specs.dtypes import dtype
from tilesearch.specs.ops import Gemv


def lower_gemv(op: Gemv) -> Program:
    """``out[batch, n] = sum over k of a[batch, k] * b[n, k]``: a block takes all vectors, so b is read once.

    flops = 2 batch n k. Nothing is staged: b goes from memory to registers, a is re-read by each block.
    """
    batch = Dim("batch", op.batch, whole=True)
    n, k = Dim("n", op.n, "block_n"), Dim("k", op.k, "block_k", reduce=True)
    acc = dtype(op.operand("acc"))
    roof = op.roof or scalar_unit(acc.name)
    return Program(
        kind="gemv",
        dims=(batch, n, k),
        tensors=(
            Tensor("a", Role.INPUT, dtype(op.operand("a")), plain(batch, k)),
            Tensor("b", Role.INPUT, dtype(op.operand("b")), plain(n, k)),
            Tensor("out", Role.OUTPUT, dtype(op.operand("out")), plain(batch, n)),
        ),
        terms=(Term("multiply-add", roof, 2, ("batch", "n", "k")),),
        roof=roof,
        held=(Held("accumulator", ("batch", "n"), acc),),
        split=split_over("k", acc),
        profile="vector",
        constants=op.constants,
    )
