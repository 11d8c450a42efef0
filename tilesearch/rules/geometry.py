"""Footprint, grid and traffic of a tile, derived from the program form and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from math import gcd

from tilesearch.program.form import Axis, Component, Dim, Program, Role, Tensor
from tilesearch.program.touch import total as touched_total
from tilesearch.rules.evaluate import evaluate
from tilesearch.rules.expr import Expr, Table, Var, as_expr, ceildiv, const, minimum, product, select, total
from tilesearch.specs.dtypes import DType

_MOST_PIECES = 16
"""Most distinct sizes of pieces whose block counts are written out as a sum."""


class Geometry:
    """Trees over the tile variables for one program.

    `free` names the variables that exist; a dimension whose variable is not among them, or that has none, is
    covered by one index a block, or whole when the program says so.
    """

    def __init__(self, program: Program, free: frozenset[str]) -> None:
        self.program = program
        self.free = free

    def tile(self, dim: Dim) -> Expr:
        """Indices of `dim` that one block (or one step, for a reduction) covers. Not clipped to the extent."""
        if dim.variable is not None and dim.variable in self.free:
            return Var(dim.variable)
        return const(dim.extent, dim.name) if dim.whole else const(1)

    @property
    def split(self) -> Expr:
        """Blocks that share one output tile; 1 when the reduction is not split."""
        split = self.program.split
        return Var(split.variable) if split is not None and split.variable in self.free else const(1)

    def blocks_along(self, dim: Dim) -> Expr:
        """Blocks that partition `dim`: none straddles two of its pieces."""
        if dim.whole:
            return const(1)
        extent = const(dim.extent, dim.name)
        if dim.variable not in self.free:
            return extent
        if not dim.pieces:
            return ceildiv(extent, self.tile(dim))
        sizes = Counter(size for size in dim.pieces if size)
        if len(sizes) > _MOST_PIECES:
            return Table(f"blocks({dim.name})", _piece_blocks(dim.pieces), self.tile(dim))
        return total(ceildiv(size, self.tile(dim)) * count for size, count in sorted(sizes.items()))

    def grid(self) -> Expr:
        """Blocks of the launch."""
        return product([*(self.blocks_along(d) for d in self.program.parallel), self.split])

    def region(self, tensor: Tensor) -> Expr:
        """Elements of `tensor` that one step of one block touches (unclipped: what is allocated for it).

        An axis that a window slides along holds the sweep of the window, or one element for each point of the
        tile where that is less or where the dimension is flattened (the im2col tile of an implicit GEMM). An
        axis with a divisor holds the most entries that a tile can meet, wherever it starts.
        """
        points: dict[str, Expr] = {}
        factors: list[Expr] = []
        for axis in tensor.axes:
            owners = [self.program.owner(name) for name, _ in axis.terms]
            if axis.divisor > 1 and len(owners) == 1:
                factors.append(self._entries(owners[0], axis.divisor))
            elif len(owners) > 1 and not any(owner.parts for owner in owners):
                factors.append(minimum(self._sweep(axis), product(self.tile(owner) for owner in owners)))
            else:
                whole = [o for o, (name, _) in zip(owners, axis.terms, strict=True) if name != o.piece]
                points.update({owner.name: self.tile(owner) for owner in whole})
        return product([*points.values(), *factors])

    def _sweep(self, axis: Axis) -> Expr:
        """``sum of (tile - 1) * |coefficient| + 1``: the run that a window sweeps."""
        reach = total((self.tile(self.program.owner(name)) - 1) * abs(c) for name, c in axis.terms)
        return reach + 1

    def _entries(self, dim: Dim, divisor: int) -> Expr:
        """Most runs of `divisor` indices that a tile of `dim` meets, tiles starting at multiples of their size."""

        def most(tile: int) -> int:
            return (divisor - gcd(tile, divisor) + tile - 1) // divisor + 1

        tile = self.tile(dim)
        return Table(f"entries({dim.name}, {divisor})", most, tile) if tile.variables else const(most(_value(tile)))

    def stage_bytes(self) -> Expr:
        """Bytes of one pipeline stage: the staged tensors that a looped reduction streams through. Unit: B."""
        return self._staged_bytes(looped=True)

    def kept_bytes(self) -> Expr:
        """Bytes of the staged tensors that a block loads once and keeps (attention's Q tile). Unit: B."""
        return self._staged_bytes(looped=False)

    def _staged_bytes(self, looped: bool) -> Expr:
        chosen = [t for t in self.program.tensors if t.staged and self.streams(t) is looped]
        return total(storage(self.region(t), t.dtype) for t in chosen)

    def streams(self, tensor: Tensor) -> bool:
        """Whether a block meets another part of `tensor` at each step of its loop."""
        return any(self.program.dim(name).looped for name in self.program.owners(tensor))

    def output_tile(self) -> Expr:
        """Elements of the output that one block accumulates."""
        return self.region(self.program.outputs[0])

    def held_bits(self) -> Expr:
        """Bits of the tiles that a block keeps in registers: its accumulators."""
        tiles = (
            product(self.tile(self.program.dim(name)) for name in held.dims) * held.dtype.bits
            for held in self.program.held
        )
        return total(tiles)

    def reads(self, tensor: Tensor) -> Expr:
        """Bytes of `tensor` that all blocks together read, each block what it touches, once. Unit: B.

        Blocks along a parallel dimension that does not index the tensor each read it anew. Ragged edges,
        padding and what the band masks are not read: where blocks do not overlap, the sum is the tensor itself.
        What a block reads again at another step of its loop is held on chip.
        """
        parts = self.program.components(tensor)
        decided = {dim.name for part in parts for dim in part.dims}
        again = [self.blocks_along(d) for d in self.program.parallel if d.name not in decided]
        split = self.program.split
        if split is not None and split.dim not in decided:
            again.append(self.split)  # not indexed by the reduction: each part of a split reads it
        elements = product(self._touched(part) for part in parts)
        if elements.variables:
            return product([storage(elements, tensor.dtype), *again])
        size = tensor.dtype.storage_bytes(_value(elements))
        return product([const(size, f"bytes({tensor.name})"), *again])

    def _touched(self, part: Component) -> Expr:
        """Entries of a component that blocks touch, summed over the blocks that decide them."""
        if part.plain:
            return as_expr(part.dims[0].extent)
        if part.by_piece:
            return self.blocks_along(part.dims[0])
        driver, split = part.driver, self.program.split
        tile = self.tile(driver) if driver is not None else const(1)
        cut = split.dim if split is not None and part.split_matters(split.dim) else ""
        parts = self.split if cut else const(1)
        if tile.variables and parts.variables:
            raise ValueError(f"the tile of {driver} and the split of {cut} together have no exact count")
        label = f"touched({', '.join(sorted(dim.name for dim in part.dims))})"
        if parts.variables:
            fixed = _value(tile)
            return Table(label, cache(lambda pieces: touched_total(part, fixed, pieces, cut)), parts)
        if tile.variables:
            return Table(label, cache(lambda size: touched_total(part, size)), tile)
        return as_expr(touched_total(part, _value(tile)))

    def traffic(self) -> Expr:
        """Bytes that the launch moves between the blocks and memory: what carver and the seed count. Unit: B.

        Inputs and tables by `reads`, each output written once. With the reduction split in s > 1 parts, s
        partial outputs are written and read once more by the kernel that adds them up.
        """
        return total([self.payload_bytes(), self.lookup_bytes(), self.partial_bytes()])

    def payload_bytes(self) -> Expr:
        """Bytes of inputs that all blocks read, and of outputs, each written once. Unit: B."""
        moved = [self.reads(t) for t in self.program.tensors if t.role is Role.INPUT]
        return total([*moved, *(as_expr(self.program.tensor_bytes(t)) for t in self.program.outputs)])

    def lookup_bytes(self) -> Expr:
        """Bytes of look-up tables that all blocks read. Unit: B."""
        return total(self.reads(t) for t in self.program.tensors if t.role is Role.TABLE)

    def partial_bytes(self) -> Expr:
        """Bytes of a split's partial outputs, written and read. Unit: B; 0 without a split."""
        split = self.program.split
        if split is None or split.variable not in self.free:
            return const(0)
        elements = [split.statistics, *(t.elements for t in self.program.outputs)]
        partials = 2 * sum(split.partial.storage_bytes(count) for count in elements)
        return select(self.split > 1, self.split * partials, 0)


def _piece_blocks(pieces: tuple[int, ...]) -> Callable[[int], int]:
    sizes = Counter(pieces)
    return cache(lambda tile: sum(count * -(-size // tile) for size, count in sizes.items()))


def _value(tree: Expr) -> int:
    """The value of a tree that has no variables."""
    return int(evaluate(tree, {}))


def storage(elements: Expr, dtype: DType) -> Expr:
    """Bytes of `elements` packed elements, rounded up to whole bytes."""
    return elements * (dtype.bits // 8) if dtype.bits % 8 == 0 else ceildiv(elements * dtype.bits, 8)
