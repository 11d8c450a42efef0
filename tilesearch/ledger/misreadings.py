"""The eight ways in which a roofline is commonly misread (seed 2.3), as checks on one problem.

A check says whether the misreading would bite here (`holds`) and by what factor the number would be wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tilesearch.ledger.bounds import Bound
from tilesearch.ledger.rates import Rates
from tilesearch.ledger.stages import unfused
from tilesearch.program.form import Program, Role
from tilesearch.program.units import SPECIAL
from tilesearch.specs.devices import Effective

MATERIAL = 1.05
"""The least factor that counts: a nearer one is within what calibrations themselves are uncertain by."""


@dataclass(frozen=True)
class Case:
    """One problem to check: its program and bound, the look-ups of its smallest tile, a measured time if any."""

    program: Program
    bound: Bound
    naive_lookup: int
    efficiency: float | None = None

    @property
    def rates(self) -> Rates:
        """The rates of the bound."""
        return self.bound.rates


@dataclass(frozen=True)
class Finding:
    """Whether a misreading bites; `factor` is None where it cannot be known."""

    id: str
    holds: bool
    factor: float | None
    text: str


def misreadings(case: Case) -> tuple[Finding, ...]:
    """All eight, in order."""
    return tuple(check(case) for check in _CHECKS)


def _material(factor: float | None) -> bool:
    return factor is not None and factor >= MATERIAL


def _flips(case: Case, roof: Effective) -> str:
    right, wrong = case.bound.kind, case.bound.class_on(roof)
    return f"and the class turns from {right} to {wrong}" if right != wrong else f"the class stays {right} here"


def _datasheet_peak(case: Case) -> Finding:
    """M1: the datasheet's peak taken for one that can be reached."""
    rates, roof = case.rates, case.rates.roof
    calibrated = roof if rates.policy != "datasheet" else (rates.find(rates.declared, "ceiling") or roof)
    if roof.theoretical is None or calibrated.calibration_id == "datasheet":
        text = f"no calibration of {roof.name} on this device: the bound rests on the datasheet, by an unknown factor"
        return Finding("M1", True, None, text)
    factor = roof.theoretical / calibrated.value
    reached = f"{calibrated.value / 1e12:.2f} TFLOP/s ({calibrated.calibration_id})"
    text = f"{roof.name}: the datasheet says {roof.theoretical / 1e12:.1f}, {reached} is what was reached"
    return Finding("M1", _material(factor), factor, text)


def _matrix_roof(case: Case) -> Finding:
    """M2: work outside the matrix unit priced on its roof."""
    rates, matrix = case.rates, case.rates.matrix_roof
    if matrix is None:
        return Finding("M2", False, None, "this device has no matrix roof to confuse it with")
    if not rates.declared.startswith("tensor_core"):
        factor = rates.balance_of(matrix) / rates.balance
        text = (
            f"priced on {matrix.name} the balance would be {rates.balance_of(matrix):.2f} FLOP/B instead of "
            f"{rates.balance:.2f}; {_flips(case, matrix)}"
        )
        return Finding("M2", _material(factor), factor, text)
    others = {u: t for u, t in case.bound.own_units().items() if u != rates.declared}
    slow = {u: t for u, t in others.items() if t is not None and t > case.bound.sol_s * (MATERIAL - 1)}
    if not slow:
        return Finding("M2", False, 1.0, f"the arithmetic outside {rates.declared} takes no time that would show")
    unit, time = max(slow.items(), key=lambda item: item[1])
    factor = time / (case.bound.ledger.flops_by_unit[unit] / rates.roof.value)
    share = 100 * time / case.bound.sol_s
    text = f"the part on {unit} takes {time * 1e6:.3g} us there, {share:.0f} % of the bound, not the matrix unit's time"
    return Finding("M2", _material(factor), factor, text)


def _storage_type(case: Case) -> Finding:
    """M3: the roof declared by the type that inputs are stored in."""
    rates = case.rates
    types = {t.dtype.roof_name for t in case.program.tensors if t.role is Role.INPUT}
    stored = [roof for name in sorted(types) if (roof := rates.find(f"tensor_core.{name}")) is not None]
    wrong = max(stored, key=lambda roof: roof.value, default=None)
    if wrong is None or wrong.value <= rates.roof.value:
        return Finding("M3", False, 1.0, f"no input is stored in a type with a higher roof than {rates.declared}")
    factor = rates.balance_of(wrong) / rates.balance
    text = f"by storage the roof would be {wrong.name}, but {rates.declared} does the work; {_flips(case, wrong)}"
    return Finding("M3", _material(factor), factor, text)


def _one_stage(case: Case) -> Finding:
    """M4: the intensity of one stage taken for that of the fused operator."""
    apart = unfused(case.program)
    if apart is None:
        return Finding("M4", False, 1.0, "one stage: there is nothing to take for the whole")
    ideal = case.bound.ledger.bytes
    factor = (ideal + apart.extra) / ideal
    text = (
        f"as two kernels it moves {(ideal + apart.extra) / 1e6:.2f} MB ({apart.what}), fused {ideal / 1e6:.2f}; "
        f"intensity {case.bound.ledger.flops / (ideal + apart.extra):.2f} against {case.bound.ledger.intensity:.2f}"
    )
    return Finding("M4", _material(factor), factor, text)


def _special_as_one(case: Case) -> Finding:
    """M5: a special function taken for as cheap as a multiplication."""
    special = case.bound.ledger.special
    if not special:
        return Finding("M5", False, 1.0, "no special functions")
    plain = sum(
        n for u, n in case.bound.ledger.flops_by_unit.items() if not u.startswith("tensor_core") and u != SPECIAL
    )
    # An approximate weight is better than none, so a figure that `ceiling` would not trust is taken, and named.
    rate = case.rates.find(SPECIAL) or case.rates.find(SPECIAL, "predict")
    core = case.rates.find("cuda_core.fp32")
    if rate is None or core is None:
        text = f"{special} special functions; this device's rate for them is not known, so the factor is not either"
        return Finding("M5", True, None, text)
    factor = (plain / core.value + special / rate.value) / ((plain + special) / core.value)
    text = (
        f"a special function costs {core.value / rate.value:.1f} multiplications here ({rate.calibration_id}, "
        f"{rate.kind}); {special} of {plain + special} operations outside the matrix unit are such"
    )
    return Finding("M5", _material(factor), factor, text)


def _lookups(case: Case) -> Finding:
    """M6: look-up tables left out of the count because they are small."""
    ledger = case.bound.ledger
    if not ledger.lookup:
        return Finding("M6", False, 1.0, "no look-up table")
    actual = ledger.payload + case.naive_lookup
    factor = actual / ledger.bytes
    text = (
        f"tables are {ledger.lookup / 1e6:.2f} MB, {100 * ledger.lookup / ledger.bytes:.1f} % of the ideal; read anew "
        f"by each block of the smallest tile they are {case.naive_lookup / 1e6:.2f} MB, "
        f"{100 * case.naive_lookup / actual:.1f} % of what is moved"
    )
    return Finding("M6", _material(factor), factor, text)


def _no_traction(case: Case) -> Finding:
    """M7: numbers read where the model has no traction."""
    floor, sol = case.rates.launch_floor, case.bound.sol_s
    if floor is None:
        return Finding("M7", False, None, "the launch floor of this device is not known")
    text = f"the bound is {sol * 1e6:.3f} us, an empty launch takes {floor * 1e6:.1f} us"
    if sol < floor:
        return Finding("M7", True, floor / sol, f"{text}: the model has no traction; count launches, not efficiency")
    return Finding("M7", False, 1.0, text)


def _above_all(case: Case) -> Finding:
    """M8: more than 100 % efficiency taken for a good kernel."""
    if case.efficiency is None:
        return Finding("M8", False, None, "no measured time to judge")
    text = f"efficiency {100 * case.efficiency:.1f} % of the bound"
    if case.efficiency > MATERIAL:
        return Finding(
            "M8", True, case.efficiency, f"{text}: an error in the formula or the reading, not a good kernel"
        )
    return Finding("M8", False, case.efficiency, text)


_CHECKS: tuple[Callable[[Case], Finding], ...] = (
    _datasheet_peak,
    _matrix_roof,
    _storage_type,
    _one_stage,
    _special_as_one,
    _lookups,
    _no_traction,
    _above_all,
)
