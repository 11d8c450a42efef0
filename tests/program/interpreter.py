"""Brute force: an operator walked point by point on a tiny shape, counting what is met.

Nothing here knows the program form or its formulas. A walk lists the blocks of a launch, each as the points that
it visits; `touch` says which entry of which tensor a point meets, `work` which operations it takes part in.
Counting is by sets of entries.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Point = tuple[Any, ...]


@dataclass
class Walk:
    """Loops over an operator. `touch` maps tensors to entries; padding and masked entries are left out.

    `work` maps a term to the operations of a point: their identity and their number. Operations with one
    identity are done once however many points name them.
    """

    blocks: list[list[Point]]
    touch: Callable[[Point], Mapping[str, Hashable]]
    work: Callable[[Point], Mapping[str, tuple[Hashable, int]]]


@dataclass
class Account:
    """What was counted: blocks, entries that blocks read (summed over blocks), distinct entries, operations."""

    grid: int
    reads: dict[str, int] = field(default_factory=dict)
    once: dict[str, int] = field(default_factory=dict)
    work: dict[str, int] = field(default_factory=dict)


def count(walk: Walk) -> Account:
    """Walk every point."""
    account = Account(len(walk.blocks))
    everything: dict[str, set[Hashable]] = {}
    operations: dict[str, dict[Hashable, int]] = {}
    for block in walk.blocks:
        met: dict[str, set[Hashable]] = {}
        for point in block:
            for tensor, entry in walk.touch(point).items():
                met.setdefault(tensor, set()).add(entry)
            for term, (identity, number) in walk.work(point).items():
                operations.setdefault(term, {})[identity] = number
        for tensor, entries in met.items():
            account.reads[tensor] = account.reads.get(tensor, 0) + len(entries)
            everything.setdefault(tensor, set()).update(entries)
    account.once = {tensor: len(entries) for tensor, entries in everything.items()}
    account.work = {term: sum(numbers.values()) for term, numbers in operations.items()}
    return account


def chunks(indices: Iterable[Any], size: int) -> list[list[Any]]:
    """Consecutive runs of `size`, the last one shorter."""
    items = list(indices)
    return [items[start : start + size] for start in range(0, len(items), size)]


def shares(extent: int, parts: int) -> list[list[int]]:
    """The indices of `extent` dealt to `parts` in order, as evenly as whole indices allow."""
    dealt: list[list[int]] = [[] for _ in range(parts)]
    for index in range(extent):
        dealt[next(p for p in range(parts) if index < (p + 1) * extent // parts)].append(index)
    return dealt
