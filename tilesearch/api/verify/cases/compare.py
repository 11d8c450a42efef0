"""Answering every case from its inputs, and comparing verdict, constraint and numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tilesearch.answers import CheckAnswer, VerifyAnswer
from tilesearch.api.check import check
from tilesearch.api.verify.cases.devices import device_of
from tilesearch.api.verify.cases.direct import direct_answer
from tilesearch.api.verify.cases.problems import pose
from tilesearch.api.verify.cases.rows import Answered, Case, Number, SkippedError
from tilesearch.api.verify.replay import Tally, read_rows
from tilesearch.errors import InputError
from tilesearch.specs.devices import AmdDevice, NvidiaDevice, load_device

_ANY_DEVICE = "cc90"  # for a rule of the language alone, where the report names no device
_MODELLED = "modelled"  # certainty of bytes that nobody saw


def verify_cases(files: list[Path]) -> VerifyAnswer:
    """Answer every case of `files` from its inputs alone and compare.

    A spill that the file counts as infeasible is our `spills`. Where the file expects `unknown` the verdict is
    not compared, and numbers that its certainty calls modelled are not: nobody saw them. A case is skipped,
    with the reason, where its operator, device or tile is not known well enough.
    """
    tally = Tally("cases")
    for _, case in read_rows(files, Case, "cases"):
        try:
            answered = direct_answer(case) or _by_rules(case)
        except SkippedError as reason:
            tally.skip(case.id, str(reason))
            continue
        expected, got = _expected(case), _got(case, answered)
        tally.compare(case.id, expected, got)
    return tally.answer()


def _by_rules(case: Case) -> Answered:
    """The case as a problem, judged."""
    posed = pose(case)
    found = device_of(case.device, case.limit_bytes)
    known = isinstance(found, NvidiaDevice | AmdDevice)
    try:
        answer = check(
            posed.op, found if known and found else load_device(_ANY_DEVICE), posed.tile, kernel=posed.kernel
        )
    except InputError as error:
        raise SkippedError(str(error)) from None
    if not known:
        return _by_the_language(case, answer)
    constraints = list(dict.fromkeys(name[:2] for name in answer.violations))
    metrics = answer.metrics
    if not constraints and _leaves_processors_idle(case, answer):
        constraints.append("C4")
    numbers = {
        "shared_required": metrics.shared_bytes,
        "accumulator_regs_per_thread": metrics.accumulators_per_thread,
        "grid": metrics.grid,
        "waves": _waves(case, answer),
    }
    return Answered(answer.verdict, tuple(constraints), {n: v for n, v in numbers.items() if v is not None})


def _by_the_language(case: Case, answer: CheckAnswer) -> Answered:
    """What the language refuses on any device; whether the rest fits an unknown device cannot be said."""
    if any(name.startswith("C3.") for name in answer.violations):
        return Answered("infeasible", ("C3",))
    raise SkippedError(f"{case.device}: this device is not modelled in that language")


def _slots(case: Case, answer: CheckAnswer) -> int | None:
    """Blocks that run at once, on as many SMs as the report says; None where it does not."""
    sms = case.op.shapes.get("sms")
    return sms * max(1, answer.metrics.blocks_per_sm or 1) if isinstance(sms, int) else None


def _waves(case: Case, answer: CheckAnswer) -> int | None:
    slots, grid = _slots(case, answer), answer.metrics.grid
    return answer.metrics.waves if slots is None or grid is None else -(-grid // slots)


def _leaves_processors_idle(case: Case, answer: CheckAnswer) -> bool:
    """Whether the last wave is not full: parallelism is then what binds a tile that breaks no rule."""
    slots, grid = _slots(case, answer), answer.metrics.grid
    return slots is not None and grid is not None and grid % slots != 0


def _expected(case: Case) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    if case.expected_verdict == "feasible":
        facts["verdict"] = "fits"
    elif case.expected_verdict == "infeasible":
        facts["verdict"] = "spills" if case.severity == "spill" else "infeasible"
    facts["constraint"] = case.expected_constraint
    facts.update({number.name: number.value for number in _observed(case)})
    return facts


def _observed(case: Case) -> list[Number]:
    return [] if _MODELLED in case.certainty + case.certainty_detail else case.expected_numbers


def _got(case: Case, answered: Answered) -> dict[str, Any]:
    """Our answer, with the file's value where a number is within its tolerance."""
    hit = case.expected_constraint in answered.constraints
    constraint = case.expected_constraint if hit else (answered.constraints[0] if answered.constraints else "none")
    got: dict[str, Any] = {"verdict": answered.verdict, "constraint": constraint}
    for number in _observed(case):
        value = answered.numbers.get(number.name)
        near = value is not None and abs(value - number.value) <= number.tolerance_abs
        got[number.name] = number.value if near else value
    return got
