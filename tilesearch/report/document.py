"""What a report consists of, whatever it is printed as: lines of text, lists and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Column:
    """A column of a table.

    `drop` says how soon the column gives way on a narrow terminal: 0 never, larger sooner. A column that
    `wraps` breaks its text over lines; the others stay on one.
    """

    name: str
    right: bool = False
    drop: int = 0
    wraps: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of text under columns. `title` stands above."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    title: str = ""


@dataclass(frozen=True)
class Text:
    """A paragraph. A `note` is left out when the user asks for the answer alone."""

    text: str
    note: bool = False
    strong: bool = False


@dataclass(frozen=True)
class Listing:
    """A list of short texts under a title; with `numbered` they are counted from 1."""

    title: str
    items: Sequence[str]
    note: bool = False
    numbered: bool = False


@dataclass(frozen=True)
class Code:
    """Text that stands as it is, line by line: a program, a file."""

    text: str
    language: str = ""


Block = Table | Text | Listing | Code


@dataclass
class Document:
    """The blocks of a report, top to bottom."""

    blocks: list[Block] = field(default_factory=list)

    def add(self, *blocks: Block) -> Document:
        """Append blocks; lists and tables without entries are left out."""
        self.blocks += [b for b in blocks if not _empty(b)]
        return self

    def shown(self, quiet: bool) -> list[Block]:
        """The blocks to print."""
        return [b for b in self.blocks if not (quiet and isinstance(b, Text | Listing) and b.note)]


def _empty(block: Block) -> bool:
    if isinstance(block, Table):
        return not block.rows
    return not (block.items if isinstance(block, Listing) else block.text)


def notes(texts: Sequence[str]) -> Listing:
    """What else there is to say of an answer."""
    return Listing("notes", texts, note=True)
