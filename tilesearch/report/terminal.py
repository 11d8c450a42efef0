"""Documents as text for a terminal: the same whether it is shown or piped, but for bold headings."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence

from tilesearch.report.document import Block, Code, Column, Document, Listing, Table

MIN_WIDTH = 40
_GAP = 2
_LEAST_WRAPPED = 28  # a column of wrapped text narrower than this is hard to read


def terminal(document: Document, *, width: int = 100, bold: bool = False, quiet: bool = False) -> str:
    """The document at a width in columns; `bold` for a terminal that can show it."""
    width = max(width, MIN_WIDTH)
    return "\n\n".join(_block(block, width, bold) for block in document.shown(quiet)) + "\n"


def _block(block: Block, width: int, bold: bool) -> str:
    if isinstance(block, Table):
        return _titled(block.title, _table(block, width, bold), width, bold)
    if isinstance(block, Listing):
        items = [_item(block, number, text, width) for number, text in enumerate(block.items, start=1)]
        return _titled(block.title, "\n".join(items), width, bold)
    if isinstance(block, Code):
        return block.text.rstrip("\n")
    return _strong(_wrap(block.text, width), bold and block.strong)


def _titled(title: str, body: str, width: int, bold: bool) -> str:
    return f"{_strong(_wrap(f'{title}:', width), bold)}\n{body}" if title else body


def _strong(text: str, bold: bool) -> str:
    return f"\x1b[1m{text}\x1b[0m" if bold else text


def _item(block: Listing, number: int, text: str, width: int) -> str:
    mark = f"{number}. " if block.numbered else "- "
    return _wrap(text, width, f"  {mark}", "  " + " " * len(mark))


def _wrap(text: str, width: int, first: str = "", rest: str = "") -> str:
    lines = textwrap.wrap(
        " ".join(text.split()), width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    )
    return "\n".join(lines)


def _table(table: Table, width: int, bold: bool) -> str:
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text as RichText

    kept, hidden, tight = _fitting(table, width)
    shown = RichTable(
        box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False, header_style="bold" if bold else ""
    )
    for index in kept:
        column = table.columns[index]
        shown.add_column(
            RichText(column.name),
            justify="right" if column.right else "left",
            no_wrap=not (column.wraps or tight),
            overflow="fold",
        )
    for row in table.rows:
        shown.add_row(*(RichText(row[index]) for index in kept))
    console = Console(
        file=io.StringIO(), width=width, force_terminal=bold, color_system="standard" if bold else None, highlight=False
    )
    with console.capture() as capture:
        console.print(shown)
    lines = [line.rstrip() for line in capture.get().rstrip("\n").splitlines()]
    if hidden:
        names = ", ".join(table.columns[index].name for index in hidden)
        lines.append(_wrap(f"(hidden at {width} columns: {names})", width))
    return "\n".join(lines)


def _fitting(table: Table, width: int) -> tuple[list[int], list[int], bool]:
    """The columns that fit, those that give way, and whether even so there is too little room."""
    need = [_need(table, index, column) for index, column in enumerate(table.columns)]
    kept = list(range(len(table.columns)))
    while sum(need[i] for i in kept) + _GAP * (len(kept) - 1) > width:
        droppable = [i for i in kept if table.columns[i].drop]
        if not droppable:
            return kept, _others(table, kept), True
        kept.remove(max(droppable, key=lambda i: table.columns[i].drop))
    return kept, _others(table, kept), False


def _others(table: Table, kept: Sequence[int]) -> list[int]:
    return [i for i in range(len(table.columns)) if i not in kept]


def _need(table: Table, index: int, column: Column) -> int:
    from rich.cells import cell_len

    cells: Sequence[int] = [cell_len(row[index]) for row in table.rows]
    longest = max(cells, default=0)
    if column.wraps:
        longest = min(longest, _LEAST_WRAPPED)
    return max(longest, cell_len(column.name))
