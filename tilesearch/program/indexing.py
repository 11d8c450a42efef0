"""How a tensor is indexed: dimensions, axes, and the band that a mask keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import prod

from tilesearch.specs.dtypes import DType


class Role(StrEnum):
    """What a tensor is to the operator."""

    INPUT = "input"  # read from memory; a tile of it may be staged on chip
    OUTPUT = "output"  # written to memory once
    TABLE = "table"  # a look-up table: read by every block that covers any of its indices
    INTERMEDIATE = "intermediate"  # lives on chip only


@dataclass(frozen=True)
class Dim:
    """A loop dimension. `variable` is the decision variable that tiles it, None when a block takes one index.

    A `reduce` dimension is summed over: blocks do not partition it unless a split variable says so; a block
    walks through it in steps of its tile. `whole` means that one step of one block covers the full extent (a
    head dimension, say).

    `parts` names the digits of a flattened dimension, outermost first, with their extents: m of an implicit
    GEMM is ``(("image", 32), ("oh", 56), ("ow", 56))``. Axes may then be indexed by a part.

    `pieces` are the sizes of consecutive runs that no tile straddles (the rows of each expert, say); `piece`
    is the name by which an axis is indexed with the number of the run.
    """

    name: str
    extent: int
    variable: str | None = None
    reduce: bool = False
    whole: bool = False
    parts: tuple[tuple[str, int], ...] = ()
    pieces: tuple[int, ...] = ()
    piece: str = ""

    @property
    def names(self) -> dict[str, int]:
        """Every name that an index may use for this dimension, with the extent it stands for."""
        names = {self.name: self.extent, **dict(self.parts)}
        return {**names, self.piece: len(self.pieces)} if self.piece else names

    @property
    def looped(self) -> bool:
        """Whether a block walks through the dimension in steps: what streams past it is staged anew each step."""
        return self.reduce and not self.whole


def flattened(name: str, parts: Mapping[str, int], variable: str | None = None, reduce: bool = False) -> Dim:
    """A dimension made of `parts`, outermost first, tiled as one."""
    return Dim(name, prod(parts.values()), variable, reduce, parts=tuple(parts.items()))


@dataclass(frozen=True)
class Axis:
    """One axis of a tensor: its size and its index, ``(sum of coefficient * dim + offset) // divisor``.

    An index that falls outside ``[0, extent)`` reads padding, which costs no memory traffic. A divisor says
    that neighbouring indices share an entry: a scale for each block of k, a page for each run of keys.
    `gathered` axes are indexed through a table whose content is data: which entry is unknown, only that
    different indices of one tile meet different entries.
    """

    extent: int
    terms: tuple[tuple[str, int], ...]
    offset: int = 0
    divisor: int = 1
    gathered: bool = False

    @property
    def plain(self) -> bool:
        """Whether different indices of the one dimension behind it meet different entries, all inside."""
        return len(self.terms) == 1 and self.terms[0][1] == 1 and self.offset == 0 and self.divisor == 1


@dataclass(frozen=True)
class Tensor:
    """A tensor in memory: its dtype, role, axes in memory order (last is contiguous).

    `staged` tensors occupy shared memory while a block works on them, once for each pipeline stage when they
    are indexed by a looped reduction, once in all otherwise; others go straight to registers. `masked` tensors
    are read only where the program's band lets a point of the block meet them. `view` is the shape that the
    user knows the tensor by, where axes that lie next to each other in memory are indexed as one.
    """

    name: str
    role: Role
    dtype: DType
    axes: tuple[Axis, ...]
    staged: bool = False
    masked: bool = True
    view: tuple[int, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape that the user knows."""
        return self.view or tuple(axis.extent for axis in self.axes)

    @property
    def dims(self) -> frozenset[str]:
        """Names that index the tensor: of dimensions, or of their parts."""
        return frozenset(name for axis in self.axes for name, _ in axis.terms)

    @property
    def elements(self) -> int:
        """Number of elements."""
        return prod(axis.extent for axis in self.axes)


@dataclass(frozen=True)
class Band:
    """The points that a mask keeps: ``low <= col - row <= high``, `row` and `col` being names of dimensions.

    `row` may be a part of a flattened dimension. Blocks neither compute nor read beyond the band.
    """

    row: str
    col: str
    low: int
    high: int


def band_points(band: Band, rows: int, cols: int) -> int:
    """Points of a rows x cols rectangle that `band` keeps: sum over rows of the clipped run of columns."""
    return clamped_sum(rows, 1, band.high + 1, cols) - clamped_sum(rows, 1, band.low, cols)


def clamped_sum(count: int, step: int, start: int, top: int) -> int:
    """``sum over i < count of clamp(start + i * step, 0, top)`` for step > 0, in closed form."""
    first = min(count, max(0, -(start // step)))  # the first i whose value is not negative
    last = min(count, max(first, -((start - top) // step)))  # the first i whose value reaches the top
    ramp = last - first
    return ramp * start + step * ramp * (first + last - 1) // 2 + (count - last) * top
