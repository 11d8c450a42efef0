"""One problem on the GPU: its inputs, and each tile compiled, checked and timed there."""

from __future__ import annotations

import gc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tilesearch.errors import InputError, TilesearchError
from tilesearch.kernels.export import export
from tilesearch.measure.compile import Source
from tilesearch.measure.program import WRONG, Inputs, Program, inputs_of, load, relative_error
from tilesearch.measure.timer import Reading, Timer
from tilesearch.specs.problems import Problem

NEAR = 1.5
"""Tiles slower than this, in best times, are not timed in full."""


@dataclass
class Sample:
    """What was measured of one tile."""

    reading: Reading | None = None
    relative_error: float | None = None
    shared: int | None = None
    registers: int | None = None
    spills: int | None = None
    error: str = ""


@dataclass
class Bench:
    """Times tiles of one problem. Tiles are known by their place among those that were written."""

    torch: Any
    problem: Problem
    folder: Path
    timer: Timer
    _inputs: Inputs | None = field(default=None, init=False, repr=False)
    _wanted: Any = field(default=None, init=False, repr=False)
    _programs: dict[Path, Program] = field(default_factory=dict, init=False, repr=False)
    best_us: float = field(default=float("inf"), init=False)

    def write(self, tiles: Sequence[Mapping[str, int]]) -> list[Source]:
        """The exported module of each tile, in files of their own. Raises `InputError` where there is no template."""
        self.folder.mkdir(parents=True, exist_ok=True)
        sources = []
        for tile in tiles:
            code = export("triton", self.problem.op, self.problem.device, self.problem.kernel, tile).code
            if code is None:
                raise InputError("there is no code for this problem")
            name = "_".join(f"{v}" for v in tile.values())
            path = self.folder / f"tile_{name}.py"
            path.write_text(code, encoding="utf-8")
            sources.append(Source(path, self.problem.op, planes="TensorDescriptor" not in code))
        return sources

    def inputs(self, planes: bool) -> Inputs:
        """The problem's data, the same for every tile."""
        if self._inputs is None:
            self.torch.manual_seed(0)
            self._inputs = inputs_of(self.torch, self.problem.op, planes)
            self._wanted = self._inputs.wanted()
        return self._inputs

    def program(self, source: Source) -> Program:
        """The module, loaded once."""
        if source.path not in self._programs:
            self._programs[source.path] = load(source.path)
        return self._programs[source.path]

    def launch(self, source: Source) -> Any:
        """A function that launches the tile once."""
        program, arguments = self.program(source), self.inputs(source.planes).arguments
        return lambda: program(*arguments)

    def sample(self, source: Source, full: bool = True, check: bool = True) -> Sample:
        """Launch a tile: is it right, and how long does it take? What goes wrong is in the sample's `error`."""
        found = Sample()
        try:
            inputs, program = self.inputs(source.planes), self.program(source)
            if check:
                found.relative_error = relative_error(self.torch, program, inputs, self._wanted)
                if not found.relative_error < WRONG:
                    found.error = f"wrong result: relative error {found.relative_error:.2e}"
                    return found
            launch = self.launch(source)
            found.reading = self.timer.quick(launch)
            self.best_us = min(self.best_us, found.reading.median_us)
            if full and found.reading.median_us <= NEAR * self.best_us:
                found.reading = self.timer.full(launch, found.reading.median_us)
            compiled = program.compiled()
            found.shared, found.registers, found.spills = compiled.shared, compiled.registers, compiled.spills
        except TilesearchError:
            raise
        except Exception as error:
            found.error = f"{type(error).__name__}: {error}"[:300]
        return found

    def close(self) -> None:
        """Give the data's memory back."""
        self._inputs = self._wanted = None
        self._programs.clear()
        gc.collect()
        self.torch.cuda.empty_cache()
