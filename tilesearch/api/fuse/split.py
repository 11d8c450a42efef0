"""The split question of one operator: split-K, split-KV, stream-K, or none of them."""

from __future__ import annotations

from dataclasses import replace

from tilesearch.answers.fuse import Criterion, FuseAnswer, FuseOption
from tilesearch.api.context import model_of
from tilesearch.api.fuse.questions import bound_note, cut_short, four_questions, moves_more, size_text
from tilesearch.api.roofline import bound_for
from tilesearch.api.tilesets import Choice, TileSet
from tilesearch.errors import InputError, Issue
from tilesearch.ledger import Bound
from tilesearch.ledger.cost import TIE, Cost, Work, best_of, decisive, fuller, least_s
from tilesearch.program.form import Program, Role, Split
from tilesearch.rules.evaluate import evaluate
from tilesearch.rules.geometry import Geometry
from tilesearch.specs.problems import Problem

WHOLE = "no split"


def fuse_split(problem: Problem) -> FuseAnswer:
    """Each number of parts with its best tile, against the operator left whole."""
    program, bound = bound_for(problem)
    split = program.split
    if split is None:
        message = "there is no reduction to split over blocks, and no chain to fuse"
        raise InputError(Issue(message, "op", problem.source, "write the operators as [[ops]]"))
    parts = _parts(problem, program, split)
    tiles = TileSet(problem, program, bound, parts)
    if tiles.split is None:
        raise InputError(Issue(f"{problem.kernel.language} kernels have no {split.variable}", "kernel.language"))
    choices = {_name(split, s): (s, choice) for s in parts if (choice := tiles.best(s)) is not None}
    options = {name: _option(problem, program, split, s, choice) for name, (s, choice) in choices.items()}
    costs = {name: Cost(choice.time_s, choice.work.memory) for name, (_, choice) in choices.items()}
    winner = options[best_of(costs)]
    listed = list(options.values())
    kept = options.get(WHOLE, listed[0])
    other = winner if winner is not kept else min((o for o in listed if o is not kept), key=_time, default=kept)
    stream = _stream_k(problem, program, bound, tiles)
    loser = kept if winner is not kept else other
    without = _without(choices[loser.name][1], choices[winner.name][1], bound, tiles.sms)
    criterion, reason = _reason(
        kept, winner, other, tiles.sms, decisive(costs[winner.name], costs[loser.name], without)
    )
    alive = f"the staged tiles; the accumulators stay in registers, {'partials go out' if other is not kept else ''}"
    return FuseAnswer(
        decision=winner.name,
        criterion=criterion,
        options=[*listed, *([stream] if stream else [])],
        questions=four_questions(kept, other, alive.rstrip(", "), tiles.sms),
        reason=reason,
        moves_more=moves_more(winner, listed),
        device=problem.device.name,
        policy=problem.model.roofs,
        complete=tiles.complete,
        notes=[*cut_short(tiles.complete), *_notes(problem, bound, stream, winner)],
    )


def _parts(problem: Problem, program: Program, split: Split) -> tuple[int, ...]:
    """The numbers of parts in question: the problem's, or all that the language knows; 1 is always among them."""
    extent = program.dim(split.dim).extent
    variable = next((v for v in model_of(problem).variables if v.name == split.variable), None)
    if variable is None:
        return (1,)
    values = variable.domain if split.variable in problem.space else (variable.universe or variable.domain)
    return tuple(sorted({1, *(value for value in values if value <= extent)}))


def _name(split: Split, parts: int) -> str:
    return WHOLE if parts == 1 else f"split-{split.dim.upper()}={parts}"


def _option(problem: Problem, program: Program, split: Split, parts: int, choice: Choice) -> FuseOption:
    """One number of parts. Partials are written by the parts, and read by the kernel that adds them up."""
    partial = int(evaluate(Geometry(program, frozenset(choice.tile)).partial_bytes(), choice.tile))
    written = sum(program.tensor_bytes(tensor) for tensor in program.outputs) + partial
    outputs = sum(tensor.elements for tensor in program.outputs)
    work = ""
    if parts > 1:
        work = (
            f"{size_text(partial)} of {split.partial} partials written and read, and a second kernel (or atomics) "
            f"that adds {parts} parts of {outputs} outputs: {parts * outputs:,} operations"
        )
    return FuseOption(
        name=_name(split, parts),
        bytes=written if problem.fuse.count == "outputs" else choice.work.memory,
        onchip_bytes=choice.metrics.shared_bytes or 0,
        grid=choice.work.grid,
        waves=choice.metrics.waves,
        new_work=work,
        output_bytes=written,
        launches=1 if parts == 1 else 2,
        tile=choice.tile,
        fits=True,
        bound_us=choice.time_s * 1e6,
    )


def _stream_k(problem: Problem, program: Program, bound: Bound, tiles: TileSet) -> FuseOption | None:
    """Stream-K over the whole version's tile: as many blocks as are resident, each taking an equal run of steps.

    A block begins and ends in the middle of an output tile, so that at most one partial tile for each block is
    written and read. Shown for products only, and not chosen: no language here has it as a variable.
    """
    choice = tiles.best(1)
    if program.contraction is None or choice is None or program.split is None:
        return None
    slots = tiles.sms * max(choice.metrics.blocks_per_sm or 1, 1)
    geometry = Geometry(program, frozenset(choice.tile))
    if choice.work.grid % slots == 0:
        return None  # the tiles come out even: nothing would be cut
    tile = int(evaluate(geometry.output_tile(), choice.tile))
    partial = 2 * slots * program.split.partial.storage_bytes(tile)
    written = sum(program.tensor_bytes(t) for t in program.tensors if t.role is Role.OUTPUT) + partial
    work = Work(choice.work.memory + partial, choice.work.cached + partial, choice.work.flops, slots)
    return FuseOption(
        name="stream-K",
        bytes=written if problem.fuse.count == "outputs" else work.memory,
        onchip_bytes=choice.metrics.shared_bytes or 0,
        grid=slots,
        waves=1,
        new_work=f"at most {slots} partial tiles, {size_text(partial)} written and read; a fix-up in the kernel",
        output_bytes=written,
        launches=1,
        tile=choice.tile,
        fits=True,
        bound_us=least_s(work, bound.rates, tiles.sms) * 1e6,
    )


def _time(option: FuseOption) -> float:
    return option.bound_us or 0.0


def _without(loser: Choice, winner: Choice, bound: Bound, sms: int) -> dict[Criterion, Cost]:
    """The cost of the version that lost, with one term brought to what the winner has."""
    work = loser.work
    more = max(0, work.memory - winner.work.memory)
    changed: dict[Criterion, Work] = {
        "parallelism": replace(work, grid=fuller([work.grid, winner.work.grid], sms)),
        "reuse": replace(work, cached=min(work.cached, winner.work.cached)),
        "bytes": replace(work, memory=work.memory - more, cached=work.cached - more),
    }
    return {term: Cost(least_s(other, bound.rates, sms), other.memory) for term, other in changed.items()}


def _reason(
    kept: FuseOption, winner: FuseOption, other: FuseOption, sms: int, term: Criterion | None
) -> tuple[Criterion, str]:
    if winner is kept:
        if other is kept:
            return "bytes", "there is nothing to compare with: the space holds no split"
        more = f"{other.name} moves {size_text(other.bytes - kept.bytes)} more"
        bounds = f"its bound is {_time(other):.4g} us against {_time(kept):.4g}"
        if _time(other) <= _time(kept) * TIE:
            term = "bytes"
        return term or "bytes", f"{kept.grid} blocks on {sms} SMs do as well: {more}, and {bounds}"
    term = term or "parallelism"
    idle = "the last wave is thin"
    if kept.grid < sms:
        idle = f"{kept.grid} blocks leave {sms - kept.grid} of {sms} SMs idle"
    if term == "reuse":
        idle = f"blocks of {kept.name} read their operands too often"
    text = f"{idle}; {winner.name} moves {size_text(winner.bytes - kept.bytes)} more for {winner.grid} blocks"
    return term, f"{text}, and the bound falls from {_time(kept):.4g} to {_time(winner):.4g} us"


def _notes(problem: Problem, bound: Bound, stream: FuseOption | None, winner: FuseOption) -> list[str]:
    notes = []
    if problem.fuse.count == "outputs":
        notes.append("bytes: outputs and partials only, as [fuse] count says; the inputs are the same in all versions")
    if stream is not None:
        better = _time(stream) < _time(winner)
        notes.append(
            "stream-K is shown for comparison and not chosen: no kernel language here has it as a variable"
            + (f"; its bound of {_time(stream):.4g} us is the lower one" if better else "")
        )
    return [*notes, bound_note(bound.rates)]
