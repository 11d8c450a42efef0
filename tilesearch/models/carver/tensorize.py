"""Which functions carver rewrites to a matrix product, and what they look like afterwards (carver notes, 1 and 3)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tilesearch.models.carver import parameters as par
from tilesearch.models.carver.device import CarverDevice, bits_of, multiplies
from tilesearch.models.carver.graph import (
    FREE,
    Access,
    Block,
    Buffer,
    Dim,
    Graph,
    Intrinsic,
    Node,
    plain,
)
from tilesearch.models.carver.templates import attention, matmul, out_positions

TENSOR_CORE_AXES = (1, 2)
"""The rows and the columns among the axes (batch, m, n) of the rewritten function."""

_LEAST_SPACE = 16
_LEAST_REDUCE = 16
_LEAST_REDUCE_NARROW = 32


@dataclass(frozen=True)
class Product:
    """A matrix product's extents and types: what decides whether tensor cores take it."""

    m: int
    n: int
    k: int
    in_dtype: str
    acc_dtype: str

    def obstacle(self, device: CarverDevice) -> str:
        """Why carver does not rewrite it, empty when it does."""
        if not multiplies(device, self.in_dtype, self.acc_dtype):
            return f"no {self.in_dtype} product with {self.acc_dtype} accumulation at sm_{device.sm_version}"
        if min(self.m, self.n) < _LEAST_SPACE:
            return f"an output axis is shorter than {_LEAST_SPACE}"
        least = _LEAST_REDUCE if bits_of(self.in_dtype) >= bits_of("float16") else _LEAST_REDUCE_NARROW
        return f"the reduce axis is shorter than {least}" if self.k < least else ""


def tensorize(p: Any, device: CarverDevice) -> Graph | str:
    """The rewritten function of a template's parameters, or why carver leaves it as it is."""
    if isinstance(p, par.Matmul):
        return Product(p.m, p.n, p.k, p.in_dtype, p.accum_dtype).obstacle(device) or Graph(
            tuple(rewritten(node, p) for node in matmul(p).nodes)
        )
    if isinstance(p, par.FlashAttention):
        inner = [(p.seq_kv_length, p.head_dim), (p.head_dim, p.seq_kv_length)]
        products = [Product(p.seq_length, n, k, p.in_dtype, p.accum_dtype) for n, k in inner]
        found = next((why for product in products if (why := product.obstacle(device))), "")
        return found or Graph(tuple(rewritten(node, p) for node in attention(p).nodes))
    if isinstance(p, par.Conv):
        return _conv(p, device)
    return "the function is not a matrix product"


def rewritten(node: Node, p: par.Matmul | par.FlashAttention) -> Node:
    """A node whose reduction reads A_reindex and B_reindex, copies of its inputs in the inputs' own layout.

    A copy ends in the reduce axis where its input does, else in the output axis. Only the axis of the
    contiguous run depends on it, so vector widths alone show it.
    """
    staged = tuple(
        _matrix(f"{access.buffer.name}_reindex", access.dims, node, access.buffer.dtype) for access in node.reads
    )
    trans_b = not isinstance(p, par.Matmul) or p.trans_b
    return replace(
        node,
        reads=tuple(replace(access, exact=True) for access in node.reads),
        staged=staged,
        blocks=_blocks(node.output.name),
        intrinsic=Intrinsic(p.in_dtype, p.accum_dtype, trans_b),
    )


def _matrix(name: str, dims: tuple[Dim, ...], node: Node, dtype: str) -> Access:
    """A copy whose shape is what the whole function indexes: extents of 1 are left out."""
    whole = node.sizes(node.space)
    return Access(Buffer(name, tuple(dim.size(whole) for dim in dims), dtype), dims)


def _blocks(output: str) -> tuple[Block, ...]:
    copies = [Block((name,), (f"{name}_reindex",)) for name in ("A", "B")]
    product = Block(("A_reindex", "B_reindex"), ("C_reindex",), reduce=True)
    back = [Block(("C_reindex",), ("C",))]
    return (*copies, product, *back, *([Block(("C",), ("D",))] if output == "D" else []))


def _conv(p: par.Conv, device: CarverDevice) -> Graph | str:
    """The convolution as a product of the im2col matrix [N*OH*OW, KH*KW*C] and the weights [KH*KW*C, F].

    Carver maps the tile back to the original tensors by pairing the copy stage's axes with the two matrix
    coordinates: the first two axes of a tensor's copy get them and all other axes stay unbound. So A is read
    in whole images and the weights nearly whole, however small the tile is. The output is folded back rightly.
    """
    if p.window == 1:
        return "the rewrite of a 1x1 convolution raises inside"
    rows, depth = out_positions(p), p.window * p.window * p.c
    obstacle = Product(rows, p.f, depth, p.in_dtype, p.accum_dtype).obstacle(device)
    if obstacle:
        return obstacle
    node = Node(
        name="PrimFuncNode",
        space=(rows, p.f),
        reduce=(depth,),
        reads=(_images(p), _weights(p)),
        staged=(),
        output=Buffer(
            "C" if p.accum_dtype == p.out_dtype else "D",
            (p.n, p.out_extent(p.h), p.out_extent(p.w), p.f),
            p.out_dtype,
        ),
        output_dims=_folded(p),
        blocks=(),
    )
    staged = (
        _matrix("A_reindex", plain(_ROW, _DEPTH), node, p.in_dtype),
        _matrix("B_reindex", plain(_DEPTH, _COLUMN), node, p.in_dtype),
    )
    intrinsic = Intrinsic(p.in_dtype, p.accum_dtype, trans_b=False)
    return Graph((replace(node, staged=staged, blocks=_blocks(node.output.name), intrinsic=intrinsic),))


_ROW, _COLUMN, _DEPTH = range(3)


def _images(p: par.Conv) -> Access:
    """A[n, .., .., c] with n := row of the tile; h and w hold window offsets, which are unbound.

    With a single image the axis n is gone and the row falls to h, which is unbound through its window offset.
    With a single channel besides, two dimensions are left, as the matrix has, and the matrix's region is taken.
    """
    buffer = Buffer("A", (p.n, p.h, p.w, p.c), p.in_dtype)
    if p.n == p.c == 1:
        return Access(buffer, plain(_ROW, _DEPTH), exact=True)
    first = plain(_ROW) if p.n > 1 else ()
    return Access(buffer, (*first, FREE, FREE, *_unless_unit(p.c, FREE)))


def _weights(p: par.Conv) -> Access:
    """B[kh, kw, c, f] with kh := column of the tile and f := its depth."""
    shape = (p.window, p.window, p.c, p.f)
    return Access(Buffer("B", shape, p.in_dtype), (*plain(_COLUMN), FREE, *_unless_unit(p.c, FREE), *plain(_DEPTH)))


def _unless_unit(extent: int, dim: Dim) -> tuple[Dim, ...]:
    return (dim,) if extent > 1 else ()


def _folded(p: par.Conv) -> tuple[Dim, ...]:
    """The output's indices n, h, w of a row, and f of a column; those of extent 1 vanish."""
    height, width = p.out_extent(p.h), p.out_extent(p.w)
    row = ((_ROW, 1),)
    folds = [(p.n, height * width), (height, width), (width, 1)]
    dims = [Dim(row, divisor, extent) for extent, divisor in folds if extent > 1]
    return (*dims, *plain(_COLUMN))
