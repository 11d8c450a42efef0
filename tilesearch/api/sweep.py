"""Sweeping a bound over sizes, and finding the size at which it turns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from itertools import pairwise
from typing import Any, Literal

from tilesearch.answers.roofline import Flip, Sweep, SweepRow
from tilesearch.errors import InputError, Issue
from tilesearch.ledger import Bound
from tilesearch.specs.ops import MAX_EXTENT, OpSpec
from tilesearch.specs.validation import shown, validate

MAX_SIZES = 10_000
_MOST_DIGITS = 12
SweepLike = str | Mapping[str, Sequence[int]]
_RANGE = re.compile(r"(\d{1,12})\.\.(\d{1,12})")


def parse_sweep(sweep: SweepLike) -> tuple[list[str], list[int]]:
    """Keys and sizes: ``m=64,128``, ``m=16..8192`` (doubling), ``m=n=k=16..8192`` (all alike), ``shape.0=…``.

    In Python also ``{"m": [64, 128]}``. Raises `InputError` for what is no such thing.
    """
    if not isinstance(sweep, str):
        if not isinstance(sweep, Mapping) or len(sweep) != 1:
            raise InputError(Issue("one entry is wanted", "sweep", hint='for example {"m": [64, 128]}'))
        name, values = next(iter(sweep.items()))
        return _keys(str(name)), _checked(list(values) if isinstance(values, Iterable) else [values])
    head, sign, tail = sweep.rpartition("=")
    if not sign:
        raise InputError(Issue(f"{sweep!r} is no assignment", "sweep", hint="write m=16..8192 or m=64,128,256"))
    return _keys(head), _checked(_sizes(tail.strip().strip("[]")))


def _keys(text: str) -> list[str]:
    keys = [part.strip() for part in text.split("=")]
    if not all(keys):
        raise InputError(Issue(f"{text!r} names no key of the operator", "sweep"))
    twice = next((key for place, key in enumerate(keys) if key in keys[:place]), None)
    if twice is not None:
        raise InputError(Issue(f"{twice} is named twice", "sweep"))
    return keys


def _sizes(text: str) -> list[Any]:
    span = _RANGE.fullmatch(text)
    if span is None:
        return [_size(item.strip()) for item in text.split(",")]
    low, high = int(span[1]), int(span[2])
    if not 1 <= low <= high:
        raise InputError(Issue(f"an ascending range is wanted, got {text}", "sweep"))
    sizes = [low]
    while sizes[-1] * 2 <= high:
        sizes.append(sizes[-1] * 2)
    return sizes if sizes[-1] == high else [*sizes, high]


def _size(text: str) -> Any:
    """A size, or the text as it stands: what is too long for one is shown and not read."""
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else text


def _checked(values: list[Any]) -> list[int]:
    wrong = [v for v in values if isinstance(v, bool) or not isinstance(v, int) or not 1 <= v <= MAX_EXTENT]
    if wrong or not values:
        got = f", got {shown(wrong[0])}" if wrong else ""
        raise InputError(Issue(f"sizes from 1 to {MAX_EXTENT} are wanted{got}", "sweep"))
    if len(values) > MAX_SIZES:
        raise InputError(Issue(f"{len(values)} sizes, at most {MAX_SIZES} are swept", "sweep"))
    return sorted(set(values))


def resized(op: OpSpec, keys: Sequence[str], size: int) -> OpSpec:
    """The operator with `keys` set to `size`; what the user left out takes its default anew.

    A key may reach into a list or a table: ``shape.0``, ``extents.m``.
    """
    table = deepcopy(op.model_dump(exclude_unset=True))
    for key in keys:
        _put(op, table, key, size)
    return validate(type(op), table, prefix="op")


def _put(op: OpSpec, table: dict[str, Any], key: str, size: int) -> None:
    first, *rest = key.split(".")
    sized = [name for name, value in op.model_dump().items() if isinstance(value, int | list | tuple | dict)]
    sized = [name for name in sized if not isinstance(getattr(op, name), bool)]
    if first not in sized:
        raise InputError(Issue(f"the operator has no size {first!r}", "sweep", hint=f"keys: {', '.join(sized)}"))
    if not rest:
        table[first] = size
        return
    inner = table.get(first, getattr(op, first))
    inner = list(inner) if isinstance(inner, tuple) else inner
    try:
        place: Any = int(rest[0]) if isinstance(inner, list) else rest[0]
        inner[place]  # only what exists may be swept
        inner[place] = size
    except (ValueError, IndexError, KeyError, TypeError):
        raise InputError(Issue(f"the operator has no key {key!r}", "sweep")) from None
    table[first] = inner


def sweep_bounds(op: OpSpec, sweep: SweepLike, bound_of: Callable[[OpSpec], Bound]) -> Sweep:
    """The bound at each size, and the sizes at which the class or the launch floor is crossed."""
    keys, sizes = parse_sweep(sweep)

    def at(size: int) -> Bound:
        return bound_of(resized(op, keys, size))

    bounds = [(size, at(size)) for size in sizes]
    flips = [
        flip
        for before, after in pairwise(bounds)
        for flip in (
            _flip("class", before, after, at, lambda bound: bound.kind),
            _flip("launch floor", before, after, at, lambda bound: "below" if bound.latency_bound else "above"),
        )
        if flip is not None
    ]
    return Sweep(keys=keys, rows=[_row(size, bound) for size, bound in bounds], flips=flips)


Sized = tuple[int, Bound]


def _flip(
    what: Literal["class", "launch floor"],
    before: Sized,
    after: Sized,
    at: Callable[[int], Bound],
    word: Callable[[Bound], str],
) -> Flip | None:
    """The first size at which `word` turns, by bisection; the later one where sizes between are not legal."""
    (low, first), (high, last) = before, after
    if word(first) == word(last):
        return None
    try:
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if word(at(middle)) == word(first) else (low, middle)
    except InputError:
        high = after[0]
    return Flip(what=what, size=high, before=word(first), after=word(last))


def _row(size: int, bound: Bound) -> SweepRow:
    ledger = bound.ledger
    return SweepRow(
        size=size,
        flops=ledger.flops,
        bytes=ledger.bytes,
        intensity=ledger.intensity,
        class_=bound.kind,
        sol_us=bound.sol_s * 1e6,
        latency_bound=bound.latency_bound,
    )
