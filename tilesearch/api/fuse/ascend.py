"""A product and the vector work behind it on Ascend: one kernel whose Vector cores work under the Cube, or several.

On a GPU fusing an epilogue saves a trip to memory. Here it is also two kinds of cores working at once: while the
Cube multiplies one tile, the Vector cores finish the one before. What decides is counted in cycles of the latency
model, each version at its own best tile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilesearch.answers import Metrics
from tilesearch.answers.fuse import Criterion, FuseAnswer, FuseOption
from tilesearch.api.fuse.questions import four_questions, moves_more, size_text
from tilesearch.api.ranking import candidates, rank_tiles
from tilesearch.engines.base import Deadline, Request, Status
from tilesearch.engines.registry import engine
from tilesearch.errors import InputError, Issue, UnknownLimitError
from tilesearch.kernels import build_model
from tilesearch.kernels.ascend import kernel_of, tile_variables
from tilesearch.kernels.base import Context
from tilesearch.ledger.cost import TIE, Cost, best_of, decisive, fill
from tilesearch.ledger.fusion import Fusion, connect
from tilesearch.program import Program, lower
from tilesearch.program.epilogue import with_epilogue
from tilesearch.rules.ascend.gemm import OUT_PATH
from tilesearch.rules.evaluate import evaluate
from tilesearch.rules.geometry import Geometry
from tilesearch.rules.limits import number
from tilesearch.specs.devices import AscendDevice
from tilesearch.specs.kernels import KernelSpec
from tilesearch.specs.ops import Chain
from tilesearch.specs.problems import Problem

FUSE, SPLIT = "fuse", "split"


@dataclass(frozen=True)
class _Best:
    """The best tile of a kernel; `stopped` says what rejects tiles where none fits."""

    context: Context
    tile: dict[str, int]
    metrics: Metrics
    stopped: str = ""
    complete: bool = True

    @property
    def cycles(self) -> int:
        """Cycles for the whole problem."""
        assert self.metrics.cycles is not None
        return self.metrics.cycles


def fuse_on_ascend(problem: Problem, chain: Chain, device: AscendDevice) -> FuseAnswer:
    """Both versions of a chain that begins with a product, and which wins."""
    programs = [lower(link.op) for link in chain.ops]
    links = list(zip(chain.ops, programs, strict=True))
    fusion = Fusion(connect([(k.name, p, k.output_in_memory, k.source) for k, p in links]))
    in_order = all(stage.source == place - 1 for place, stage in enumerate(fusion.stages) if place)
    if not in_order or len(programs[0].contractions) != 1:
        raise InputError(Issue("on Ascend, fuse is for a product and the vector work behind it, in order", "ops"))
    columns = programs[0].contractions[0].n
    if fusion.whole_at(0) - {columns}:
        message = "on Ascend a tile can hold whole rows of the product, and this chain reduces over another axis"
        raise InputError(Issue(message, "ops"))
    one = with_epilogue(programs[0], [(s.name, s.program, s.operand) for s in fusion.stages[1:]])
    alone = [_best(problem, program) for program in programs]
    stuck = next((b for b in alone if not b.tile), None)
    if stuck is not None:
        raise InputError(Issue(f"no tile of {stuck.context.program.kind} fits: {stuck.stopped}", "ops"))
    if OUT_PATH not in device.paths:
        return _through_memory(problem, fusion, device, alone)
    if any(b.metrics.cycles is None for b in alone):
        raise UnknownLimitError(f"{device.name}: cycles are not known; this answer needs them")
    fused = _best(problem, one, whole_rows=not fusion.entrywise)
    cores = number(device, "cube_cores")
    options = [_fused_option(problem, fusion, fused), _split_option(problem, fusion, alone)]
    decision, criterion, reason = _decide(fusion, fused, alone, cores)
    return FuseAnswer(
        decision=decision,
        criterion=criterion,
        options=options,
        questions=four_questions(options[1], options[0], _alive(fused), cores, "Cube cores"),
        reason=reason,
        moves_more=moves_more(options[0] if decision == FUSE else options[1], options),
        device=device.name,
        policy=problem.model.roofs,
        complete=all(b.complete for b in (fused, *alone)),
        notes=[f"cycles of the latency model, mode {problem.model.latency}; bound_us is cycles over the clock"],
    )


def _best(problem: Problem, program: Program, *, whole_rows: bool = False) -> _Best:
    """The best tile of `program`, by cycles where they are known and by traffic elsewhere.

    With `whole_rows` a tile is as wide as the matrix.
    """
    names = tile_variables(program)
    space = {name: domain for name, domain in problem.space.items() if name in names}
    if whole_rows and program.contraction is not None:
        dim = program.dim(program.contraction.n)
        space[dim.variable or ""] = (dim.extent,)
    context = Context(
        program=program,
        device=problem.device,
        kernel=KernelSpec(language="ascend"),
        model=problem.model,
        rules=problem.rules,
        space=space,
        source=problem.source,
    )
    model = build_model(context)
    outcome = engine("vector").enumerate(Request(model, deadline=Deadline(problem.search.time_limit_s)))
    ranked = rank_tiles(model, outcome.tiles, model.keys.get("time", model.keys["traffic"]), 1, listed=True)
    if not len(ranked.tiles):
        rejected = {name: count for name, count in (outcome.rejected or {}).items() if count}
        return _Best(context, {}, Metrics(), ", ".join(rejected))
    first = candidates(model, ranked, keep_soft=False)[0]
    complete = outcome.status in (Status.COMPLETE, Status.INFEASIBLE)
    return _Best(context, first.tile.as_dict(), first.metrics, complete=complete)


def _times(best: _Best) -> tuple[int, int]:
    """Cycles of one tile on the Cube, and of its chain behind the product: out, vector work, store."""
    kernel = kernel_of(best.context, Geometry(best.context.program, frozenset(best.tile)))
    cube = int(evaluate(kernel.load("M"), best.tile)) * int(evaluate(kernel.trips, best.tile))
    vector = int(evaluate(kernel.load("V", kernel.after), best.tile))
    return cube, vector


def _fused_option(problem: Problem, fusion: Fusion, fused: _Best) -> FuseOption:
    m = fused.metrics
    fits = bool(fused.tile)
    return FuseOption(
        name=FUSE,
        bytes=fusion.apart - fusion.saved,
        onchip_bytes=_onchip(m),
        grid=m.grid or 0,
        waves=m.waves,
        new_work="a copy from L0C to UB, and Cube and Vector cores in one kernel"
        if fits
        else f"no tile fits: {fused.stopped}",
        output_bytes=fusion.written(fused=True),
        launches=1,
        tile=fused.tile,
        fits=fits,
        bound_us=_microseconds(problem, fused.cycles) if fits else None,
    )


def _split_option(problem: Problem, fusion: Fusion, alone: list[_Best]) -> FuseOption:
    return FuseOption(
        name=SPLIT,
        bytes=fusion.apart,
        onchip_bytes=max(_onchip(b.metrics) for b in alone),
        grid=min(b.metrics.grid or 0 for b in alone),
        waves=sum(b.metrics.waves or 0 for b in alone),
        new_work=f"{len(alone)} launches instead of one",
        output_bytes=fusion.written(fused=False),
        launches=len(alone),
        tile={},
        fits=True,
        bound_us=_microseconds(problem, sum(b.cycles for b in alone)),
    )


def _onchip(m: Metrics) -> int:
    """Bytes of L1, L0C and UB together."""
    return (m.l1_bytes or 0) + (m.l0c_bytes or 0) + (m.ub_bytes or 0)


def _microseconds(problem: Problem, cycles: int) -> float | None:
    clock = problem.device.clocks.get("aicore")
    return None if clock is None or clock.value is None else cycles / clock.value * 1e6


def _decide(fusion: Fusion, fused: _Best, alone: list[_Best], cores: int) -> tuple[str, Criterion, str]:
    """The winner and what decided: whether it fits, then cycles, and whether Vector hides behind the Cube."""
    saved = f"fusing saves {size_text(fusion.saved)} of {size_text(fusion.apart)}"
    if not fused.tile:
        return SPLIT, "onchip", f"{saved}, but no tile that holds what it must fits: {fused.stopped}"
    together = Cost(fused.cycles, fusion.apart - fusion.saved)
    separate = Cost(sum(b.cycles for b in alone), fusion.apart)
    against = f"{together.time} cycles against {separate.time}"
    cube, vector = _times(fused)
    work = f"in a tile the Vector cores work {vector} cycles and the Cube {cube}"
    if best_of({FUSE: together, SPLIT: separate}) == FUSE:
        if separate.time <= together.time * TIE:
            return FUSE, "bytes", f"{saved}, and the cycles tie: {against}"
        if vector <= cube:
            return FUSE, "units", f"{saved}, and {work}: the one hides behind the other. {against}"
        return FUSE, "bytes", f"{saved}, though {work}, so the Cube waits. {against}"
    tiles = fused.metrics.grid or cores
    without: dict[Criterion, Cost] = {
        "parallelism": Cost(together.time * fill(float(tiles), cores), together.bytes),
        "units": Cost(together.time * cube / max(cube, vector), together.bytes),
    }
    term = decisive(separate, together, without) or "reuse"
    reasons: dict[Criterion, str] = {
        "parallelism": f"but its {tiles} tiles use {100 * fill(float(tiles), cores):.0f} % of {cores} cores",
        "units": f"but {work}, so the Cube waits",
        "reuse": "but the tiles that it leaves room for read their operands too often",
    }
    return SPLIT, term, f"{saved}, {reasons[term]}: {against}"


def _alive(fused: _Best) -> str:
    m = fused.metrics
    parts = {"L1": m.l1_bytes, "L0C": m.l0c_bytes, "UB": m.ub_bytes}
    return ", ".join(f"{(size or 0) / 1024:,.0f} KB of {name}" for name, size in parts.items())


def _through_memory(problem: Problem, fusion: Fusion, device: AscendDevice, alone: list[_Best]) -> FuseAnswer:
    """Without a path from L0C to UB, the Vector cores read from memory what the Cube wrote there."""
    written = fusion.written(fused=False)
    first = alone[0].metrics
    common: dict[str, Any] = {
        "bytes": fusion.apart,
        "onchip_bytes": max(_onchip(b.metrics) for b in alone),
        "grid": first.grid or 0,
        "output_bytes": written,
        "fits": True,
        "bound_us": None,
    }
    meet = "Cube and Vector cores meet in memory, tile by tile"
    rounds = sum(b.metrics.waves or 0 for b in alone)
    launches = len(alone)
    options = [
        FuseOption(name=FUSE, new_work=meet, launches=1, waves=first.waves, tile=alone[0].tile, **common),
        FuseOption(name=SPLIT, new_work="", launches=launches, waves=rounds, tile={}, **common),
    ]
    cores = number(device, "cube_cores")
    return FuseAnswer(
        decision=SPLIT,
        criterion="bytes",
        options=options,
        questions=four_questions(options[1], options[0], "nothing more", cores, "Cube cores"),
        reason=f"{device.name} has no path from L0C to UB: one kernel moves the same {size_text(fusion.apart)}",
        moves_more=False,
        device=device.name,
        policy=problem.model.roofs,
        notes=["cycles of this device are not known, so only bytes are compared"],
    )
