"""Compiling exported kernels in processes of their own, into Triton's cache on disk: launches only load them."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from tilesearch.specs.ops import OpSpec, parse_op


@dataclass(frozen=True)
class Built:
    """How one compilation went: `error` is empty where it went well. `seconds` are of the process that did it."""

    place: int
    seconds: float
    error: str = ""
    shared: int | None = None


Task = tuple[Any, ...]
"""A function that returns `Built`, and its arguments."""


@dataclass(frozen=True)
class Source:
    """A module to compile: its file, the operator that its launcher gets inputs of, and whether these have planes."""

    path: Path
    op: OpSpec
    planes: bool


def workers_here() -> int:
    """As many compilations at a time as there are cores."""
    return max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def build(place: int, path: str, op: str, planes: bool, cache: str | None) -> Built:
    """Compile one module: what a worker does. Inputs have shapes and no memory."""
    start = time.perf_counter()
    if cache is not None:
        os.environ["TRITON_CACHE_DIR"] = cache
    try:
        import torch

        from tilesearch.measure.program import inputs_of, load

        program = load(Path(path), launches=False)
        program(*inputs_of(torch, parse_op(json.loads(op)), planes, "meta").arguments)
        shared = program.compiled().shared
    except Exception as error:
        return Built(place, time.perf_counter() - start, f"{type(error).__name__}: {error}"[:500])
    return Built(place, time.perf_counter() - start, shared=shared)


def task_of(place: int, source: Source, cache: str | None) -> Task:
    """The compilation of a source, for `Compilers.run_all`."""
    return build, place, str(source.path), source.op.model_dump_json(exclude_none=True), source.planes, cache


def _ready(seconds: float) -> float:
    """Import what compiling needs, and stay busy long enough that every worker gets one of these."""
    with contextlib.suppress(Exception):  # without a driver every compilation says so
        import triton

        triton.runtime.driver.active.get_current_target()
    time.sleep(seconds)
    return seconds


class Compilers:
    """A pool of processes that compile. Starting them takes seconds (imports): `start` waits for that."""

    def __init__(self, workers: int | None = None, cache: Path | None = None) -> None:
        self.workers = workers or workers_here()
        self.cache = None if cache is None else str(cache)
        self.pool = ProcessPoolExecutor(self.workers, mp_context=multiprocessing.get_context("spawn"))

    def __enter__(self) -> Compilers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> float:
        """Start every process and wait until it can compile; seconds."""
        start = time.perf_counter()
        wait([self.pool.submit(_ready, 0.2) for _ in range(self.workers)])
        return time.perf_counter() - start

    def stop(self) -> None:
        """End the processes, whatever they are at."""
        processes = list((getattr(self.pool, "_processes", None) or {}).values())
        self.pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()

    def build_all(self, sources: Sequence[Source], limit_s: float, cache: Path | None = None) -> Iterator[Built]:
        """The result of each, as it comes; what is not done within `limit_s` seconds is an error."""
        chosen = str(cache) if cache is not None else self.cache
        tasks = {n: task_of(n, source, chosen) for n, source in enumerate(sources)}
        yield from self.run_all(tasks, limit_s)

    def run_all(self, tasks: Mapping[int, Task], limit_s: float) -> Iterator[Built]:
        """The same for any function that returns `Built`, given with its arguments."""
        deadline = time.perf_counter() + limit_s
        waiting: dict[Future[Built], int] = {
            self.pool.submit(task[0], *task[1:]): place for place, task in tasks.items()
        }
        while waiting:
            left = deadline - time.perf_counter()
            done = wait(waiting, timeout=max(0.0, left), return_when=FIRST_COMPLETED).done
            for future in done:
                place = waiting.pop(future)
                error = future.exception()
                yield future.result() if error is None else Built(place, 0.0, f"{type(error).__name__}: {error}")
            if not done:
                for future, place in waiting.items():
                    future.cancel()
                    yield Built(place, limit_s, "not compiled within the time limit")
                return
