"""tune: the short list of a problem, compiled in parallel and timed on the GPU at hand."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tilesearch.answers import Candidate
from tilesearch.answers.measured import TuneAnswer, TunedRow, TuneSeconds
from tilesearch.api.shortlist import shortlist
from tilesearch.errors import InputError, Issue
from tilesearch.measure.bench import Bench, Sample
from tilesearch.measure.compile import Built, Compilers, Source, workers_here
from tilesearch.measure.gpu import gpu_of, require_gpu, state
from tilesearch.measure.timer import Timer, resolution
from tilesearch.specs.problems import Problem

FINALISTS = 3
ROUNDS = 3
COMPILE_LIMIT_S = 120.0
Say = Callable[[str, float], None]


def tune(
    problem: Problem,
    count: int = 10,
    spread: bool = False,
    *,
    compilers: Compilers | None = None,
    cache: Path | None = None,
    folder: Path | None = None,
    say: Say | None = None,
) -> TuneAnswer:
    """Measure the first `count` tiles of `problem`, or with `spread` a diverse list of as many.

    Raises `InputError` without a GPU, for a language other than Triton, and for an operator without a template.
    """
    torch = require_gpu("tune")
    check_language(problem)
    seconds = TuneSeconds()
    start = time.perf_counter()
    listed = shortlist(problem, count, spread)
    if not listed:
        raise InputError(Issue(f"no tile fits {problem.device.name}", "tile", hint="tilesearch explain says why"))
    seconds.listing = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as own:
        bench = Bench(torch, problem, folder or Path(own), Timer(torch))
        sources = bench.write([c.tile.as_dict() for c in listed])
        built = compile_list(sources, seconds, compilers, cache, say)
        before, start = state(), time.perf_counter()
        rows = [
            _row(c, _sample(bench, s, built.get(n)), built.get(n))
            for n, (c, s) in enumerate(zip(listed, sources, strict=True))
        ]
        apart = finals(bench, rows, sources)
        bench.close()
    seconds.timing = time.perf_counter() - start
    answer = _answer(problem, torch, rows, seconds, apart)
    answer.chosen = "diverse" if spread else "in rank order"
    answer.before, answer.after = before, state()
    return answer


def check_language(problem: Problem) -> None:
    """Raises `InputError` for a language whose kernels cannot be run here."""
    if problem.kernel.language != "triton":
        message = f"tune times Triton kernels; the problem is of {problem.kernel.language}"
        raise InputError(Issue(message, "kernel.language", problem.source, "--set kernel.language=triton"))


def compile_list(
    sources: Sequence[Source],
    seconds: TuneSeconds,
    compilers: Compilers | None,
    cache: Path | None,
    say: Say | None = None,
) -> dict[int, Built]:
    """Compile in parallel; a pool that was not given is started for it and stopped."""
    own = compilers is None
    pool = compilers or Compilers(min(len(sources), workers_here()))
    try:
        if own:
            seconds.starting = pool.start()
        start = time.perf_counter()
        built: dict[int, Built] = {}
        for found in pool.build_all(sources, COMPILE_LIMIT_S, cache):
            built[found.place] = found
            if say is not None:
                say("compiling", len(built) / len(sources))
        seconds.compiling = time.perf_counter() - start
        seconds.compiling_processes = sum(b.seconds for b in built.values())
    finally:
        if own:
            pool.stop()
    return built


def _sample(bench: Bench, source: Source, built: Built | None) -> Sample:
    if built is None or built.error:
        return Sample(error=built.error if built is not None else "not compiled")
    return bench.sample(source)


def _row(candidate: Candidate, sample: Sample, built: Built | None) -> TunedRow:
    metrics, reading = candidate.metrics, sample.reading
    return TunedRow(
        rank=candidate.rank,
        tile=candidate.tile,
        predicted_us=metrics.time_us,
        predicted_low_us=metrics.time_low_us,
        predicted_high_us=metrics.time_high_us,
        time_us=None if reading is None else reading.median_us,
        least_us=None if reading is None else reading.least_us,
        most_us=None if reading is None else reading.most_us,
        launches=0 if reading is None else reading.launches,
        relative_error=sample.relative_error,
        registers=sample.registers,
        spills=sample.spills,
        shared_bytes=sample.shared,
        compile_s=None if built is None else round(built.seconds, 3),
        error=sample.error,
    )


def finals(bench: Bench, rows: Sequence[TunedRow], sources: Sequence[Source]) -> float | None:
    """Time the best few again, in turns; their rows get the medians. How far rounds lie apart, relative."""
    running = [n for n, row in enumerate(rows) if row.time_us is not None]
    running.sort(key=lambda n: rows[n].time_us or 0.0)
    chosen = running[:FINALISTS]
    if not chosen:
        return None
    rounds = bench.timer.interleaved({str(n): bench.launch(sources[n]) for n in chosen}, ROUNDS)
    for n in chosen:
        rows[n].time_us = sorted(rounds[str(n)])[len(rounds[str(n)]) // 2]
    return resolution(rounds)


def _answer(
    problem: Problem, torch: Any, rows: list[TunedRow], seconds: TuneSeconds, apart: float | None
) -> TuneAnswer:
    timed = [row for row in rows if row.time_us is not None and row.predicted_us is not None]
    errors = [abs((r.predicted_us or 0.0) / (r.time_us or 1.0) - 1) for r in timed]
    held = [(r.predicted_low_us or 0) <= (r.time_us or 0) <= (r.predicted_high_us or 0) for r in timed]
    notes = [f"{len(rows) - len(timed)} of {len(rows)} tiles did not run"] if len(timed) < len(rows) else []
    return TuneAnswer(
        problem=problem.name,
        device=problem.device.name,
        gpu=gpu_of(torch).name,
        op=problem.op.model_dump(exclude_none=True),
        kernel=problem.kernel.model_dump(exclude_none=True),
        chosen="",
        rows=sorted(rows, key=lambda row: (row.time_us is None, row.time_us or 0.0, row.rank)),
        compiles=len(rows),
        seconds=seconds,
        resolution=apart,
        mean_error=sum(errors) / len(errors) if errors else None,
        within_interval=sum(held) / len(held) if held else None,
        notes=notes,
    )
