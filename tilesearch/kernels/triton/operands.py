"""The operands of tl.dot as they are staged: their bytes, how they lie, and how they can be loaded."""

from __future__ import annotations

from dataclasses import dataclass

from tilesearch.kernels.triton.compiler import Compiler
from tilesearch.program.form import Program, Tensor
from tilesearch.rules.expr import Expr
from tilesearch.rules.geometry import storage
from tilesearch.specs.dtypes import DType


@dataclass(frozen=True)
class Operand:
    """One operand of the dot.

    `tile_bytes` is one buffer, in B; `hinted` says that Triton may load it in wide pieces.
    """

    name: str
    elements: Expr
    tile_bytes: Expr
    dtype: DType
    k_major: bool
    hinted: bool
    asynchronous: bool


def operand(compiler: Compiler, program: Program, name: str, elements: Expr, through_tma: bool) -> Operand:
    """The operand `name` of the program's product, `elements` of which a step of the loop loads.

    Triton's JIT specialises an integer argument that 16 divides. A row stride that is not leaves each address
    aligned to one element: loads are then narrow, and narrower than 4 B they are not made asynchronous. The
    mask along K needs the same hint of K, which is that stride where the operand is K-major.
    """
    product = program.contraction
    assert product is not None
    tensor = program.tensor(name)
    hinted = is_hinted(compiler, tensor)
    wide = tensor.dtype.bits >= 8 * compiler.number("async_copy_bytes")
    return Operand(
        name=name,
        elements=elements,
        tile_bytes=storage(elements, tensor.dtype),
        dtype=tensor.dtype,
        k_major=product.k in contiguous(tensor),
        hinted=through_tma or hinted,
        asynchronous=through_tma or (compiler.async_copies and (hinted or wide)),
    )


def contiguous(tensor: Tensor) -> frozenset[str]:
    """The dimensions along the tensor's contiguous axis."""
    return frozenset(name for name, _ in tensor.axes[-1].terms)


def is_hinted(compiler: Compiler, tensor: Tensor) -> bool:
    """Whether the JIT's divisible-by-16 hints hold for the tensor's row stride, so that vectors are loaded."""
    return tensor.axes[-1].extent % compiler.number("hint_divisor") == 0
