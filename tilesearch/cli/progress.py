"""What the user sees and does while an answer is being computed: progress, and Ctrl-C."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilesearch.engines.base import Deadline

_DELAY_S = 1.0


@contextmanager
def progress(text: str, quiet: bool) -> Iterator[Callable[[str, float], None] | None]:
    """A spinner on stderr for what takes more than a second; yields what tells it how far the work is.

    Nothing is shown, and None is yielded, when stderr is no terminal or the user wants quiet.
    """
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    display = _Display(text)
    timer = threading.Timer(_DELAY_S, display.start)
    timer.daemon = True
    timer.start()
    try:
        yield display.report
    finally:
        timer.cancel()
        display.stop()


class _Display:
    """The spinner and bar, which appear once started."""

    def __init__(self, text: str) -> None:
        self._lock = threading.Lock()
        self._bar: Any = None
        self._stopped = False
        self._latest: tuple[str, float | None] = (text, None)

    def start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn("line"), TextColumn("{task.description}", markup=False), BarColumn(bar_width=24))
        with self._lock:
            if self._stopped:
                return
            self._bar = Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(self._latest[0], total=None)
            self._bar.start()
            self._show()

    def report(self, text: str, fraction: float) -> None:
        """Say what is being done, and how much of it is done, 0 to 1."""
        with self._lock:
            self._latest = (text, fraction)
            self._show()

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            if self._bar is not None:
                self._bar.stop()

    def _show(self) -> None:
        if self._bar is not None:
            text, fraction = self._latest
            total = None if fraction is None else 1.0
            self._bar.update(self._task, description=text, total=total, completed=fraction or 0.0)


@contextmanager
def interruptible(deadline: Deadline) -> Iterator[None]:
    """While it lasts, Ctrl-C ends the search with what was found so far; a second one ends the program."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(signum: int, frame: FrameType | None) -> None:
        if deadline.interrupted:
            raise KeyboardInterrupt
        deadline.interrupted = True

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
