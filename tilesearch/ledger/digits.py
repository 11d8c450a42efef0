"""The loops of a chain: which indices of one operator are which of the next, through what crosses between them.

What crosses is a run of entries in memory. The writer's axes cut it into digits, the reader's axes too; cut at the
strides of both, each digit belongs to one axis of either, and is one *loop* of the chain. An axis that is cut by one
neighbour is cut for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from math import prod
from operator import mul

from tilesearch.errors import InputError, Issue
from tilesearch.program.form import Tensor

_Digit = tuple[int, str, int]
"""A stage's place, a dimension or part of it, and the step of the index at which the digit begins."""


@dataclass(frozen=True)
class Edge:
    """The tensor `out` of the stage at the place `before` is the tensor `operand` of the one at `after`."""

    before: int
    out: Tensor
    after: int
    operand: Tensor

    @property
    def sides(self) -> tuple[tuple[int, Tensor], tuple[int, Tensor]]:
        """Both ends."""
        return (self.before, self.out), (self.after, self.operand)


@dataclass
class Loop:
    """One loop of a chain: the names it goes by, as (place of the stage, name), and the edges that it crosses."""

    extent: int
    names: set[tuple[int, str]] = field(default_factory=set)
    crossings: set[int] = field(default_factory=set)


def regrouped(shape: Sequence[int], other: Sequence[int]) -> bool:
    """Whether two shapes hold the same entries and differ, if at all, in neighbouring axes joined or cut.

    Between two borders that they share, one of them has a single axis: ``[4, 8, 5]`` and ``[32, 5]`` do, ``[4, 8]``
    and ``[8, 4]`` do not.
    """
    if prod(shape) != prod(other):
        return False
    borders = [_borders(shape), _borders(other)]
    shared = sorted(borders[0] & borders[1])
    return all(
        min(sum(low < border < high for border in side) for side in borders) == 0 for low, high in pairwise(shared)
    )


def _borders(shape: Sequence[int]) -> set[int]:
    return set(accumulate(reversed(shape), mul, initial=1))


def linked(edges: Sequence[Edge]) -> tuple[Loop, ...]:
    """The loops of a chain, in the order in which the first edge that has them goes through memory, outermost first.

    Raises `InputError` where two stages cut the same entries so that neither cut fits into the other.
    """
    cuts = _cuts(edges)
    loops: dict[_Digit, Loop] = {}
    for number, edge in enumerate(edges):
        ends = [_digits(cuts, place, tensor) for place, tensor in edge.sides]
        for extent, *digits in ((a[1], a[0], b[0]) for a, b in zip(*ends, strict=True)):
            known = list({id(loops[d]): loops[d] for d in digits if d in loops}.values()) or [Loop(extent)]
            one = known[0]
            for other in known[1:]:
                one.names |= other.names
                one.crossings |= other.crossings
                loops.update({digit: one for digit, loop in loops.items() if loop is other})
            loops.update(dict.fromkeys(digits, one))
            one.names |= {(place, name) for place, name, _ in digits}
            one.crossings.add(number)
    return tuple({id(loop): loop for loop in loops.values()}.values())


def _axes(tensor: Tensor) -> Iterator[tuple[str, int, int]]:
    """The long axes of a tensor, outermost first: name, extent, and entries between neighbours."""
    inner = tensor.elements
    for axis in tensor.axes:
        inner //= axis.extent
        if axis.extent > 1:
            yield axis.terms[0][0], axis.extent, inner


def _cuts(edges: Sequence[Edge]) -> dict[tuple[int, str], set[int]]:
    """Where the index of each axis that crosses is cut into digits: the steps at which they begin, 1 among them."""
    cuts: dict[tuple[int, str], set[int]] = {}
    for edge in edges:
        for place, tensor in edge.sides:
            cuts.update({(place, name): {1} for name, _, _ in _axes(tensor)})
    changed = True
    while changed:
        changed = False
        for edge in edges:
            steps = sorted(
                {
                    step * cut
                    for place, tensor in edge.sides
                    for name, _, step in _axes(tensor)
                    for cut in cuts[place, name]
                }
            )
            if any(outer % inner for inner, outer in pairwise(steps)):
                message = "the chain cuts the same entries in two ways, of which neither fits into the other"
                raise InputError(Issue(message, f"ops[{edge.after}].input_from"))
            for place, tensor in edge.sides:
                for name, extent, step in _axes(tensor):
                    new = {s // step for s in steps if step <= s < step * extent} - cuts[place, name]
                    cuts[place, name] |= new
                    changed = changed or bool(new)
    return cuts


def _digits(cuts: dict[tuple[int, str], set[int]], place: int, tensor: Tensor) -> list[tuple[_Digit, int]]:
    """The digits of a tensor, outermost first, with their extents."""
    found = []
    for name, extent, _ in _axes(tensor):
        steps = [*sorted(cuts[place, name]), extent]
        found += [((place, name, low), high // low) for low, high in reversed(list(pairwise(steps)))]
    return found
