"""GEMM in the program form."""

from __future__ import annotations

from tilesearch.program.form import Contraction, Dim, Held, Program, Role, Tensor, Term
from tilesearch.program.units import matrix_unit, plain, scalar_unit, split_over
from tilesearch.specs.dtypes import dtype
from tilesearch.specs.ops import Gemm


def lower_gemm(op: Gemm) -> Program:
    """``out[batch, m, n] = sum over k of a[batch, m, k] * b[batch, k, n]``, with its epilogue.

    flops = 2 batch m n k, plus one a written element for a bias, for c_in and for an activation.
    """
    batch = Dim("batch", op.batch)
    m, n = Dim("m", op.m, "block_m"), Dim("n", op.n, "block_n")
    k = Dim("k", op.k, "block_k", reduce=True)
    acc = dtype(op.operand("acc"))
    tensors = [
        Tensor("a", Role.INPUT, dtype(op.operand("a")), plain(batch, *((k, m) if op.trans_a else (m, k))), staged=True),
        Tensor("b", Role.INPUT, dtype(op.operand("b")), plain(batch, *((n, k) if op.trans_b else (k, n))), staged=True),
        Tensor("out", Role.OUTPUT, dtype(op.operand("out")), plain(batch, m, n)),
    ]
    roof = op.roof or matrix_unit(op.operand("a"))
    terms = [Term("multiply-add", roof, 2, ("batch", "m", "n", "k"))]
    epilogue = scalar_unit(acc.name)
    if op.bias:
        tensors.insert(2, Tensor("bias", Role.INPUT, dtype(op.operand("out")), plain(n)))
        terms.append(Term("bias", epilogue, 1, ("batch", "m", "n")))
    if op.c_in:
        tensors.insert(2, Tensor("c_in", Role.INPUT, dtype(op.operand("out")), plain(batch, m, n)))
        terms.append(Term("c_in", epilogue, 1, ("batch", "m", "n")))
    if op.activation != "none":
        terms.append(Term(f"activation {op.activation}", epilogue, 1, ("batch", "m", "n")))
    return Program(
        kind="gemm",
        dims=(batch, m, n, k),
        tensors=tuple(tensors),
        terms=tuple(terms),
        roof=roof,
        contractions=(Contraction("m", "n", "k", "a", "b", acc),),
        held=(Held("accumulator", ("m", "n"), acc),),
        split=split_over("k", acc),
        constants={"batch": op.batch, "m": op.m, "n": op.n, "k": op.k},
    )
