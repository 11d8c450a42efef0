"""Cases that need no tile: a launch, bytes that a tool reported, a rate, a buffer of an NPU."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from tilesearch.api.verify.cases.devices import device_of
from tilesearch.api.verify.cases.rows import Answered, Case, SkippedError
from tilesearch.kernels.base import language_data
from tilesearch.rules.compiled import register_cap
from tilesearch.rules.evaluate import evaluate
from tilesearch.rules.expr import const
from tilesearch.rules.limits import number, numbers
from tilesearch.rules.occupancy import Load, launch_registers
from tilesearch.specs.devices import AmdDevice, Device, NvidiaDevice, load_device
from tilesearch.specs.devices.ascend import AscendDevice

ABOVE_PEAK = 1.05
"""A measured rate so far above the peak says that the peak is wrong (the fifth misreading of a roofline)."""


def direct_answer(case: Case) -> Answered | None:
    """The answer to a case that needs no model of a kernel; None for the others."""
    rule = _DIRECT.get(case.op.kind)
    if rule is not None:
        return rule(case)
    if {"threads", "regs_per_thread"} <= set(case.config):
        return _launch(case)
    if "shared_bytes" in case.config:
        return _reported_bytes(case)
    if "launch_bound" in case.config:
        return _launch_bound(case)
    if "grid" in case.config:
        return _grid(case)
    return None


def _nvidia(case: Case) -> NvidiaDevice:
    found = device_of(case.device, case.limit_bytes) or load_device("cc90")
    if not isinstance(found, NvidiaDevice):
        raise SkippedError(f"registers of {found.vendor} devices are not modelled")
    return found


def _launch(case: Case) -> Answered:
    """A launch of so many threads with so many registers: rounded per warp and per sub-partition."""
    device = _nvidia(case)
    load = Load(const(case.number("threads")), const(case.number("regs_per_thread")), const(0))
    charged = int(evaluate(launch_registers(device, load), {}))
    fits = charged <= number(device, "registers_per_block")
    return Answered("fits" if fits else "infeasible", () if fits else ("C2",), {"regs_per_block": charged})


def _launch_bound(case: Case) -> Answered:
    """A promised number of threads caps the registers of each, whatever is launched."""
    cap = int(evaluate(register_cap(_nvidia(case), const(case.number("launch_bound"))), {}))
    fits = case.number("regs_wanted") <= cap
    return Answered("fits" if fits else "spills", () if fits else ("C2",), {"reg_cap": cap})


def _reported_bytes(case: Case) -> Answered:
    """Only the bytes are known: they are compared with what one block may have."""
    wanted = case.number("shared_bytes")
    device = device_of(case.device, case.limit_bytes)
    known = (
        number(device, "shared_per_block_optin") if isinstance(device, NvidiaDevice | AmdDevice) else case.limit_bytes
    )
    if known is None:
        raise SkippedError("neither the device nor its limit is known")
    fits = wanted <= known
    return Answered("fits" if fits else "infeasible", () if fits else ("C1",), {"shared_required": wanted})


def _roofline(case: Case) -> Answered:
    """A rate above the peak is no verdict on a tile: it says that the peak is wrong."""
    efficiency = case.config["measured_gflops"] / case.config["peak_gflops"]
    return Answered("unknown" if efficiency > ABOVE_PEAK else "fits", (), {"efficiency": efficiency})


def _ascend(case: Case) -> AscendDevice:
    found: Device | None = device_of(case.device, case.limit_bytes)
    if not isinstance(found, AscendDevice):
        raise SkippedError("the device is no Ascend NPU")
    return found


def _buffer(case: Case, name: str, limit: str, wanted: int) -> Answered:
    capacity = number(_ascend(case), limit)
    fits = wanted <= capacity
    return Answered("fits" if fits else "infeasible", () if fits else ("C1",), {name: wanted})


def _width(case: Case, *names: str) -> int:
    """Bytes of an element of the first operand that is named; fp32 where none is."""
    bits = {"fp16": 16, "bf16": 16, "fp32": 32, "int8": 8, "fp8": 8, "int32": 32}
    return next((bits[case.op.dtypes[n]] // 8 for n in names if case.op.dtypes.get(n) in bits), 4)


def _cube(case: Case) -> Answered:
    """One operand of the Cube in its buffer: L0A holds M x K, L0B holds K x N."""
    if "n" in case.config:
        return _buffer(case, "L0B_required", "l0b_bytes", case.number("k") * case.number("n") * _width(case, "b", "a"))
    return _buffer(case, "L0A_required", "l0a_bytes", case.number("m") * case.number("k") * _width(case, "a"))


def _vector(case: Case) -> Answered:
    """Elements in the unified buffer, twice where the compiler double-buffers."""
    config = case.config
    if "elements" in config:
        elements = case.number("elements")
    elif "block" in config:
        raise SkippedError("the compiler's temporaries are not known: the naive count is no answer")
    else:
        sizes = [v for n, v in config.items() if n.startswith("block_") and isinstance(v, int)]
        if not sizes:
            raise SkippedError("the report does not give the elements")
        elements = prod(sizes)
    wanted = elements * _width(case, "x") * case.number("multi_buffer", 1)
    return _buffer(case, "UB_required", "ub_bytes", wanted)


def _grid(case: Case) -> Answered:
    """Programs of a launch: each axis against the device's, or all of them against what an NPU's launcher numbers."""
    given = case.config["grid"]
    grid = given if isinstance(given, list) else [given]
    programs = prod(grid)
    device = device_of(case.device, case.limit_bytes)
    if isinstance(device, AscendDevice):
        fits = programs <= language_data("triton")["ascend_programs"]["value"]
    else:
        most = numbers(_nvidia(case), "max_grid")
        fits = all(axis <= limit for axis, limit in zip(grid, most, strict=False))
    return Answered("fits" if fits else "infeasible", () if fits else ("C4",), {"grid": programs})


_DIRECT: dict[str, Callable[[Case], Answered]] = {
    "launch": _launch,
    "reported_bytes_only": _reported_bytes,
    "roofline": _roofline,
    "cube": _cube,
    "vector": _vector,
}
