"""Times the kernels of missing_kernels.py as `Bench` times exported ones, and compiles them in other processes."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.missing_cases import OWN
from benchmarks.missing_kernels import Starter
from tilesearch.measure.bench import Bench
from tilesearch.measure.compile import Built, Source, Task
from tilesearch.measure.program import Compiled, Inputs
from tilesearch.specs.ops import OpSpec, parse_op


@dataclass
class OwnProgram:
    """A tile of one of our kernels."""

    op: OpSpec
    tile: Mapping[str, int]
    start: Starter = field(default_factory=Starter)

    def __call__(self, *inputs: Any) -> Any:
        """Launch it."""
        return own(self.op).run(self.start, self.op, self.tile, inputs)

    def compiled(self) -> Compiled:
        """What the compiler made of its first kernel."""
        last = self.start.last
        shared = getattr(getattr(last, "metadata", None), "shared", None)
        return Compiled(shared, getattr(last, "n_regs", None), getattr(last, "n_spills", None))


def own(op: OpSpec) -> Any:
    return OWN[str(getattr(op, "kind", ""))]


class OwnBench(Bench):
    """The same as `Bench`, for kernels that are not exported: a source's path is the name of its tile."""

    def write(self, tiles: Sequence[Mapping[str, int]]) -> list[Source]:
        self._tiles = {Path("_".join(map(str, tile.values()))): tile for tile in tiles}
        return [Source(path, self.problem.op, planes=False) for path in self._tiles]

    def inputs(self, planes: bool) -> Inputs:
        if self._inputs is None:
            self.torch.manual_seed(0)
            op = self.problem.op
            arguments = own(op).inputs(op, "cuda")
            self._inputs = Inputs(arguments, lambda: own(op).wanted(op, arguments))
            self._wanted = self._inputs.wanted()
        return self._inputs

    def program(self, source: Source) -> Any:
        if source.path not in self._programs:
            self._programs[source.path] = OwnProgram(source.op, self._tiles[source.path])
        return self._programs[source.path]

    def task(self, place: int, source: Source, cache: str) -> Task:
        return (precompile, place, source.op.model_dump_json(exclude_none=True), dict(self._tiles[source.path]), cache)


def precompile(place: int, op: str, tile: Mapping[str, int], cache: str) -> Built:
    """Compile one tile into Triton's cache: what a worker does."""
    begun = time.perf_counter()
    os.environ["TRITON_CACHE_DIR"] = cache
    try:
        program = OwnProgram(parse_op(json.loads(op)), tile, Starter(launches=False))
        program(*own(program.op).inputs(program.op, "meta"))
        shared = program.compiled().shared
    except Exception as error:
        return Built(place, time.perf_counter() - begun, f"{type(error).__name__}: {error}"[:500])
    return Built(place, time.perf_counter() - begun, shared=shared)
