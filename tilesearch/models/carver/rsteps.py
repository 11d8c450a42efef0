"""Reduction steps: the candidates, the step that the search uses, and the climb that both policies grow by.

One step per reduce axis and node (carver notes, sections 5 and 8b).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilesearch.models.carver.device import CarverDevice
from tilesearch.models.carver.factors import divisors
from tilesearch.models.carver.graph import Node, Sizes
from tilesearch.models.carver.traffic import contig

Candidates = tuple[Sizes, ...]
Score = Callable[[Sizes], float]

_LARGE_PRIME = 64


def candidates(extent: int) -> Sizes:
    """DefaultPolicy's steps of an axis: the divisors, or the powers of two below a prime too large to be one step."""
    found = divisors(extent)
    if len(found) == 2 and extent > _LARGE_PRIME:
        return tuple(1 << i for i in range(extent.bit_length()))
    return found


def similarity(run: int, transaction: int) -> float:
    """How near a run is to a transaction: one when equal, towards zero on both sides."""
    return (2 * run * transaction) / (run * run + transaction * transaction)


def advance(steps: Candidates, position: Sizes, score: Score) -> Sizes | None:
    """The best of the positions that are one candidate further on one axis, the first axis on ties; None at the end."""
    found: list[tuple[float, Sizes]] = []
    for axis, place in enumerate(position):
        if place + 1 < len(steps[axis]):
            further = (*position[:axis], place + 1, *position[axis + 1 :])
            found.append((score(at(steps, further)), further))
    return max(found, key=lambda pair: pair[0])[1] if found else None


def at(steps: Candidates, position: Sizes) -> Sizes:
    """The steps that stand at a position."""
    return tuple(axis[place] for axis, place in zip(steps, position, strict=True))


def climb(node: Node, steps: Candidates, device: CarverDevice) -> Sizes:
    """From the smallest steps to the first local maximum of how well the inputs' runs fill a read transaction."""
    ones = (1,) * len(node.space)

    def score(rstep: Sizes) -> float:
        sizes = node.sizes(ones, rstep)
        return sum(
            similarity(
                contig(access.trimmed(sizes), access.buffer.shape),
                device.read_bytes // access.buffer.nbytes,
            )
            for access in node.reads
        )

    position: Sizes = (0,) * len(steps)
    best = score(at(steps, position))
    while (further := advance(steps, position, score)) is not None:
        reached = score(at(steps, further))
        if reached <= best:
            break
        position, best = further, reached
    return at(steps, position)


def grow(steps: Candidates, start: Sizes, score: Score, fits: Callable[[Sizes], bool]) -> Sizes:
    """Advance by the largest score while the step fits; the first that does not ends the growth.

    Only multiples of the start are candidates; without any on some axis nothing changes.
    """
    multiples = tuple(
        tuple(step for step in axis if step % first == 0) for axis, first in zip(steps, start, strict=True)
    )
    if not all(multiples):
        return start
    position = tuple(axis.index(first) for axis, first in zip(multiples, start, strict=True))
    while (further := advance(multiples, position, score)) is not None and fits(at(multiples, further)):
        position = further
    return at(multiples, position)


def runs(regions: Sequence[tuple[Sizes, Sizes]]) -> int:
    """The sum of the contiguous runs of (region, shape) pairs: the score of growth."""
    return sum(contig(region, shape) for region, shape in regions)
