"""Thread counts to try, threads and warps over a tile, steps and vector widths (carver notes, sections 8c and 8d)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce as fold
from math import ceil, gcd, prod

from tilesearch.models.carver.device import CarverDevice, bits_of
from tilesearch.models.carver.factors import divisors, prime_factors
from tilesearch.models.carver.graph import Node, Sizes
from tilesearch.models.carver.traffic import moved

MOST_THREADS = 1024
"""Most threads a block that carver tries, on every device."""

_VECTORS = (16, 8, 4, 2)
_VECTOR_BITS = 128
_STORE_ELEMENTS = 8
_STEPS = {16: 2, 8: 4}


class UnplacedFactorError(Exception):
    """A factor of the thread count fits on no axis: carver's assertion fails and its whole call ends."""


def block_sizes(tiles: Sequence[Sizes], rsteps: Sequence[Sizes], device: CarverDevice) -> tuple[int, ...]:
    """Thread counts in the order in which they are tried."""
    spaces = [prod(tile) for tile in tiles]
    space = fold(gcd, spaces)
    if space < device.warp_size * device.sm_partition and space == min(spaces):
        whole = fold(gcd, [s * prod(rstep) for s, rstep in zip(spaces, rsteps, strict=True)])
        found = [n for n in divisors(whole) if n % space == 0 and all(n % s == 0 or s % n == 0 for s in spaces)]
    else:
        found = list(divisors(space))
    return tuple(sorted((n for n in found if n <= MOST_THREADS), key=lambda n: _distance(n, device)))


def _distance(threads: int, device: CarverDevice) -> tuple[float, float]:
    """How far a count is from a warp for each quarter of the SM, then its share of idle lanes."""
    warps = -(-threads // device.warp_size)
    ratio = max(warps / device.sm_partition, device.sm_partition / warps)
    return ratio, (warps * device.warp_size - threads) / threads


def place(
    factors: Sequence[int],
    start: Sequence[int],
    allowed: Callable[[Sizes, int, int], bool],
    score: Callable[[Sizes], float],
    leftover: Callable[[int], bool],
) -> Sizes | None:
    """Multiply factors into the axes, the largest first, each on the allowed axis whose result scores least.

    Ties go to the lower axis. A factor that no axis takes is handed to `leftover`; None when that refuses it.
    """
    current = tuple(start)
    for factor in reversed(factors):
        options = []
        for axis in range(len(current)):
            if allowed(current, axis, factor):
                further = (*current[:axis], current[axis] * factor, *current[axis + 1 :])
                options.append((score(further), axis, further))
        if options:
            current = min(options)[2]
        elif not leftover(factor):
            return None
    return current


def spread_threads(node: Node, tile: Sizes, rstep: Sizes, threads: int, device: CarverDevice) -> tuple[Sizes, Sizes]:
    """DefaultPolicy: threads on each output axis and on each reduce axis.

    A factor goes to the output axis that leaves the threads least to read and store; where none takes it, to
    the last reduce axis that it divides. Raises `UnplacedFactorError` when no axis takes it.
    """
    write, read = device.bandwidth
    reducers = [1] * len(rstep)

    def score(counts: Sizes) -> float:
        part = [ceil(t / n) for t, n in zip(tile, counts, strict=True)]
        sizes = node.sizes(part)
        loads: float = 0
        for access in node.reads:
            loads += prod(access.trimmed(sizes)) / read
        return loads + moved(counts, node.output.shape, _STORE_ELEMENTS) / write

    def allowed(counts: Sizes, axis: int, factor: int) -> bool:
        return counts[axis] < tile[axis] and tile[axis] % (counts[axis] * factor) == 0

    def leftover(factor: int) -> bool:
        for axis in reversed(range(len(rstep))):
            if rstep[axis] % (reducers[axis] * factor) == 0:
                reducers[axis] *= factor
                return True
        return False

    counts = place(prime_factors(threads), (1,) * len(tile), allowed, score, leftover)
    if counts is None:
        raise UnplacedFactorError
    return counts, tuple(reducers)


def spread_warps(node: Node, tile: Sizes, threads: int, device: CarverDevice) -> Sizes | None:
    """TensorCorePolicy: the tile of one warp, or None when the thread count does not work out.

    The warp tile starts at one instruction and takes the factors of what a warp has to do. With no factor to
    place it is accepted as it is, even where the instruction does not divide the tile: one of carver's faults.
    """
    rows, columns = device.mma_shapes[-1]
    start = (*(1 for _ in tile[:-2]), rows, columns)
    space = prod(t // s for t, s in zip(tile, start, strict=True))
    warps, odd = divmod(threads, device.warp_size)
    if odd or not 0 < warps <= space or space % warps:
        return None
    read = device.bandwidth[1]

    def score(warp: Sizes) -> float:
        sizes = node.sizes(warp)
        total: float = 0
        for access in node.staged:
            total += prod(access.trimmed(sizes)) / read
        return total

    def allowed(warp: Sizes, axis: int, factor: int) -> bool:
        return tile[axis] % (warp[axis] * factor) == 0

    return place(prime_factors(space // warps), start, allowed, score, lambda _: False)


def output_step(tile: Sizes, counts: Sizes, bits: int) -> Sizes:
    """Elements that a thread takes in a row: several of a narrow output, on the last axis that has a multiple."""
    wanted = _STEPS.get(bits)
    step = [1] * len(tile)
    for axis in reversed(range(len(tile))):
        if wanted and tile[axis] // counts[axis] % wanted == 0:
            step[axis] = wanted
            break
    return tuple(step)


def vector_widths(node: Node, tile: Sizes, rstep: Sizes, threads: int) -> dict[str, int]:
    """The widest vector of each cached tensor that fits its last axis, its type and the thread count."""
    sizes = node.sizes(tile, rstep)
    widths = {}
    for access in node.staged:
        region = access.region(sizes)
        last = next((part for part in reversed(region) if part > 1), 1)
        for width in _VECTORS:
            aligned = prod(region) % (threads * width) == 0 and last % width == 0
            if aligned and bits_of(access.buffer.dtype) * width <= _VECTOR_BITS:
                widths[access.buffer.name] = width
                break
    return widths
