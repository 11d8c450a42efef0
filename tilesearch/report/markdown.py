"""Documents as GitHub-flavoured markdown."""

from __future__ import annotations

from collections.abc import Iterable

from tilesearch.report.document import Block, Code, Document, Listing, Table


def markdown(document: Document, *, quiet: bool = False) -> str:
    """The document as markdown, blocks apart by a blank line."""
    return "\n\n".join(_block(block) for block in document.shown(quiet)) + "\n"


def _block(block: Block) -> str:
    if isinstance(block, Table):
        return _titled(block.title, _table(block))
    if isinstance(block, Listing):
        marks = [f"{n}." if block.numbered else "-" for n in range(1, len(block.items) + 1)]
        return _titled(block.title, [f"{mark} {_line(item)}" for mark, item in zip(marks, block.items, strict=True)])
    if isinstance(block, Code):
        return f"```{block.language}\n{block.text.rstrip()}\n```"
    return f"**{_line(block.text)}**" if block.strong else _line(block.text)


def _titled(title: str, lines: Iterable[str]) -> str:
    body = "\n".join(lines)
    return f"**{title}**\n\n{body}" if title else body


def _table(table: Table) -> Iterable[str]:
    yield _row(column.name for column in table.columns)
    yield "|" + "|".join("---:" if column.right else "---" for column in table.columns) + "|"
    for row in table.rows:
        yield _row(row)


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(_line(cell).replace("|", "\\|") for cell in cells) + " |"


def _line(text: str) -> str:
    return " ".join(text.split())
