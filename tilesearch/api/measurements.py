"""Measurements that a caller hands in, checked before anything is computed with them."""

from __future__ import annotations

from typing import Any

from tilesearch.errors import InputError, Issue
from tilesearch.specs.validation import shown

LEAST_US, MOST_US = 1e-6, 1e12
MOST_BYTES = 10**15
"""A picosecond to eleven days, and a petabyte: beyond them a figure is a slip of the pen."""


def measured_time(value: Any, where: str = "measured_us") -> float | None:
    """A time in us. Raises `InputError` for what is none."""
    if value is None:
        return None
    if not _is_number(value) or not LEAST_US <= value <= MOST_US:
        wanted = f"a time from {LEAST_US:g} to {MOST_US:g} microseconds is wanted"
        raise InputError(Issue(f"{wanted}, got {shown(value)}", where))
    return float(value)


def measured_count(value: Any, where: str = "measured_bytes") -> int | None:
    """A number of bytes. Raises `InputError` for what is none, or is not whole."""
    if value is None:
        return None
    if not _is_number(value) or not 1 <= value <= MOST_BYTES or value != int(value):
        raise InputError(Issue(f"a whole number of bytes from 1 to {MOST_BYTES} is wanted, got {shown(value)}", where))
    return int(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
