"""Footprint, grid and traffic of a tile, derived from the program form and nothing else."""

from __future__ import annotations

from tilesearch.program.form import Axis, Dim, Program, Role, Tensor
from tilesearch.rules.expr import Expr, Var, as_expr, ceildiv, const, product, select, total
from tilesearch.specs.dtypes import DType


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
        """Blocks that partition `dim`."""
        if dim.whole:
            return const(1)
        extent = const(dim.extent, dim.name)
        return extent if dim.variable not in self.free else ceildiv(extent, self.tile(dim))

    def grid(self) -> Expr:
        """Blocks of the launch."""
        return product([*(self.blocks_along(d) for d in self.program.parallel), self.split])

    def region(self, tensor: Tensor) -> Expr:
        """Elements of `tensor` that one step of one block touches (unclipped: what is allocated for it)."""
        return product(self._span(axis) for axis in tensor.axes)

    def _span(self, axis: Axis) -> Expr:
        """``sum of (tile - 1) * |coefficient| + 1``: the window that an axis index sweeps."""
        if len(axis.terms) == 1 and abs(axis.terms[0][1]) == 1:
            return self.tile(self.program.dim(axis.terms[0][0]))
        reach = total((self.tile(self.program.dim(name)) - 1) * abs(c) for name, c in axis.terms)
        return reach + 1

    def stage_bytes(self) -> Expr:
        """Bytes of one pipeline stage: the staged tensors' regions. Unit: B."""
        return total(storage(self.region(t), t.dtype) for t in self.program.tensors if t.staged)

    def output_tile(self) -> Expr:
        """Elements of the output that one block accumulates."""
        return self.region(self.program.outputs[0])

    def reads(self, tensor: Tensor) -> Expr:
        """Bytes of `tensor` that all blocks together read: its size, once for each block that needs it again.

        Blocks along a parallel dimension that does not index the tensor each read it anew. Ragged edges are
        masked and cost nothing, so the sum over blocks of clipped regions is the tensor itself.
        """
        again = [self.blocks_along(d) for d in self.program.parallel if d.name not in tensor.dims]
        if not tensor.dims & {d.name for d in self.program.dims if d.reduce}:
            again.append(self.split)  # not indexed by the reduction: each part of a split reads it
        size = const(tensor.dtype.storage_bytes(tensor.elements), f"bytes({tensor.name})")
        return product([size, *again])

    def traffic(self) -> Expr:
        """Bytes that the launch moves between the blocks and memory: what carver and the seed count. Unit: B.

        Inputs and tables by `reads`, each output written once. With the reduction split in s > 1 parts, s
        partial outputs are written and read once more by the kernel that adds them up.
        """
        program = self.program
        moved = [self.reads(t) for t in program.tensors if t.role in (Role.INPUT, Role.TABLE)]
        moved += [as_expr(t.dtype.storage_bytes(t.elements)) for t in program.outputs]
        return total([*moved, self.partial_bytes()])

    def partial_bytes(self) -> Expr:
        """Bytes of a split's partial outputs, written and read. Unit: B; 0 without a split."""
        split = self.program.split
        if split is None or split.variable not in self.free:
            return const(0)
        partials = 2 * sum(split.partial.storage_bytes(t.elements) for t in self.program.outputs)
        return select(self.split > 1, self.split * partials, 0)


def storage(elements: Expr, dtype: DType) -> Expr:
    """Bytes of `elements` packed elements, rounded up to whole bytes."""
    return elements * (dtype.bits // 8) if dtype.bits % 8 == 0 else ceildiv(elements * dtype.bits, 8)
