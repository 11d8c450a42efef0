"""Carver's templates as graphs of nodes: what each function reads, and by which indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from tilesearch.models.carver import parameters as par
from tilesearch.models.carver.device import bits_of
from tilesearch.models.carver.graph import Access, Block, Buffer, Dim, Graph, Node, plain


class Axes:
    """Numbers the axes of a node, those of extent 1 left out, and writes index expressions over them."""

    def __init__(self, space: Sequence[tuple[str, int]], reduce: Sequence[tuple[str, int]]) -> None:
        self.space = tuple(extent for _, extent in space if extent > 1)
        self.reduce = tuple(extent for _, extent in reduce if extent > 1)
        kept = [name for name, extent in (*space, *reduce) if extent > 1]
        self.number = {name: place for place, name in enumerate(kept)}

    def dims(self, *indices: str | dict[str, int]) -> tuple[Dim, ...]:
        """Index expressions: a name is the axis itself, a mapping is a padded window's sum of axis x stride.

        An index that is constantly zero vanishes. A padded window never is: with both axes gone it is the
        constant -P, and the dimension stays (not met in the reference data).
        """
        found = []
        for index in indices:
            if isinstance(index, dict):
                found.append(Dim(tuple((self.number[n], s) for n, s in index.items() if n in self.number)))
            elif index in self.number:
                found.append(Dim(((self.number[index], 1),)))
        return tuple(found)


def node_of(
    axes: Axes,
    reads: Sequence[Access],
    output: tuple[int, ...],
    acc_dtype: str,
    out_dtype: str,
    name: str = "PrimFuncNode",
) -> Node:
    """A reduction of `reads` into C, followed by a conversion D where the output has another type."""
    reduces = bool(axes.reduce)
    converts = acc_dtype != out_dtype
    names = tuple(access.buffer.name for access in reads)
    blocks = [Block(names, ("C",), reduces)]
    if converts:
        blocks.append(Block(("C",), ("D",)))
    return Node(
        name=name,
        space=axes.space,
        reduce=axes.reduce,
        reads=tuple(reads),
        staged=tuple(reads) if reduces else (),
        output=Buffer("D" if converts else "C", output, out_dtype),
        output_dims=plain(*range(len(axes.space))),
        blocks=tuple(blocks),
    )


def matmul(p: par.Matmul) -> Graph:
    """C[m, n] += A[m, k] * B[k, n], with A and B stored either way."""
    axes = Axes([("m", p.m), ("n", p.n)], [("k", p.k)])
    a, b = ("km" if p.trans_a else "mk"), ("nk" if p.trans_b else "kn")
    extents = {"m": p.m, "n": p.n, "k": p.k}
    reads = [
        Access(Buffer(name, tuple(extents[x] for x in index), p.in_dtype), axes.dims(*index))
        for name, index in (("A", a), ("B", b))
    ]
    return Graph((node_of(axes, reads, (p.m, p.n), p.accum_dtype, p.out_dtype),))


def gemv(p: par.Gemv) -> Graph:
    """A matrix product with a single row."""
    row = {"M": 1, "N": p.n, "K": p.k, "trans_B": p.trans_b}
    types = {"in_dtype": p.in_dtype, "out_dtype": p.out_dtype, "accum_dtype": p.accum_dtype}
    return matmul(par.Matmul.model_validate({**row, **types}))


def conv(p: par.Conv) -> Graph:
    """C[n, h, w, f] += A[n, h*S - P + kh*D, w*S - P + kw*D, c] * B[kh, kw, c, f]."""
    out = (p.n, p.out_extent(p.h), p.out_extent(p.w), p.f)
    axes = Axes(list(zip("nhwf", out, strict=True)), [("kh", p.window), ("kw", p.window), ("c", p.c)])
    image = axes.dims("n", {"h": p.stride, "kh": p.dilation}, {"w": p.stride, "kw": p.dilation}, "c")
    reads = [
        Access(Buffer("A", (p.n, p.h, p.w, p.c), p.in_dtype), image),
        Access(Buffer("B", (p.window, p.window, p.c, p.f), p.in_dtype), axes.dims("kh", "kw", "c", "f")),
    ]
    return Graph((node_of(axes, reads, out, p.accum_dtype, p.out_dtype),))


def attention(p: par.FlashAttention) -> Graph:
    """S[b, q, v] += Q[b, q, d] * K[b, v, d], then O[b, q, d] += S[b, q, v] * V[b, d, v]; no softmax."""
    batch, q, kv, d = p.batch_size * p.num_heads, p.seq_length, p.seq_kv_length, p.head_dim

    def product(name: str, n: int, k: int, source: int | None) -> Node:
        axes = Axes([("b", batch), ("m", q), ("n", n)], [("k", k)])
        left, right = Buffer("A", (batch, q, k), p.in_dtype), Buffer("B", (batch, n, k), p.in_dtype)
        reads = [Access(left, axes.dims("b", "m", "k"), source), Access(right, axes.dims("b", "n", "k"))]
        return node_of(axes, reads, (batch, q, n), p.accum_dtype, p.out_dtype, name)

    return Graph((product("MMA0", kv, d, None), product("MMA1", d, kv, 0)))


def elementwise(p: par.Elementwise) -> Graph:
    """B = A + 1. The literal is an int32, so that narrower integers are promoted to it."""
    axes = Axes([(str(i), extent) for i, extent in enumerate(p.shape)], [])
    dims = axes.dims(*(str(i) for i in range(len(p.shape))))
    promoted = "int32" if "int" in p.dtype and bits_of(p.dtype) < bits_of("int32") else p.dtype
    node = Node(
        name="PrimFuncNode",
        space=axes.space,
        reduce=(),
        reads=(Access(Buffer("A", p.shape, p.dtype), dims),),
        staged=(),
        output=Buffer("B", p.shape, promoted),
        output_dims=plain(*range(len(axes.space))),
        blocks=(Block(("A",), ("B",)),),
    )
    return Graph((node,))


def reduction(p: par.GeneralReduction) -> Graph:
    """C over the S axes = the sum of A over the R axes."""
    named = [(f"{kind}{i}", extent) for i, (kind, extent) in enumerate(zip(p.structure, p.shape, strict=True))]
    axes = Axes([a for a in named if a[0][0] == "S"], [a for a in named if a[0][0] == "R"])
    reads = [Access(Buffer("A", p.shape, p.dtype), axes.dims(*(name for name, _ in named)))]
    output = tuple(extent for name, extent in named if name[0] == "S")
    return Graph((node_of(axes, reads, output, p.dtype, p.dtype),))


BUILDERS: dict[type[Any], Callable[[Any], Graph]] = {
    par.Matmul: matmul,
    par.Gemv: gemv,
    par.Conv: conv,
    par.FlashAttention: attention,
    par.Elementwise: elementwise,
    par.GeneralReduction: reduction,
}
"""Parameters of a template to its graph."""


def build(p: Any) -> Graph:
    """The graph of a template's parameters, as DefaultPolicy sees it."""
    return BUILDERS[type(p)](p)


def input_bytes(graph: Graph) -> int:
    """Bytes of everything that is read from global memory."""
    return sum(a.buffer.size for node in graph.nodes for a in node.reads if a.source is None)


def out_positions(p: par.Conv) -> int:
    """Rows of the convolution's im2col matrix."""
    return prod((p.n, p.out_extent(p.h), p.out_extent(p.w)))
