"""How many entries of a tensor the blocks of a launch touch, exactly, windows and masks included.

The axes of a tensor fall into components that share no dimension; the count of a block is the product of its
components' counts, and so is the sum over all blocks. A component is counted block by block: the block's run
of a flattened dimension is cut into boxes, each axis maps a box to a set of runs of entries, and the union of
the boxes' products is measured. Blocks that are translates of each other are counted once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import gcd, lcm, prod

import numpy as np
from numpy.typing import NDArray

from tilesearch.program.indexing import Axis, Band, Dim, Tensor, clamped_sum

Run = tuple[int, int]
"""The integers from the first, inclusive, to the second, exclusive."""

Runs = tuple[Run, ...]
"""Disjoint runs in ascending order."""

_CHUNK = 1 << 20


@dataclass(frozen=True)
class Component:
    """Axes that share dimensions, with every dimension that decides what a block touches of them."""

    axes: tuple[Axis, ...]
    dims: tuple[Dim, ...]
    band: Band | None

    @property
    def driver(self) -> Dim | None:
        """The dimension along which blocks touch different entries; None when all blocks touch the same."""
        parallel = [d for d in self.dims if not d.reduce]
        if len(parallel) > 1:
            raise ValueError(f"axes that mix {', '.join(d.name for d in parallel)} have no exact count by tiles")
        return parallel[0] if parallel else None

    @property
    def plain(self) -> bool:
        """Whether each index of the one dimension meets an entry of its own: blocks then share nothing."""
        if len(self.dims) != 1 or self.band is not None or not all(axis.plain for axis in self.axes):
            return False
        dim, used = self.dims[0], {axis.terms[0][0] for axis in self.axes}
        inside = all(axis.gathered or axis.extent >= dim.names[axis.terms[0][0]] for axis in self.axes)
        return inside and (dim.name in used or (bool(dim.parts) and {name for name, _ in dim.parts} <= used))

    @property
    def by_piece(self) -> bool:
        """Whether the entry is the number of the piece: one for each block."""
        return len(self.dims) == 1 and all(axis.terms[0][0] == self.dims[0].piece for axis in self.axes)

    def split_matters(self, name: str) -> bool:
        """Whether cutting dimension `name` into parts makes entries be touched by two of them."""
        return any(not axis.plain for axis in self.axes for used, _ in axis.terms if used == name)


def components(dims: Sequence[Dim], band: Band | None, tensor: Tensor) -> tuple[Component, ...]:
    """The axes of `tensor`, grouped so that no two groups share a dimension."""
    owner = {name: dim for dim in dims for name in dim.names}
    groups: list[tuple[list[Axis], set[str], bool]] = []
    for axis in tensor.axes:
        names = {owner[name].name for name, _ in axis.terms}
        masked = band is not None and tensor.masked and any(name == band.col for name, _ in axis.terms)
        if masked and band is not None:
            names.add(owner[band.row].name)
        joined = [group for group in groups if group[1] & names]
        groups = [group for group in groups if not group[1] & names]
        axes = [a for group in joined for a in group[0]]
        groups.append(([*axes, axis], names.union(*(g[1] for g in joined)), masked or any(g[2] for g in joined)))
    return tuple(
        Component(tuple(axes), tuple(d for d in dims if d.name in names), band if masked else None)
        for axes, names, masked in groups
    )


def touched(parts: Sequence[Component]) -> int:
    """Entries that some point of the operator meets, each counted once."""
    count = 1
    for part in parts:
        if part.by_piece:
            count *= sum(size > 0 for size in part.dims[0].pieces)
        elif part.plain:
            whole = prod(axis.extent for axis in part.axes)
            count *= min(part.dims[0].extent, whole) if any(a.gathered for a in part.axes) else part.dims[0].extent
        else:
            driver = part.driver
            count *= total(part, driver.extent if driver else 1)
    return count


def total(component: Component, tile: int, parts: int = 1, split: str = "") -> int:
    """Entries touched, summed over the blocks along the driver and over the `parts` of dimension `split`.

    `tile` is the number of indices of the driver that a block takes; the last block may be ragged.
    """
    if parts == 1:
        return _Count(component, {}).total(tile)
    extent = next(d.extent for d in component.dims if d.name == split)
    bounds = [part * extent // parts for part in range(parts + 1)]
    runs = Counter(pairwise(bounds))
    return sum(n * _Count(component, {split: run}).total(tile) for run, n in runs.items() if run[0] < run[1])


@dataclass(frozen=True)
class _Reach:
    """Where one axis goes: entry = ``(step * digit + w) // divisor`` for w in `window`, kept within `clip`."""

    digit: int | None
    step: int
    window: Runs
    divisor: int
    clip: Run

    @property
    def interior(self) -> tuple[int, int]:
        """The values of the digit, first and last, at which no entry of the window is clipped."""
        if self.step == 0:
            return 0, 2**62
        if self.step < 0:
            return 0, -1
        first = -((self.window[0][0] - self.clip[0]) // self.step)
        return max(0, first), (self.clip[1] - self.window[-1][1]) // self.step

    def entries(self, digits: Sequence[Run]) -> Runs:
        """The entries that a box of digit values meets."""
        low, high = (0, 1) if self.digit is None else digits[self.digit]
        width = min(b - a for a, b in self.window)
        if high - low == 1 or width >= abs(self.step):
            ends = (self.step * low, self.step * (high - 1))
            runs = [(a + min(ends), b + max(ends)) for a, b in self.window]
        else:
            runs = [(a + self.step * v, b + self.step * v) for v in range(low, high) for a, b in self.window]
        inside = [(max(a, self.clip[0]), min(b, self.clip[1])) for a, b in runs]
        if self.divisor > 1:
            inside = [(a // self.divisor, (b - 1) // self.divisor + 1) for a, b in inside if a < b]
        return _merged(inside)


class _Count:
    """Counts one component; `limits` narrows dimensions that are summed over to a run of their indices."""

    def __init__(self, component: Component, limits: dict[str, Run]) -> None:
        self.driver = component.driver
        self.limits = limits
        self.component = component
        driver = self.driver
        parts = (driver.parts or ((driver.name, driver.extent),)) if driver is not None else (("", 1),)
        self.digits = {name: place for place, (name, _) in enumerate(parts)}
        self.radices = tuple(extent for _, extent in parts)
        self.reaches = tuple(self._reach(axis) for axis in component.axes)

    def total(self, tile: int) -> int:
        """The sum over blocks of `tile` indices of the driver."""
        extent = prod(self.radices)
        tile = min(tile, extent)
        if len(self.reaches) == len(self.radices) == 1 and self._is_ramp(self.reaches[0]):
            return self._ramp(self.reaches[0], extent, tile)
        whole, rest = divmod(extent, tile)
        count = sum(n * self._block(start, start + tile) for start, n in self._distinct(whole, tile))
        return count + (self._block(whole * tile, extent) if rest else 0)

    @staticmethod
    def _is_ramp(reach: _Reach) -> bool:
        return reach.step == reach.divisor == len(reach.window) == 1

    @staticmethod
    def _ramp(reach: _Reach, extent: int, tile: int) -> int:
        """A single sliding run, such as the keys that a causal mask leaves: the sum in closed form."""
        (low, high), (bottom, top) = reach.window[0], reach.clip
        whole, rest = divmod(extent, tile)
        ends = clamped_sum(whole, tile, tile - 1 + high - bottom, top - bottom)
        starts = clamped_sum(whole + (rest > 0), tile, low - bottom, top - bottom)
        last = clamped_sum(1, 1, extent - 1 + high - bottom, top - bottom) if rest else 0
        return ends + last - starts

    def _reach(self, axis: Axis) -> _Reach:
        component, dims = self.component, {n: d for d in self.component.dims for n in d.names}
        step, digit, clip = 0, None, (0, axis.extent * axis.divisor)
        window: Runs = ((axis.offset, axis.offset + 1),)
        for name, coefficient in axis.terms:
            band = component.band
            if band is not None and name == band.col:
                # A mask turns the column into a window that slides with the row.
                low, high = self.limits.get(name, (0, dims[name].extent))
                digit, step, window = self.digits[band.row], 1, ((band.low, band.high + 1),)
                clip = (max(low, clip[0]), min(high, clip[1]))
            elif name in self.digits:
                digit, step = self.digits[name], coefficient
            else:
                window = _swept(window, coefficient, self.limits.get(name, (0, dims[name].names[name])))
        return _on_lattice(_Reach(digit, step, window, axis.divisor, clip))

    def _block(self, start: int, stop: int) -> int:
        """Entries of one block: the union of the boxes that make up its run."""
        boxes = [tuple(reach.entries(box) for reach in self.reaches) for box in _boxes(start, stop, self.radices)]
        return _union(boxes)

    def _distinct(self, count: int, tile: int) -> Iterator[tuple[int, int]]:
        """Starts of blocks that no translation makes equal, each with the number of blocks it stands for."""
        found: Counter[int] = Counter()
        for first in range(0, count, _CHUNK):
            starts = np.arange(first, min(count, first + _CHUNK), dtype=np.int64) * tile
            values, times = np.unique(self._canonical(starts, tile), return_counts=True)
            found.update(dict(zip(values.tolist(), times.tolist(), strict=True)))
        yield from found.items()

    def _canonical(self, starts: NDArray[np.int64], tile: int) -> NDArray[np.int64]:
        """Starts moved as far towards the origin as leaves what the block touches congruent.

        A digit may be moved when the block does not cross into another value of the digits outside it, and
        when nothing is clipped on the way.
        """
        result = np.zeros_like(starts)
        stays = np.ones(starts.shape, dtype=bool)
        inner = prod(self.radices)
        head, tail = starts, starts + tile - 1
        for place, radix in enumerate(self.radices):
            inner //= radix
            first, last = head // inner, tail // inner
            head, tail = head % inner, tail % inner
            base, top, period = self._freedom(place, radix)
            free = stays & (first >= base) & (last <= top)
            result += np.where(free, base + (first - base) % period, first) * inner
            stays &= first == last
        return result

    def _freedom(self, place: int, radix: int) -> tuple[int, int, int]:
        """The values of a digit between which blocks may be moved, and the steps they must be moved in."""
        using = [reach for reach in self.reaches if reach.digit == place]
        base = max((r.interior[0] for r in using), default=0)
        top = min((r.interior[1] for r in using), default=radix - 1)
        return base, min(top, radix - 1), lcm(*(r.divisor for r in using))


def _boxes(start: int, stop: int, radices: Sequence[int]) -> list[tuple[Run, ...]]:
    """The run of flattened indices as disjoint boxes of digit values, at most two for each digit and one more."""
    if len(radices) == 1:
        return [((start, stop),)]
    inner = prod(radices[1:])
    (first, head), (last, tail) = divmod(start, inner), divmod(stop, inner)
    if first == last:
        return [((first, first + 1), *box) for box in _boxes(head, tail, radices[1:])]
    found: list[tuple[Run, ...]] = []
    if head:
        found += [((first, first + 1), *box) for box in _boxes(head, inner, radices[1:])]
        first += 1
    if first < last:
        found.append(((first, last), *((0, radix) for radix in radices[1:])))
    if tail:
        found += [((last, last + 1), *box) for box in _boxes(0, tail, radices[1:])]
    return found


def _union(boxes: Sequence[tuple[Runs, ...]]) -> int:
    """Size of the union of products of runs, by inclusion and exclusion."""
    count = 0
    for size in range(1, len(boxes) + 1):
        sign = 1 if size % 2 else -1
        for chosen in combinations(boxes, size):
            count += sign * prod(_size(_common(runs)) for runs in zip(*chosen, strict=True))
    return count


def _size(runs: Runs) -> int:
    return sum(high - low for low, high in runs)


def _common(sets: Sequence[Runs]) -> Runs:
    result = sets[0]
    for other in sets[1:]:
        pairs = ((max(a, c), min(b, d)) for a, b in result for c, d in other)
        result = tuple((low, high) for low, high in pairs if low < high)
    return result


def _merged(runs: Sequence[Run]) -> Runs:
    """The same integers as disjoint runs in order."""
    result: list[Run] = []
    for low, high in sorted(run for run in runs if run[0] < run[1]):
        if result and low <= result[-1][1]:
            result[-1] = (result[-1][0], max(high, result[-1][1]))
        else:
            result.append((low, high))
    return tuple(result)


def _swept(window: Runs, step: int, run: Run) -> Runs:
    """What `window` covers when it is moved by `step` times each integer of `run`."""
    low, high = run
    ends = (step * low, step * (high - 1))
    if min(b - a for a, b in window) >= abs(step):
        return _merged([(a + min(ends), b + max(ends)) for a, b in window])
    return _merged([(a + step * v, b + step * v) for v in range(low, high) for a, b in window])


def _on_lattice(reach: _Reach) -> _Reach:
    """The same reach counted in units of the spacing that all its entries share."""
    if reach.divisor > 1 or any(high - low > 1 for low, high in reach.window):
        return reach
    origin = reach.window[0][0]
    spacing = gcd(reach.step, *(low - origin for low, _ in reach.window))
    if spacing <= 1:
        return reach
    window = tuple(((low - origin) // spacing, (low - origin) // spacing + 1) for low, _ in reach.window)
    bounds = (-((origin - reach.clip[0]) // spacing), -((origin - reach.clip[1]) // spacing))
    return _Reach(reach.digit, reach.step // spacing, window, 1, bounds)
