"""Running the command line: one place for exit statuses, error messages and broken pipes."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence

import typer

from tilesearch.cli.command import Printable
from tilesearch.errors import TilesearchError

BAD_INPUT = 2
STOPPED = 3
BUG = 70
INTERRUPTED = 130
BROKEN_PIPE = 141

_UsageError: type[Exception] = typer.BadParameter.__mro__[2]  # ClickException, wherever Typer keeps it


class _OutputError(TilesearchError):
    """The answer cannot be written."""


def main() -> None:
    """The `tilesearch` command."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line; the exit status. Bad input never ends in a traceback, a bug does."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that lacks a character still gets the rest
    try:
        return _run(arguments)
    except TilesearchError as error:
        complain(str(error))
        return error.exit_status
    except _UsageError as error:
        return _usage(error)
    except TimeoutError as error:
        complain(str(error) or "stopped by the time limit with nothing settled")
        return STOPPED
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        _silence()
        return BROKEN_PIPE
    except Exception:
        sys.excepthook(*sys.exc_info())
        complain("this is a bug in tilesearch; please report it with the command and the traceback above")
        return BUG


def _run(arguments: Sequence[str]) -> int:
    from tilesearch.cli.app import app

    result = app(args=list(arguments), prog_name="tilesearch", standalone_mode=False)
    if not isinstance(result, Printable):
        return result if isinstance(result, int) else 0
    _print(result)
    return result.reply.status


def _print(result: Printable) -> None:
    import shutil

    from tilesearch.report import Format, render

    output, report = result.output, result.reply.report
    width = shutil.get_terminal_size(fallback=(100, 24)).columns
    text = render(report, output.format, quiet=output.quiet, width=width, bold=_can_show_bold())
    _write(text, output.format is Format.JSON or report.only_json)
    if output.format is Format.CSV and not output.quiet:
        for note in report.notes:
            print(f"note: {note}", file=sys.stderr)


def _write(text: str, is_json: bool) -> None:
    """Write to stdout, with plainer characters where its encoding lacks some."""
    if sys.stdout is None:
        raise _OutputError("stdout is closed")
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(json.loads(text), indent=2) + "\n" if is_json else text.replace("\u2500", "-")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        _silence()
        raise _OutputError(f"stdout cannot be written: {error.strerror}") from None


def _silence() -> None:
    """Python flushes stdout at exit, and would complain again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _can_show_bold() -> bool:
    plain = os.environ.get("TERM") == "dumb" or os.environ.get("NO_COLOR")
    return sys.stdout is not None and sys.stdout.isatty() and not plain


def complain(text: str) -> None:
    """Print an error message, one line an issue, on stderr."""
    if sys.stderr is None:
        return
    for line in text.splitlines():
        print(f"error: {line}", file=sys.stderr)


def _usage(error: Exception) -> int:
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        print(error.format_message() if hasattr(error, "format_message") else error, file=sys.stderr)
        return BAD_INPUT
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    complain(message.replace("Value error, ", ""))
    if context is not None:
        print(f"Try '{context.command_path} --help'.", file=sys.stderr)
    return BAD_INPUT
