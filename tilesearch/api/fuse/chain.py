"""A chain as one kernel, or as kernels of its own (seed 5.1), and the four reasons to keep it apart (5.2)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilesearch.answers.fuse import Criterion, FuseAnswer, FuseOption
from tilesearch.api.fuse.ascend import fuse_on_ascend
from tilesearch.api.fuse.questions import bound_note, cut_short, four_questions, moves_more, size_text
from tilesearch.api.roofline import bound_for
from tilesearch.api.tiles import generic_variables
from tilesearch.api.tilesets import Choice, TileSet
from tilesearch.errors import InputError, Issue
from tilesearch.ledger import Bound, Rates
from tilesearch.ledger.cost import TIE, Cost, Work, best_of, decisive, fill, fuller, least_s
from tilesearch.ledger.fusion import Crossing, Fusion, connect
from tilesearch.program import Program, Tensor, lower
from tilesearch.rules.evaluate import evaluate
from tilesearch.rules.expr import const
from tilesearch.rules.geometry import Geometry
from tilesearch.rules.limits import number
from tilesearch.rules.occupancy import Load, exact
from tilesearch.specs.devices import AscendDevice, NvidiaDevice
from tilesearch.specs.ops import Chain, Link
from tilesearch.specs.problems import Problem

FUSE, SPLIT = "fuse", "split"


@dataclass(frozen=True)
class _Part:
    """A stage as a kernel of its own."""

    problem: Problem
    bound: Bound
    choice: Choice
    complete: bool


@dataclass(frozen=True)
class _Fused:
    """The best block of the fused kernel, and what stops it if nothing fits."""

    units: int
    alive: int
    work: Work
    blocks_per_sm: int
    time_s: float
    stops: Criterion | None
    tile: dict[str, int]


def fuse_chain(problem: Problem, chain: Chain) -> FuseAnswer:
    """Both versions of a chain, and which wins."""
    device = problem.device
    if isinstance(device, AscendDevice):
        return fuse_on_ascend(problem, chain, device)
    if not isinstance(device, NvidiaDevice):
        raise InputError(Issue(f"fuse has no criteria for {device.vendor} devices yet", "device"))
    alone = [_alone(problem, link) for link in chain.ops]
    programs = [lower(link.op) for link in chain.ops]
    links = zip(chain.ops, programs, strict=True)
    fusion = Fusion(connect([(k.name, program, k.output_in_memory, k.source) for k, program in links]))
    parts = [_part(single, program, place) for place, (single, program) in enumerate(zip(alone, programs, strict=True))]
    sms = number(device, "sm_count")
    fused = _entrywise(fusion, parts, sms) if fusion.entrywise else _whole_units(device, fusion, parts, sms)
    options = [_fused_option(problem, fusion, fused, parts, sms), _split_option(problem, fusion, parts)]
    decision, criterion, reason = _decide(fusion, fused, options, parts, sms)
    winner = options[0] if decision == FUSE else options[1]
    complete = all(part.complete for part in parts)
    return FuseAnswer(
        decision=decision,
        criterion=criterion,
        options=options,
        questions=four_questions(options[1], options[0], _alive_text(fusion, fused), sms),
        reason=reason,
        moves_more=moves_more(winner, options),
        device=device.name,
        policy=problem.model.roofs,
        complete=complete,
        notes=[*cut_short(complete), *_notes(problem, parts[0].bound.rates, fusion)],
    )


def _alone(problem: Problem, link: Link) -> Problem:
    """The problem of one link, with those of the domains that it has variables for."""
    single = problem.replace(op=link.op, space={})
    names = {v.name for v in generic_variables(single, lower(link.op))}
    return single.replace(space={name: domain for name, domain in problem.space.items() if name in names})


def _part(single: Problem, program: Program, place: int) -> _Part:
    try:
        bound = bound_for(single)[1]
        tiles = TileSet(single, program, bound)
    except InputError as error:
        raise type(error)([replace(i, where=f"ops[{place}].{i.where}") for i in error.issues]) from None
    choice = tiles.best()
    assert choice is not None
    return _Part(single, bound, choice, tiles.complete)


def _entrywise(fusion: Fusion, parts: list[_Part], sms: int) -> _Fused:
    """Every stage goes on from the entries that the largest one holds: its tile and grid, its accumulators."""
    anchor = parts[fusion.anchor]
    program = fusion.stages[fusion.anchor].program
    tile = anchor.choice.tile
    geometry = Geometry(program, frozenset(tile))
    held = int(evaluate(geometry.held_bits(), tile)) // 8
    others = fusion.cached(1) - fusion.stages[fusion.anchor].ledger.bytes
    work = Work(
        memory=fusion.apart - fusion.saved,
        cached=max(anchor.choice.work.cached + others, fusion.apart - fusion.saved),
        flops=fusion.flops,
        grid=anchor.choice.work.grid,
        serial=fusion.mixes_units and anchor.choice.metrics.blocks_per_sm == 1,
    )
    return _Fused(
        units=0,
        alive=(anchor.choice.metrics.shared_bytes or 0) + held,
        work=work,
        blocks_per_sm=anchor.choice.metrics.blocks_per_sm or 1,
        time_s=least_s(work, anchor.bound.rates, sms),
        stops=None,
        tile=tile,
    )


def _whole_units(device: NvidiaDevice, fusion: Fusion, parts: list[_Part], sms: int) -> _Fused:
    """The block size, in units, with the least time among those that the chip can hold; else the smallest."""
    first = _least_units(fusion, parts)
    sizes = []
    size = first
    while size < fusion.units:
        sizes.append(size)
        size *= 2
    candidates = [_of_size(device, fusion, parts, size, sms) for size in [*sizes, max(first, fusion.units)]]
    fitting = [candidate for candidate in candidates if candidate.stops is None]
    return min(fitting, key=lambda c: (c.time_s, -c.units)) if fitting else candidates[0]


def _least_units(fusion: Fusion, parts: list[_Part]) -> int:
    """The fewest units of a block: as many as the smallest matrix tile of each product has rows and columns of them."""
    least = 1
    for place, (stage, part) in enumerate(zip(fusion.stages, parts, strict=True)):
        domains = {v.name: v.domain for v in generic_variables(part.problem, stage.program)}
        for product in stage.program.contractions:
            for name in (product.m, product.n):
                tile = min(domains.get(stage.program.dim(name).variable or "", (1,)))
                least = max(least, fusion.least_units(place, name, tile))
    return least


def _of_size(device: NvidiaDevice, fusion: Fusion, parts: list[_Part], units: int, sms: int) -> _Fused:
    """A fused kernel whose blocks take so many units, their intermediates kept in shared memory."""
    grid, alive = -(-fusion.units // units), fusion.alive(units)
    blocks = _resident(device, alive)
    memory = fusion.apart - fusion.saved
    work = Work(memory, fusion.cached(grid), fusion.flops, grid, serial=fusion.mixes_units and blocks == 1)
    return _Fused(
        units=units,
        alive=alive,
        work=work,
        blocks_per_sm=blocks,
        time_s=least_s(work, parts[fusion.anchor].bound.rates, sms),
        stops="onchip" if alive > number(device, "shared_per_block_optin") else None,
        tile={"units_per_block": units},
    )


def _resident(device: NvidiaDevice, alive: int) -> int:
    """Blocks on one SM, as far as the intermediates that they keep allow."""
    load = Load(threads=const(number(device, "warp_size")), registers=const(0), shared=const(alive))
    return int(evaluate(exact(device, load).blocks, {}))


def _fused_option(problem: Problem, fusion: Fusion, fused: _Fused, parts: list[_Part], sms: int) -> FuseOption:
    written = fusion.written(fused=True)
    fits = fused.stops is None
    return FuseOption(
        name=FUSE,
        bytes=written if problem.fuse.count == "outputs" else fused.work.memory,
        onchip_bytes=fused.alive,
        grid=fused.work.grid,
        waves=-(-fused.work.grid // (sms * fused.blocks_per_sm)) if fused.blocks_per_sm else None,
        new_work=_new_work(fusion, fused, parts),
        output_bytes=written,
        launches=1,
        tile=fused.tile,
        fits=fits,
        bound_us=fused.time_s * 1e6 if fits else None,
    )


def _split_option(problem: Problem, fusion: Fusion, parts: list[_Part]) -> FuseOption:
    written = fusion.written(fused=False)
    waves = [part.choice.metrics.waves for part in parts]
    return FuseOption(
        name=SPLIT,
        bytes=written if problem.fuse.count == "outputs" else fusion.apart,
        onchip_bytes=max(part.choice.metrics.shared_bytes or 0 for part in parts),
        grid=min(part.choice.work.grid for part in parts),
        waves=None if None in waves else sum(wave or 0 for wave in waves),
        new_work=f"{len(parts)} launches instead of one{_launches(parts)}",
        output_bytes=written,
        launches=len(parts),
        tile={},
        fits=True,
        bound_us=sum(part.choice.time_s for part in parts) * 1e6,
    )


def _launches(parts: list[_Part]) -> str:
    floor = parts[0].bound.rates.launch_floor
    return "" if floor is None else f", {floor * 1e6:.1f} us for an empty one (less in a graph), which no bound counts"


def _new_work(fusion: Fusion, fused: _Fused, parts: list[_Part]) -> str:
    """What the fused kernel does that the separate ones do not, in numbers."""
    items = []
    whole = [fusion.stages[c.after].name for c in fusion.crossings if c.width > 1]
    if whole:
        items.append(f"a barrier before {', '.join(whole)}: a block meets the whole unit first")
    apart = sum(part.choice.work.cached for part in parts)
    if fused.work.cached > apart:
        more = size_text(fused.work.cached - apart)
        items.append(f"{more} more from L2: blocks share what their units do not index")
    if fusion.mixes_units:
        items.append("matrix and CUDA-core phases in one block")
    return "; ".join(items) or "none: each entry goes on in the registers that hold it"


def _decide(
    fusion: Fusion, fused: _Fused, options: list[FuseOption], parts: list[_Part], sms: int
) -> tuple[str, Criterion, str]:
    """The winner and what decided: first what the chip cannot hold, then the bounds, then bytes where they tie."""
    one, apart = options
    saved = f"fusing saves {size_text(fusion.saved)} of {size_text(fusion.apart)}"
    if fused.stops is not None:
        need = f"{fused.alive / 1024:,.0f} KB alive, more than the shared memory of a block"
        return SPLIT, fused.stops, f"{saved}, but a block must keep {need}"
    together = Cost(fused.time_s, fused.work.memory)
    separate = Cost(sum(part.choice.time_s for part in parts), fusion.apart)
    against = f"{one.bound_us:.4g} us against {apart.bound_us:.4g}"
    if best_of({FUSE: together, SPLIT: separate}) == FUSE:
        if separate.time <= together.time * TIE:
            return FUSE, "bytes", f"{saved}, and the bounds tie: {against}"
        term = decisive(together, separate, _split_without(fusion, fused, parts, sms)) or "units"
        return FUSE, term, f"{saved}{_FUSE_REASONS[term]}: {against}"
    term = decisive(separate, together, _fused_without(fusion, fused, parts, sms)) or "bytes"
    reasons: dict[Criterion, str] = {
        "parallelism": f"but its {one.grid} blocks use {100 * fill(float(one.grid), sms):.0f} % of {sms} SMs",
        "units": "but one block is resident, whose matrix and CUDA-core phases take turns",
        "numerics": "and would save more if the intermediate had not to be in memory all the same",
        "reuse": f"but its blocks read {size_text(fused.work.cached)} from L2",
        "bytes": "which the bound does not show",
    }
    return SPLIT, term, f"{saved}, {reasons[term]}: {against}"


_FUSE_REASONS: dict[Criterion, str] = {
    "bytes": "",
    "parallelism": ", and its grid uses the SMs better than those of the parts",
    "units": ", and what takes turns apart works at once in one kernel",
}


def _fused_without(fusion: Fusion, fused: _Fused, parts: list[_Part], sms: int) -> dict[Criterion, Cost]:
    """The cost of the fused kernel with one term brought to what the other version has."""
    work = fused.work
    kept = sum(fusion.stages[place].program.tensor_bytes(t) for place, t in _kept(fusion))
    apart = max(work.memory, sum(part.choice.work.cached for part in parts))
    grids = [part.choice.work.grid for part in parts]
    changed: dict[Criterion, Work] = {
        "parallelism": replace(work, grid=fuller([work.grid, *grids], sms)),
        "units": replace(work, serial=False),
        "numerics": replace(work, memory=work.memory - kept, cached=work.cached - kept),
        "reuse": replace(work, cached=min(work.cached, apart)),
    }
    rates = parts[fusion.anchor].bound.rates
    return {term: Cost(least_s(other, rates, sms), other.memory) for term, other in changed.items()}


def _kept(fusion: Fusion) -> set[tuple[int, Tensor]]:
    """Intermediates that the fused kernel writes all the same."""
    return {(c.before, c.out) for c in fusion.crossings if fusion.stages[c.before].keeps}


def _split_without(fusion: Fusion, fused: _Fused, parts: list[_Part], sms: int) -> dict[Criterion, Cost]:
    """The cost of the parts with one of their disadvantages taken away."""
    crossed = [
        sum(
            fusion.stages[place].program.tensor_bytes(tensor)
            for tensor in {c.operand for c in fusion.crossings if c.after == place}
            | {c.out for c in fusion.crossings if c.before == place and not fusion.stages[place].keeps}
        )
        for place in range(len(parts))
    ]
    works = [part.choice.work for part in parts]
    changed: dict[Criterion, list[Work]] = {
        "bytes": [replace(w, memory=w.memory - x, cached=w.cached - x) for w, x in zip(works, crossed, strict=True)],
        "parallelism": [replace(work, grid=fuller([work.grid, fused.work.grid], sms)) for work in works],
    }
    return {
        term: Cost(
            sum(least_s(work, part.bound.rates, sms) for work, part in zip(others, parts, strict=True)),
            sum(work.memory for work in others),
        )
        for term, others in changed.items()
    }


def _alive_text(fusion: Fusion, fused: _Fused) -> str:
    if fusion.entrywise:
        return f"the staged tiles of {fusion.stages[fusion.anchor].name} and its accumulators in registers"
    return f"intermediates of {fused.units} of {fusion.units} units, at least"


def _notes(problem: Problem, rates: Rates, fusion: Fusion) -> list[str]:
    notes = [bound_note(rates)]
    if problem.fuse.count == "outputs":
        notes.append("bytes: outputs only, as [fuse] count says")
    notes += [_reshape(fusion, c) for c in fusion.crossings if c.reshaped]
    if not fusion.entrywise:
        notes.append(
            "a reduction over the intermediate is taken to need it whole; one with a blockwise form (online softmax) "
            "is an operator of its own here: attention"
        )
    return notes


def _reshape(fusion: Fusion, c: Crossing) -> str:
    """What a consumer makes of the axes that it reads."""
    before, after = (" x ".join(map(str, tensor.shape)) for tensor in (c.out, c.operand))
    one, other = fusion.stages[c.before].name, fusion.stages[c.after].name
    return f"{other} reads the {before} of {one} as {after}: the same entries in the same order"
