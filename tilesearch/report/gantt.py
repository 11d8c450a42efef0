"""Schedules as pictures: one row a task, the first iterations over one another, in text and as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from tilesearch.answers.schedule import ScheduleAnswer, TaskRow
from tilesearch.errors import InputError, Issue

_MOST_ITERATIONS = 4
_ORDER = ("MTE2", "MTE1", "Cube", "FixPipe", "Vector", "MTE3", "Scalar")
# Okabe and Ito's colours: told apart by everybody.
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7")


@dataclass(frozen=True)
class _Bar:
    """One task of one iteration: from `start` it holds its pipe until `held`, its result is there at `end`."""

    iteration: int
    start: int
    held: int
    end: int


@dataclass(frozen=True)
class _Row:
    pipe: str
    name: str
    bars: tuple[_Bar, ...]


def _rows(answer: ScheduleAnswer) -> tuple[list[_Row], int]:
    """The rows, by pipe, and the last cycle that they show. Enough iterations to see the steady state."""
    ii = answer.ii or 1
    count = min(max(-(-(answer.iteration or 1) // ii) + 1, 2), _MOST_ITERATIONS, max(answer.trips, 1))
    rows = [_Row(_pipe(t), t.name, _bars(t, ii, count)) for t in answer.tasks if t.start is not None]
    rows.sort(key=lambda row: (_ORDER.index(row.pipe) if row.pipe in _ORDER else len(_ORDER), row.bars[0].start))
    return rows, max(bar.end for row in rows for bar in row.bars)


def _pipe(task: TaskRow) -> str:
    """The pipe under which a task is shown: of several, the one that does the work."""
    known = [p for p in ("Cube", "Vector", "FixPipe", *_ORDER) if p in task.pipes]
    return known[0] if known else "-"


def _bars(task: TaskRow, ii: int, count: int) -> tuple[_Bar, ...]:
    start = task.start or 0
    places = [(t, start + t * ii) for t in range(count)]
    return tuple(_Bar(t, s, s + task.interval, s + max(task.latency, task.interval)) for t, s in places)


def text_gantt(answer: ScheduleAnswer, width: int = 96) -> list[str]:
    """The picture in lines of text: digits are the iteration that holds the pipe, dots its way to the result."""
    if not answer.starts or answer.ii is None:
        return []
    rows, end = _rows(answer)
    names = max(len(f"{row.pipe:8}{row.name}") for row in rows)
    columns = max(width - names - 3, 16)
    scale = max(end / columns, 1)
    lines = [f"{f'{row.pipe:8}{row.name}':{names}} |{_line(row.bars, scale, columns)}|" for row in rows]
    marks = [" "] * columns
    for at in range(0, end + 1, answer.ii):
        marks[min(int(at / scale), columns - 1)] = "^"
    lines.append(f"{'':{names}}  {''.join(marks).rstrip()}")
    lines.append(f"^ every period of {answer.ii} cycles; a column is {scale:.4g} cycles")
    return [*lines, "digits: the iteration that holds the pipe; dots: until its result is there"]


def _line(bars: Sequence[_Bar], scale: float, columns: int) -> str:
    cells = [" "] * columns
    for bar in bars:
        for column in range(int(bar.start / scale), min(-int(-bar.end // scale), columns)):
            if column * scale < bar.held:
                cells[column] = str(bar.iteration % 10)
            elif cells[column] == " ":
                cells[column] = "."
    return "".join(cells)


_ROW, _BAR, _LEFT, _TOP, _WIDE = 26, 18, 150, 44, 860


def svg_gantt(answer: ScheduleAnswer) -> str:
    """The picture as an SVG document: dark bars hold the pipe, pale ones last until the result is there."""
    if not answer.starts or answer.ii is None:
        return ""
    rows, end = _rows(answer)
    height = _TOP + _ROW * len(rows) + 34
    scale = _WIDE / end

    def x(cycles: int) -> str:
        return f"{_LEFT + cycles * scale:.2f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDE + 20} {height}" '
        f'font-family="Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif" font-size="12" role="img">',
        f"<title>Schedule with a period of {answer.ii} cycles</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text x="10" y="20" font-size="14">{escape(_headline(answer))}</text>',
    ]
    bottom = _TOP + _ROW * len(rows)
    for at in range(0, end + 1, answer.ii):
        parts.append(
            f'<line x1="{x(at)}" x2="{x(at)}" y1="{_TOP - 8}" y2="{bottom}" stroke="#999999" stroke-dasharray="3 3"/>'
        )
        parts.append(f'<text x="{x(at)}" y="{bottom + 16}" text-anchor="middle" fill="#555555">{at}</text>')
    for place, row in enumerate(rows):
        y = _TOP + place * _ROW
        parts.append(f'<text x="10" y="{y + 14}">{escape(f"{row.pipe}: {row.name}")}</text>')
        for bar in row.bars:
            parts += _rectangles(bar, y, scale)
    return "\n".join([*parts, "</svg>"]) + "\n"


_ZOOM = 2
"""Pixels of the PNG for one unit of the drawing."""


def png_gantt(answer: ScheduleAnswer) -> bytes:
    """The same picture as PNG. Raises `InputError` where the extra that renders it is not installed."""
    try:
        import resvg_py
    except ImportError:
        hint = "pip install 'tilesearch[png]', or ask for --svg"
        raise InputError(Issue("PNG pictures need the package resvg-py", "--png", hint=hint)) from None
    drawn = svg_gantt(answer)
    return bytes(resvg_py.svg_to_bytes(svg_string=drawn, zoom=_ZOOM)) if drawn else b""


def _rectangles(bar: _Bar, y: int, scale: float) -> list[str]:
    colour = _COLOURS[bar.iteration % len(_COLOURS)]
    left = _LEFT + bar.start * scale
    held, whole = ((end - bar.start) * scale for end in (bar.held, bar.end))
    label = f"iteration {bar.iteration}: {bar.start} to {bar.held}, result at {bar.end}"
    return [
        f"<g><title>{label}</title>",
        f'<rect x="{left:.2f}" y="{y}" width="{whole:.2f}" height="{_BAR}" fill="{colour}" opacity="0.3"/>',
        f'<rect x="{left:.2f}" y="{y}" width="{held:.2f}" height="{_BAR}" fill="{colour}"/>',
        f'<text x="{left + 3:.2f}" y="{y + 13}" fill="#ffffff">{bar.iteration}</text></g>',
    ]


def _headline(answer: ScheduleAnswer) -> str:
    text = answer.critical_cycle.text if answer.critical_cycle else ""
    return f"II {answer.ii} ({answer.status}), iteration {answer.iteration} cycles. {text}"
