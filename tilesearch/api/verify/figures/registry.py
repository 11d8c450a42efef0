"""The figures by id: each is a function that computes it with this package's own API, never a constant."""

from __future__ import annotations

import re
from collections.abc import Callable

Figure = int | float | str
Compute = Callable[..., Figure]

_HOLE = "([A-Za-z0-9_]+)"
_FIGURES: dict[re.Pattern[str], Compute] = {}

NOT_BUILT: dict[str, str] = {}
"""What the figures still wait for, by the beginning of their ids. Who builds a part takes its line out."""


def figure(template: str) -> Callable[[Compute], Compute]:
    """Register the function of an id. ``{}`` in the template is a word or number, given as a string argument."""
    pattern = re.compile(_HOLE.join(map(re.escape, template.split("{}"))))

    def register(compute: Compute) -> Compute:
        if pattern in _FIGURES:
            raise ValueError(f"the figure {template!r} is registered twice")
        _FIGURES[pattern] = compute
        return compute

    return register


def find_figure(identifier: str) -> Callable[[], Figure] | None:
    """How to compute the figure of that id; None where no function is registered for it.

    Of several templates that match, the one with the longest text of its own counts.
    """
    matches = [m for pattern in _FIGURES if (m := pattern.fullmatch(identifier)) is not None]
    if not matches:
        return None
    best = max(matches, key=lambda match: len(match.re.pattern.replace(_HOLE, "")))
    return lambda: _FIGURES[best.re](*best.groups())


def missing_part(identifier: str) -> str:
    """The reason why a figure is skipped."""
    for beginning, part in NOT_BUILT.items():
        if identifier.startswith(beginning):
            return f"not built yet: {part}"
    return "no figure of this id is known to this version"
