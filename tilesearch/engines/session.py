"""One problem in a solver: what the shared search asks for, and what the solver engines share beside it."""

from __future__ import annotations

import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tilesearch.engines.base import Deadline, Request, Tiles
from tilesearch.engines.lowering import Grid
from tilesearch.engines.narrowing import Problem
from tilesearch.rules.expr import Expr
from tilesearch.rules.model import Rule

T = TypeVar("T")


@dataclass
class Found:
    """Rows of values, a column a variable of the model; `done` says that the question is settled.

    Only the columns of the problem's own variables, and of those with one value, mean anything.
    """

    rows: Tiles
    done: bool = False


class Session(ABC):
    """One problem, loaded into a solver."""

    @abstractmethod
    def first(self) -> Found:
        """One row; done and empty when there is none."""

    @abstractmethod
    def every(self, most: int | None = None) -> Found:
        """All rows. Stops, not done, when there are more than `most`."""

    @abstractmethod
    def least(self, key: Grid | Expr) -> Found:
        """A row with the least key, last; the rows before it came up on the way."""


class Refuter(ABC):
    """Rules loaded into a solver, each behind a switch."""

    @abstractmethod
    def conflict(self, rules: Sequence[Rule]) -> list[Rule] | None:
        """Some of `rules` that exclude each other, or None when all of them hold somewhere.

        Raises TimeoutError when the deadline ends the search undecided.
        """


def blank_rows(problem: Problem, count: int) -> Tiles:
    """Rows with the first value of every domain, column by column in memory, as they are written and read."""
    rows = np.empty((count, len(problem.domains)), dtype=np.int64, order="F")
    for column, domain in enumerate(problem.domains.values()):
        rows[:, column] = domain[0]
    return rows


def rows_of(problem: Problem, positions: Sequence[Sequence[int]] | NDArray[np.int64]) -> Tiles:
    """Rows of values from positions in the domains of the problem's own variables."""
    rows = blank_rows(problem, len(positions))
    places = np.asarray(positions, dtype=np.int64).reshape(len(positions), len(problem.names))
    columns = {name: column for column, name in enumerate(problem.domains)}
    for place, name in enumerate(problem.names):
        rows[:, columns[name]] = np.array(problem.domains[name], dtype=np.int64)[places[:, place]]
    return rows


def report(request: Request, name: str, count: int) -> None:
    """Tell the user how many tiles were found; the fraction is of the time limit."""
    deadline = request.deadline
    fraction = min(1.0, deadline.elapsed / deadline.seconds) if deadline.seconds else 0.0
    request.report(f"{name}: {count} found", fraction)


@contextmanager
def interrupt_noted(deadline: Deadline) -> Iterator[None]:
    """Ctrl-C ends the block, not the answer.

    In the main thread it sets the deadline's flag instead of raising, since an exception may come up inside a
    solver's own clean-up, where Python drops it. A second Ctrl-C raises.
    """

    def note(signum: int, frame: FrameType | None) -> None:
        if deadline.interrupted:
            raise KeyboardInterrupt
        deadline.interrupted = True

    main = threading.current_thread() is threading.main_thread()
    quiet = main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    try:
        if quiet:
            signal.signal(signal.SIGINT, note)
        yield
    except KeyboardInterrupt:
        deadline.interrupted = True
    finally:
        if quiet:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def interruptible(call: Callable[[], T], stop: Callable[[], None], deadline: Deadline) -> T:
    """The result of a solver's `call`; the deadline, or Ctrl-C, which is noted in it, asks the solver to `stop`.

    The call runs in a second thread: in the main one, Ctrl-C would wait for it to end, or be lost in the
    solver's own handler when that comes too late. The deadline is polled, since a caller's handler may set its
    flag without raising.
    """
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(call)
        while not future.done():
            try:
                wait([future], 0.05)
            except KeyboardInterrupt:
                deadline.interrupted = True
            if deadline.interrupted:  # more than once, as the call may not have begun
                stop()
        return future.result()
