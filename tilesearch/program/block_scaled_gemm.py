"""Block-scaled GEMM in the program form."""

from __future__ import annotations

from tilesearch.program.form import Axis, Contraction, Dim, Held, Program, Role, Tensor, Term
from tilesearch.program.units import matrix_unit, plain, scalar_unit, split_over
from tilesearch.specs.dtypes import dtype
from tilesearch.specs.ops import BlockScaledGemm


def lower_block_scaled_gemm(op: BlockScaledGemm) -> Program:
    """A GEMM whose scales are tensors with an entry for each block of rows and of k, staged like the operands.

    flops = 2 m n k on the matrix unit. Scales of 8 bits are applied by the matrix instruction; wider ones cost a
    multiplication and an addition for each output element and k block, and a second accumulator.
    """
    m, n = Dim("m", op.m, "block_m"), Dim("n", op.n, "block_n")
    k = Dim("k", op.k, "block_k", reduce=True)
    acc, scale = dtype(op.acc), dtype(op.scale_dtype)
    roof = op.roof or matrix_unit(op.operand("a"))
    scale_a, scale_b = (
        Tensor(f"scale_{name}", Role.INPUT, scale, (_per_block(rows, block[0]), _per_block(k, block[1])), staged=True)
        for name, rows, block in (("a", m, op.scale_block_a), ("b", n, op.scale_block_b))
    )
    dims = [m, n, k]
    terms = [Term("multiply-add", roof, 2, ("m", "n", "k"))]
    held = [Held("accumulator", ("m", "n"), acc)]
    by_instruction = scale.bits == 8
    if not by_instruction:
        block = min(op.scale_block_a[1], op.scale_block_b[1])
        dims.append(Dim("k block", -(-op.k // block), reduce=True, whole=True))
        terms.append(Term("scaling", scalar_unit(acc.name), 2, ("m", "n", "k block")))
        held.append(Held("sums of a k block", ("m", "n"), acc))
    return Program(
        kind="block_scaled_gemm",
        dims=tuple(dims),
        tensors=(
            Tensor("a", Role.INPUT, dtype(op.operand("a")), plain(m, k), staged=True),
            scale_a,
            Tensor("b", Role.INPUT, dtype(op.operand("b")), plain(n, k), staged=True),
            scale_b,
            Tensor("out", Role.OUTPUT, dtype(op.out), plain(m, n)),
        ),
        terms=tuple(terms),
        roof=roof,
        contractions=(Contraction("m", "n", "k", "a", "b", acc, scaled=by_instruction),),
        held=tuple(held),
        split=split_over("k", acc),
        constants=op.constants,
    )


def _per_block(dim: Dim, block: int) -> Axis:
    return Axis(-(-dim.extent // block), ((dim.name, 1),), divisor=block)
