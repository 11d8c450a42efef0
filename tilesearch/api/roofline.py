"""roofline: is the operator worth tiling at all, and what is the lower bound on its time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tilesearch.answers.roofline import (
    Analyzer,
    LedgerTerm,
    MeasuredBytes,
    MeasuredTime,
    Misreading,
    PolicyUsed,
    RateUsed,
    RoofLine,
    RooflineAnswer,
    UnitTime,
)
from tilesearch.api.context import DeviceLike, make
from tilesearch.api.measurements import measured_count, measured_time
from tilesearch.api.sweep import SweepLike, sweep_bounds
from tilesearch.api.tiles import full_tile, movement, smallest_tile
from tilesearch.errors import InputError, Issue
from tilesearch.kernels.generic import available_instructions
from tilesearch.ledger import Bound, bound_of, ledger_of, rates_for
from tilesearch.ledger.analyzer import reconcile
from tilesearch.ledger.measured import judge_bytes, judge_time
from tilesearch.ledger.misreadings import Case, misreadings
from tilesearch.program import Program, lower
from tilesearch.rules.geometry import Geometry
from tilesearch.specs.devices import Effective, NvidiaDevice
from tilesearch.specs.ops import OpSpec
from tilesearch.specs.problems import Problem

TileLike = str | Mapping[str, int]


@dataclass(frozen=True)
class Question:
    """What may be asked beside the bound: sizes to sweep, measurements to judge, a tile to reconcile.

    `measured_us` is a kernel's time, `measured_bytes` what main memory moved; `tile` is the tile that the
    latter, and `analyzer`, are about (default: the smallest).
    """

    sweep: SweepLike | None = None
    measured_us: float | None = None
    measured_bytes: float | None = None
    tile: TileLike | None = None
    analyzer: bool = False


def roofline(
    op: OpSpec | Problem,
    device: DeviceLike | None = None,
    *,
    policy: str | None = None,
    model: Mapping[str, Any] | None = None,
    sweep: SweepLike | None = None,
    measured_us: float | None = None,
    measured_bytes: int | None = None,
    tile: TileLike | None = None,
    analyzer: bool = False,
) -> RooflineAnswer:
    """The ledger of `op`, its lower bound on `device`, and its class on every roof of the device.

    `policy` chooses the calibrations (``ceiling``, ``predict``, ``datasheet``, ``seed``), as ``[model] roofs``
    does. Raises `InputError` for a roof that the device does not have and `UnknownLimitError` for an unknown
    rate.
    """
    table = {**(model or {}), **({} if policy is None else {"roofs": policy})}
    question = Question(sweep, measured_us, measured_bytes, tile, analyzer)
    return roofline_problem(make(op, device, model=table or None), question)


def bound_for(problem: Problem, op: OpSpec | None = None) -> tuple[Program, Bound]:
    """The program of a problem and its bound; `op` stands in for the problem's operator.

    Raises `InputError` for a roof, or an instruction that applies block scales, that the device does not have.
    """
    program = lower(op or problem.op)
    if isinstance(problem.device, NvidiaDevice) and any(product.scaled for product in program.contractions):
        available_instructions(problem.device, program)  # block scales need an instruction that applies them
    ledger = ledger_of(program)
    try:
        rates = rates_for(program, problem.device, problem.model.roofs, ledger.read_share)
    except InputError as error:
        where = "op.roof" if problem.op.roof else "op.dtype"
        placed = [i if i.where else replace(i, where=where) for i in error.issues]
        raise InputError(placed) from None
    return program, bound_of(ledger, rates)


def roofline_problem(problem: Problem, question: Question | None = None) -> RooflineAnswer:
    """`roofline` for a problem that is ready."""
    question = question or Question()
    if question.tile is not None and question.measured_bytes is None and not question.analyzer:
        raise InputError(Issue("a bound has no tile", "tile", hint="it goes with measured_bytes or analyzer"))
    program, bound = bound_for(problem)
    naive = movement(program, smallest_tile(problem, program))
    timed = _measured(bound, question.measured_us)
    case = Case(program, bound, naive.lookup, None if timed is None else timed.efficiency)
    answer = _answer(problem, bound, case)
    return answer.model_copy(
        update={
            "measured": timed,
            "measured_bytes": _measured_bytes(problem, program, bound, question),
            "sweep": _swept(problem, question),
            "analyzer": _analyzer(problem, program, bound, question) if question.analyzer else None,
        }
    )


def _answer(problem: Problem, bound: Bound, case: Case) -> RooflineAnswer:
    ledger, rates = bound.ledger, bound.rates
    units = [_unit(unit, ledger.flops_by_unit[unit], time) for unit, time in bound.own_units().items()]
    return RooflineAnswer(
        flops=ledger.flops,
        bytes=ledger.bytes,
        intensity=ledger.intensity,
        terms=[LedgerTerm(name=x.name, flops=x.flops, bytes=x.bytes, unit=x.unit) for x in ledger.lines],
        roofs=[_roof(bound, name) for name in problem.device.roofs],
        roof=rates.roof.name,
        memory_us=bound.memory_s * 1e6,
        compute_us=bound.compute_s * 1e6,
        sol_us=bound.sol_s * 1e6,
        class_=bound.kind,
        misreadings=[Misreading(id=m.id, holds=m.holds, factor=m.factor, text=m.text) for m in misreadings(case)],
        balance=rates.balance,
        latency_bound=bound.latency_bound,
        launch_floor_us=None if rates.launch_floor is None else rates.launch_floor * 1e6,
        payload_bytes=ledger.payload,
        lookup_bytes=ledger.lookup,
        special=ledger.special,
        units=units,
        policy=PolicyUsed(name=rates.policy, bandwidth=_rate(rates.bandwidth), roof=_rate(rates.roof)),
        notes=_notes(bound, units),
    )


def _unit(name: str, flops: int, time: float | None) -> UnitTime:
    return UnitTime(unit=name, flops=flops, compute_us=None if time is None else time * 1e6)


def _roof(bound: Bound, name: str) -> RoofLine:
    rates = bound.rates
    found, reason = (rates.roof, "") if name == rates.roof.name else rates.look_up(name)
    if found is None:
        return RoofLine(
            name=name,
            peak_flops=None,
            balance=None,
            class_="unknown",
            compute_us=None,
            calibration=None,
            edition="",
            note=reason,
        )
    return RoofLine(
        name=name,
        peak_flops=found.value,
        balance=rates.balance_of(found),
        class_=bound.class_on(found),
        compute_us=bound.compute_on(found) * 1e6,
        calibration=found.calibration_id,
        edition=found.edition,
        note=found.note,
    )


def _rate(found: Effective) -> RateUsed:
    return RateUsed(
        name=found.name,
        value=found.value,
        theoretical=found.theoretical,
        calibration=found.calibration_id,
        kind=found.kind,
        edition=found.edition,
        source=found.source,
        note=found.note,
    )


def _notes(bound: Bound, units: list[UnitTime]) -> list[str]:
    """What the numbers do not say by themselves."""
    rates, notes = bound.rates, ["a bound, not a prediction: no kernel is faster, every real one is slower"]
    notes += [f"{found.name}: {found.note}" for found in (rates.bandwidth, rates.roof) if found.note]
    if bound.latency_bound:
        notes.append("latency-bound: the bound is below the launch floor, so the model has no traction here")
    if bound.latency_bound is None:
        notes.append(f"whether launches dominate is not judged: no launch floor is known for {rates.device.name}")
    unknown = [u.unit for u in units if u.compute_us is None]
    if unknown:
        notes.append(f"the rate of {', '.join(unknown)} is not known under this policy: priced on {rates.declared}")
    slower = [u for u in units if u.compute_us is not None and u.compute_us * 1e-6 > bound.sol_s]
    notes += [f"{u.unit} alone needs {u.compute_us:.4g} us for its operations, above the bound" for u in slower]
    return notes


def _measured(bound: Bound, given: float | None) -> MeasuredTime | None:
    time_us = measured_time(given)
    if time_us is None:
        return None
    verdict = judge_time(bound, time_us * 1e-6)
    return MeasuredTime(
        time_us=time_us,
        efficiency=verdict.efficiency,
        band=verdict.band,
        implied_gbs=verdict.bandwidth / 1e9,
        implied_tflops=verdict.rate / 1e12,
        suspect=verdict.suspect,
        text=verdict.text,
    )


def _measured_bytes(problem: Problem, program: Program, bound: Bound, question: Question) -> MeasuredBytes | None:
    count = measured_count(question.measured_bytes)
    if count is None:
        return None
    tile = full_tile(problem, program, question.tile or {})
    verdict = judge_bytes(count, bound.ledger.bytes, movement(program, tile).total)
    return MeasuredBytes(
        bytes=verdict.bytes,
        compulsory_bytes=verdict.compulsory,
        tile=tile,
        tile_bytes=verdict.tile,
        followed=verdict.followed,
        caught=verdict.caught,
        text=verdict.text,
    )


def _swept(problem: Problem, question: Question) -> Any:
    if question.sweep is None:
        return None
    return sweep_bounds(problem.op, question.sweep, lambda op: bound_for(problem, op)[1])


def _analyzer(problem: Problem, program: Program, bound: Bound, question: Question) -> Analyzer:
    tile = full_tile(problem, program, question.tile or {})
    found = reconcile(program, Geometry(program, frozenset(tile)), tile)
    memory, compute = found.global_bytes / bound.rates.bandwidth.value, found.gemm_flops / bound.rates.roof.value
    return Analyzer(
        tile=tile,
        gemm_flops=found.gemm_flops,
        ledger_flops=bound.ledger.flops,
        global_bytes=found.global_bytes,
        ledger_bytes=bound.ledger.bytes,
        not_counted=list(found.not_counted),
        gemm_bound_us=max(memory, compute) * 1e6,
    )
