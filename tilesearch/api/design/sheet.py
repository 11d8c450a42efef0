"""The design sheet, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilesearch.answers import Candidate, SolveAnswer
from tilesearch.answers.design import (
    DesignAnswer,
    PipelineAnswer,
    ReviewItem,
    SizeAnswer,
    Skeleton,
    SpecialPathAnswer,
    TileSheet,
)
from tilesearch.answers.roofline import RooflineAnswer
from tilesearch.api.context import model_of
from tilesearch.api.design.advice import advice
from tilesearch.api.design.diagnosis import diagnosis
from tilesearch.api.design.front import front
from tilesearch.api.design.versions import Sheet, Version
from tilesearch.api.measurements import measured_count
from tilesearch.api.roofline import Question, bound_for, roofline_problem
from tilesearch.api.solve import solve_problem
from tilesearch.api.tiles import generic_tile
from tilesearch.api.tilesets import CUT_SHORT, TileSet
from tilesearch.api.timing import rank_of
from tilesearch.errors import InfeasibleError, InputError, Issue
from tilesearch.kernels.export import export
from tilesearch.kernels.generic import available_instructions, instruction_choice
from tilesearch.kernels.skeletons import tilelang_skeleton, triton_skeleton
from tilesearch.ledger.antipatterns import Design, review
from tilesearch.ledger.criteria import (
    BUSY,
    FEW,
    Paths,
    PipelineCriterion,
    SpecialPath,
    pipeline,
    special_paths,
    tile_size,
)
from tilesearch.ledger.misreadings import Case, misreadings
from tilesearch.rules.evaluate import evaluate
from tilesearch.rules.geometry import Geometry
from tilesearch.rules.limits import number
from tilesearch.specs.devices import NvidiaDevice
from tilesearch.specs.kernels import KernelSpec
from tilesearch.specs.problems import Problem

_WIDE = ("wgmma", "tcgen05")
_IN_USE = {"split_k": "split-K / split-KV / stream-K", "group_m": "L2 raster (group_m)"}
_CLUSTER = "cluster multicast"
_BULK = "TMA / bulk copy"
_LANE_BYTES = 4
"""What a lane of a warp reads of shared memory at once: a row of banks is a warp of these."""


@dataclass(frozen=True)
class Measured:
    """What was measured of a kernel with the chosen tile: its time, and the bytes that main memory moved."""

    time_us: float | None = None
    bytes: float | None = None


def design_problem(problem: Problem, measured: Measured | None = None) -> DesignAnswer:
    """`design` for a problem that is ready."""
    measured = measured or Measured()
    device = problem.device
    if not isinstance(device, NvidiaDevice):
        raise InputError(Issue(f"the design sheet has no rules for {device.vendor} devices yet", "device"))
    program, bound = bound_for(problem)
    solved = solve_problem(problem.replace(search=problem.search.model_copy(update={"top": 1})))
    best = _best(problem, solved)
    sheet = Sheet(program, bound, device, model_of(problem))
    tiles = TileSet(problem, program, bound)
    first, naive = sheet.version(best.tile.as_dict()), _naive(sheet, tiles)
    chosen = staged(tiles, first)
    known = generic_tile(problem, program, chosen.tile)
    tile = known if measured_count(measured.bytes) is not None else None
    question = Question(measured_us=measured.time_us, measured_bytes=measured.bytes, tile=tile)
    ledger = roofline_problem(problem, question)
    found = pipeline(chosen.signals)
    paths = special_paths(chosen.signals, _offers(sheet, chosen))
    rank = solved.rank
    complete = tiles.complete and solved.proved_optimal
    return DesignAnswer(
        op=problem.op.model_dump(exclude_none=True),
        device=device.name,
        ledger=ledger,
        class_=bound.kind,
        advice=advice(ledger, naive, chosen, found, rank, best.tied),
        tile=_tile_sheet(problem, tiles, first, solved, best),
        pipeline=_pipeline(found, first, chosen),
        special_paths=[
            SpecialPathAnswer(path=p.path, decision=p.decision, signal=p.signal, cost=p.cost) for p in paths
        ],
        diagnosis=diagnosis(naive, chosen, problem.model.blocks_per_sm),
        review=_review(problem, sheet, naive, chosen, found, paths, best, ledger),
        skeleton=_skeleton(sheet, chosen),
        complete=complete,
        notes=[*_cut_short(complete), *ledger.notes, *_language_note(problem, chosen.tile)],
    )


def _best(problem: Problem, solved: SolveAnswer) -> Candidate:
    if not solved.candidates and solved.status == "unknown":
        raise TimeoutError(f"{CUT_SHORT}, or by a limit that is not known, before a tile was found to fit")
    if not solved.candidates:
        raise InfeasibleError(Issue("no tile fits", "space", problem.source, "`tilesearch explain` says why"))
    return solved.best


def _cut_short(complete: bool) -> list[str]:
    if complete:
        return []
    return [f"{CUT_SHORT}: the chosen tile is the best of those that were seen, and others may be better"]


def _offers(sheet: Sheet, chosen: Version) -> Paths:
    """What the device and the operands offer to special paths."""
    device, program = sheet.device, sheet.program
    copies = device.tma.global_address_alignment.value if device.tma is not None else None
    cluster = device.cluster_max_size.value
    registers = device.max_registers_per_thread.value
    return Paths(
        warpgroup=_warpgroup(sheet, chosen) if program.roof.startswith("tensor_core") else None,
        copy_bytes=None if copies is None else int(copies),
        cluster=cluster is not None and cluster > 1,
        register_limit=None if registers is None else int(registers),
        bank_span=_LANE_BYTES * number(device, "warp_size"),
    )


def _warpgroup(sheet: Sheet, chosen: Version) -> bool | None:
    """Whether the chosen tile runs on an instruction of a whole warpgroup; None where the device has none."""
    if sheet.program.contraction is None:
        return None
    wide = [i for i in available_instructions(sheet.device, sheet.program) if i.family in _WIDE]
    if not wide:
        return None
    geometry = Geometry(sheet.program, frozenset(chosen.tile))
    choice = instruction_choice(sheet.device, sheet.program, geometry)
    rows = int(evaluate(geometry.tile(sheet.program.dim(sheet.program.contraction.m)), chosen.tile))
    narrow = any(i.family == "mma" for i in available_instructions(sheet.device, sheet.program))
    return bool(evaluate(choice.warpgroup, chosen.tile)) if narrow else rows >= min(i.m for i in wide)


def _naive(sheet: Sheet, tiles: TileSet) -> Version:
    """Every block as small as the space allows; where that does not fit, the tile with the most blocks that does."""
    smallest = sheet.naive()
    return smallest if smallest.verdict == "fits" else sheet.version(front(tiles)[0])


def staged(tiles: TileSet, first: Version) -> Version:
    """The tile with its block_k and stages by the pipeline criterion: neither changes traffic or grid (seed 4.3, 5).

    Of the tiles that differ in these two only: those whose loads are covered, with the fewest stages and then the
    longest block_k; where none is, the one with the most bytes in flight. Without a loop, or without the latency
    that the criterion needs, the tile stays as it is.
    """
    found = pipeline(first.signals)
    if not first.signals.loops or found.covered is not False:
        return first
    others = [first.sheet.version(tile) for tile in tiles.alike(first.tile, ("block_k", "num_stages"))]
    covered = [v for v in others if pipeline(v.signals).covered]
    if covered:
        return min(covered, key=lambda v: (v.tile.get("num_stages", 1), -v.tile.get("block_k", 1)))
    return max(others, key=lambda v: v.signals.in_flight, default=first)


def _tile_sheet(problem: Problem, tiles: TileSet, chosen: Version, solved: SolveAnswer, best: Candidate) -> TileSheet:
    versions = _with_chosen([chosen.sheet.version(tile) for tile in front(tiles)], chosen)
    rows = [v.row(above) for v, above in zip(versions, [None, *versions], strict=False)]
    criterion = tile_size(chosen.signals)
    other = tiles.best() if chosen.signals.busy < BUSY else None
    return TileSheet(
        chosen=chosen.row(),
        candidates=rows,
        rank=solved.rank,
        tied=best.tied,
        feasible=solved.counts.feasible,
        assumed_blocks_per_sm=problem.model.blocks_per_sm,
        criterion=SizeAnswer(verdict=criterion.verdict, obeyed=criterion.obeyed, text=criterion.text),
        enough=next((row for row in rows if row.vs_ideal <= 1 + FEW), None),
        alternative=None if other is None or other.tile == chosen.tile else chosen.sheet.version(other.tile).row(),
    )


def _with_chosen(versions: list[Version], chosen: Version) -> list[Version]:
    """The lines of the table with the chosen tile among them, by falling grid."""
    grid, traffic = chosen.signals.launch.grid, chosen.signals.traffic
    others = [v for v in versions if (v.signals.launch.grid, v.signals.traffic) != (grid, traffic)]
    return sorted([*others, chosen], key=lambda v: (-v.signals.launch.grid, -v.signals.traffic))


def _pipeline(found: PipelineCriterion, first: Version, chosen: Version) -> PipelineAnswer:
    return PipelineAnswer(
        tile=chosen.tile,
        changes={name: [first.tile[name], value] for name, value in chosen.tile.items() if value != first.tile[name]},
        chosen=found.chosen,
        needed=found.needed,
        covered=found.covered,
        steps=found.steps,
        step_ns=found.step_s * 1e9,
        latency_ns=None if found.latency_s is None else found.latency_s * 1e9,
        in_flight_bytes=found.in_flight,
        in_flight_needed_bytes=found.in_flight_needed,
        text=found.text,
    )


def _review(
    problem: Problem,
    sheet: Sheet,
    naive: Version,
    chosen: Version,
    found: PipelineCriterion,
    paths: tuple[SpecialPath, ...],
    best: Candidate,
    ledger: RooflineAnswer,
) -> list[ReviewItem]:
    efficiency = None if ledger.measured is None else ledger.measured.efficiency
    moved = None if ledger.measured_bytes is None else ledger.measured_bytes.bytes
    case = Case(sheet.program, sheet.bound, naive.signals.lookup, efficiency)
    items = review(
        Design(
            signals=chosen.signals,
            findings={m.id: m for m in misreadings(case)},
            pipeline=found,
            paths=paths,
            special_in_use=_in_use(problem, chosen),
            searched=tuple(v.name for v in sheet.model.variables if len(v.domain) > 1),
            rank=rank_of(problem),
            tied=best.tied,
            verdict=chosen.verdict,
            moved=moved,
        )
    )
    return [ReviewItem(id=i.id, pattern=i.pattern, verdict=i.verdict, number=i.number, text=i.text) for i in items]


def _in_use(problem: Problem, chosen: Version) -> tuple[str, ...]:
    """The special paths that the tile or the kernel's variant takes by itself."""
    used = [path for name, path in _IN_USE.items() if chosen.tile.get(name, 1) > 1]
    if chosen.tile.get("cluster_m", 1) * chosen.tile.get("cluster_n", 1) > 1:
        used.append(_CLUSTER)
    if problem.kernel.variant is not None and "tma" in problem.kernel.variant:
        used.append(_BULK)
    return tuple(used)


def _skeleton(sheet: Sheet, chosen: Version) -> Skeleton:
    warp = number(sheet.device, "warp_size")
    program, tile = sheet.program, chosen.tile
    return Skeleton(triton=triton_skeleton(program, tile, warp), tilelang=tilelang_skeleton(program, tile, warp))


def _language_note(problem: Problem, tile: Mapping[str, int]) -> list[str]:
    language = problem.kernel.language
    notes = []
    if language != "generic":
        notes.append(f"footprint and registers are those of {language}, traffic and grid those of the operator")
    runs = [name for name in ("triton", "tilelang") if _has_template(problem, name, tile)]
    if runs:
        notes.append(f"beside the skeleton, `tilesearch export --to {' or '.join(runs)}` writes a kernel that runs")
    return notes


def _has_template(problem: Problem, name: str, tile: Mapping[str, int]) -> bool:
    """Whether another command writes the whole kernel of this operator."""
    try:
        export(name, problem.op, problem.device, KernelSpec.model_validate({"language": name}), tile)
    except InputError:
        return False
    return True
