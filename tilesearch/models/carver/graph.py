"""What carver knows of a function: nodes, the tensors they read, and how a tile's region of a tensor follows.

Sizes are those of one thread block. The axes of a node are numbered: first its output ("space") axes, then its
reduce axes; axes of extent 1 do not exist (carver notes, sections 0 and 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

from tilesearch.models.carver.device import bits_of, bytes_of

Sizes = tuple[int, ...]

UNBOUND = 1 << 62
"""Size of an index that no axis of the tile bounds; trimming makes it the buffer's extent."""


@dataclass(frozen=True, slots=True)
class Dim:
    """One index expression: a sum of stride x axis, perhaps divided and wrapped.

    Its size over a tile is the distance between its largest and its smallest value, plus one.
    """

    terms: tuple[tuple[int, int], ...]
    divisor: int = 1
    limit: int = UNBOUND
    bound: bool = True

    def size(self, sizes: Sequence[int]) -> int:
        """Values that the index spans when axis a takes sizes[a] values from zero."""
        if not self.bound:
            return UNBOUND
        span = sum(stride * (sizes[axis] - 1) for axis, stride in self.terms)
        return min(self.limit, span // self.divisor + 1)


FREE = Dim((), bound=False)


def plain(*axes: int) -> tuple[Dim, ...]:
    """The index expressions that are an axis each."""
    return tuple(Dim(((axis, 1),)) for axis in axes)


@dataclass(frozen=True)
class Buffer:
    """A tensor: name, shape with the unit extents, TVM's type name."""

    name: str
    shape: Sizes
    dtype: str

    @property
    def nbytes(self) -> int:
        """Bytes of an element."""
        return bytes_of(self.dtype)

    @property
    def size(self) -> int:
        """Bytes of the tensor, narrow elements packed."""
        return prod(self.shape) * bits_of(self.dtype) // 8


@dataclass(frozen=True)
class Access:
    """A tensor that a node reads: where it comes from (None: global memory) and its index expressions.

    Index expressions that are constantly zero have vanished, so `dims` may be shorter than the buffer's shape.
    `exact` regions are never trimmed: in a rewritten function an input takes the region of its reindexed copy
    where that has as many dimensions.
    """

    buffer: Buffer
    dims: tuple[Dim, ...]
    source: int | None = None
    exact: bool = False

    def region(self, sizes: Sequence[int]) -> Sizes:
        """The untrimmed region: shared memory and vectorisation use it."""
        return tuple([dim.size(sizes) for dim in self.dims])

    def trimmed(self, sizes: Sequence[int]) -> Sizes:
        """The region cut to the buffer, dimension by dimension from the front.

        The pairing is carver's fault: where unit axes vanished, dimensions meet the wrong extents.
        """
        if self.exact:
            return self.region(sizes)
        return tuple([min(dim.size(sizes), extent) for dim, extent in zip(self.dims, self.buffer.shape, strict=False)])


@dataclass(frozen=True)
class Block:
    """A computation inside a node, for show."""

    reads: tuple[str, ...]
    writes: tuple[str, ...]
    reduce: bool = False

    def as_dict(self) -> dict[str, Any]:
        """As the oracle files write it."""
        return {"reads": list(self.reads), "writes": list(self.writes), "reduce": self.reduce}


@dataclass(frozen=True)
class Intrinsic:
    """The matrix product that a node was rewritten to: the types, and whether B is held as [N, K]."""

    in_dtype: str
    out_dtype: str
    trans_b: bool

    def as_dict(self) -> dict[str, Any]:
        """As the oracle files write it."""
        return {"in_dtype": self.in_dtype, "out_dtype": self.out_dtype, "trans_b": self.trans_b}


@dataclass(frozen=True)
class Node:
    """One function: output axes, reduce axes, what it reads, what its reduction stages in shared memory.

    `output_dims` is the tile's region of the output; `staged` are the reads of the reduction block, which are
    the function's inputs, or the two reindexed matrices once the function was rewritten to a matrix product.
    """

    name: str
    space: Sizes
    reduce: Sizes
    reads: tuple[Access, ...]
    staged: tuple[Access, ...]
    output: Buffer
    output_dims: tuple[Dim, ...]
    blocks: tuple[Block, ...]
    intrinsic: Intrinsic | None = None

    @cached_property
    def bits(self) -> int:
        """Bits of an output element; the accumulator's type is not looked at."""
        return bits_of(self.output.dtype)

    def sizes(self, tile: Sequence[int], rstep: Sequence[int] | None = None) -> Sizes:
        """The tile with the reduce axes behind it: whole ones, or steps of at most the extent."""
        if rstep is None:
            return (*tile, *self.reduce)
        return (*tile, *(min(step, extent) for step, extent in zip(rstep, self.reduce, strict=True)))

    def output_region(self, tile: Sequence[int]) -> Sizes:
        """The region of the output that traffic counts: cut to the shape of the first input, carver's fault."""
        sizes = self.sizes(tile)
        shape = self.reads[0].buffer.shape
        return tuple([min(dim.size(sizes), extent) for dim, extent in zip(self.output_dims, shape, strict=False)])

    def footprint(self, tile: Sequence[int], rstep: Sequence[int]) -> int:
        """Bytes of the staged tensors, one pipeline stage, each rounded up to 32 B.

        No accumulator, no staged output, no padding (carver notes, section 4).
        """
        sizes = self.sizes(tile, rstep)
        return sum(align(prod(access.region(sizes)) * access.buffer.nbytes) for access in self.staged)

    @property
    def cached(self) -> list[str]:
        """The names of the tensors that are staged in shared memory."""
        return [access.buffer.name for access in self.staged]


ALIGNMENT = 32


def align(size: int) -> int:
    """The size rounded up to carver's allocation unit."""
    return -(-size // ALIGNMENT) * ALIGNMENT


@dataclass(frozen=True)
class Graph:
    """Nodes in topological order; the last one writes the output."""

    nodes: tuple[Node, ...]

    @property
    def output(self) -> Node:
        """The node whose output axes are tiled."""
        return self.nodes[-1]

    def node_tiles(self, tile: Sizes) -> list[Sizes]:
        """The tile of each node: a producer's tile is its consumer's trimmed region, with whole reductions."""
        tiles: dict[int, Sizes] = {len(self.nodes) - 1: tile}
        for number in reversed(range(len(self.nodes))):
            node = self.nodes[number]
            for access in node.reads:
                if access.source is not None and access.source not in tiles:
                    tiles[access.source] = access.trimmed(node.sizes(tiles[number]))
        return [tiles[number] for number in range(len(self.nodes))]

    @property
    def feeds(self) -> set[int]:
        """The numbers of the nodes whose output another node reads."""
        return {access.source for node in self.nodes for access in node.reads if access.source is not None}
