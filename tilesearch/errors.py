"""Errors meant for people: what was wrong, where, the number and the limit, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches


@dataclass(frozen=True)
class Issue:
    """One thing that is wrong with an input.

    `where` is the dotted key (``space.block_m``) or a short place name, `source` the file it stands in,
    `hint` what to do about it.
    """

    message: str
    where: str = ""
    source: str = ""
    hint: str = ""

    def __str__(self) -> str:
        place = ": ".join(part for part in (self.source, self.where) if part)
        text = f"{place}: {self.message}" if place else self.message
        return f"{text} ({self.hint})" if self.hint else text


class TilesearchError(Exception):
    """Base of every error that this package raises on purpose."""

    exit_status = 2


class InputError(TilesearchError):
    """Bad input: all issues that were found, reported together."""

    def __init__(self, issues: Sequence[Issue] | Issue | str) -> None:
        if isinstance(issues, str):
            issues = [Issue(issues)]
        elif isinstance(issues, Issue):
            issues = [issues]
        self.issues: tuple[Issue, ...] = tuple(issues)
        super().__init__("\n".join(str(issue) for issue in self.issues))


class InfeasibleError(InputError):
    """A question about a tile that no tile answers: nothing fits."""

    exit_status = 1


class UnknownLimitError(TilesearchError):
    """An answer needs a number that is not known for this device."""

    exit_status = 3


class UnsupportedError(TilesearchError):
    """An engine cannot express a problem (for example an integer that passes its range)."""


def suggest(word: str, allowed: Sequence[str]) -> str:
    """A hint that names the nearest valid spelling, or lists what is allowed."""
    lowered = {name.lower(): name for name in reversed(allowed)}  # of two that differ in case, the first
    close = get_close_matches(word.lower(), lowered, n=1, cutoff=0.6)
    if close:
        return f"did you mean {lowered[close[0]]!r}?"
    shown = ", ".join(sorted(allowed)[:40])
    return f"allowed: {shown}{', …' if len(allowed) > 40 else ''}"
