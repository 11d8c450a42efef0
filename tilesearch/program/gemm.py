"""GEMM in the program form."""

from __future__ import annotations

from tilesearch.program.form import Axis, Contraction, Dim, Program, Role, Split, Tensor, Term
from tilesearch.specs.dtypes import dtype
from tilesearch.specs.ops import Gemm

_SIMT_TYPES = ("fp32", "fp64", "int32")


def matrix_unit(name: str) -> str:
    """The roof on which a product of `name` operands runs by default.

    fp32 and int32 have no matrix instruction; fp64 has one only on some parts, so its users declare it.
    """
    unit = "cuda_core" if name in _SIMT_TYPES else "tensor_core"
    return f"{unit}.{dtype(name).roof_name}"


def plain(*dims: Dim) -> tuple[Axis, ...]:
    """Axes that are each indexed by one dimension."""
    return tuple(Axis(d.extent, ((d.name, 1),)) for d in dims)


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
    terms = [Term("multiply-add", op.roof or matrix_unit(op.operand("a")), 2, ("batch", "m", "n", "k"))]
    epilogue = f"cuda_core.{'fp32' if acc.is_float else 'int32'}"
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
        roof=op.roof or matrix_unit(op.operand("a")),
        contraction=Contraction("m", "n", "k", "a", "b", acc),
        split=Split("split_k", "k", dtype("fp32") if acc.is_float and acc.bits <= 32 else acc),
        constants={"batch": op.batch, "m": op.m, "n": op.n, "k": op.k},
    )
