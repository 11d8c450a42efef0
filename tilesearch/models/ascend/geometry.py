"""How the rows of a copy lie in memory: contiguous on both sides, or so and so wide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Side:
    """One side of a copy: extents and strides in elements, outermost first. An extent of None is not known."""

    extents: tuple[int | None, ...]
    strides: tuple[int, ...]


def modes(side: Side) -> list[tuple[int | None, int]]:
    """The side as few (extent, stride) as describe it, outermost first.

    Axes of extent 1 go; an axis joins the one inside it where ``stride_out = stride_in * extent_in``; an
    innermost stride other than 1 becomes rows of one element.
    """
    kept = [(e, s) for e, s in zip(side.extents, side.strides, strict=True) if e != 1]
    joined: list[tuple[int | None, int]] = []
    for extent, stride in reversed(kept):
        if joined:
            inner, inner_stride = joined[0]
            # A row count that is not known still joins: whatever it is, the rows follow one another.
            if inner is not None and stride == inner_stride * inner:
                joined[0] = (None if extent is None else extent * inner, inner_stride)
                continue
        joined.insert(0, (extent, stride))
    if joined and joined[-1][1] != 1:
        joined.append((1, 1))
    return joined or [(1, 1)]


def row_width(sides: Sequence[Side], element_bits: int) -> int | None:
    """The width in bytes of the rows that a copy moves: None where all is contiguous, 0 where it is not known.

    The narrower of the sides' rows counts; where only one side is strided, its own. More than rows of rows
    on a side is treated as rows of unknown width.
    """
    widths: list[int] = []
    for side in sides:
        found = modes(side)
        if len(found) == 1:
            continue
        row = found[-1][0]
        widths.append(0 if len(found) > 2 or row is None else row * element_bits // 8)
    if not widths:
        return None
    return 0 if 0 in widths else min(widths)


def elements(extents: Sequence[int | None], upper: Sequence[int | None], buffer: Sequence[int | None]) -> int:
    """How many elements a region has: each axis by its extent, else its upper bound within the buffer, else 1."""
    count = 1
    for extent, bound, size in zip(extents, upper, buffer, strict=True):
        if extent is not None:
            count *= extent
        elif bound is not None and size is not None:
            count *= min(bound, size)
        else:
            count *= bound or size or 1
    return count
