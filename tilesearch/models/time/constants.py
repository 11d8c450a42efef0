"""The named constants of the time model, read from the [time] table of a device file.

Inside the model lengths of time are ns, rates are B/ns (GB/s) and cycles are cycles of the boost clock; a device file
holds SI units, and says of each constant what it means, how it came about (measured, fitted or pinned) and its spread.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources
from typing import Literal

from tilesearch.specs.devices import Device, NvidiaDevice, load_device
from tilesearch.specs.devices.quantities import Quantity
from tilesearch.specs.instructions import instructions_for

Strength = Literal["calibrated", "datasheet only"]

_SCALE = {"s": 1e9, "B/s": 1e-9, "cycles": 1.0, "B/clk/SM": 1.0, "FLOP/clk/SM": 1.0, "B": 1.0, "": 1.0}
"""From the units of a device file to those of the model."""


@dataclass(frozen=True)
class Constants:
    """What the physics needs to know of a device. The device file says what each one means and where it is from."""

    # Of the chip.
    sms: float
    clock: float  # cycles a ns
    tensor_flops: float  # a cycle and SM, 16-bit operands
    fp32_lanes: float
    launch_floor: float
    l2_to_sm: float
    dram_stream: float
    l2_reach: float
    l2_sharpness: float
    l2_copies: float
    drift_alone: float
    drift_shared: float
    dirty_lines: float
    shared_line: float
    merged_share: float
    merge_floor: float
    block_dispatch: float
    # Of a load and its stage.
    l2_latency: float
    dram_latency: float
    stage_rate: float
    misaligned: float
    out_of_bounds_row: float
    # Of a step of the loop.
    shared_rate: float
    wgmma_least: float
    wgmma_chain: float
    mma_share: float
    mma_chain: float
    mma_issue: float
    loop_overhead: float
    loop_warps: float
    producer_overhead: float
    copy_issue: float
    async_issue: float
    narrow_a: float
    narrow_b: float
    serialised_8bit: float
    local_rate: float
    # Of a block.
    block_ends: float
    stream_ends: float
    epilogue_rate: float
    pointer_epilogue: float
    direct_epilogue: float
    ends_hidden: float
    ends_overlap: float
    persistent_ends: float
    flat_ends: float
    second_launch: float
    # Of other kernels.
    special_rate: float
    softmax_operations: float
    softmax_serial: float
    rescale_operations: float
    row_element: float
    row_start: float
    row_spill: float
    vector_step: float
    vector_product: float
    vector_output: float
    vector_operand: float
    # How times combine.
    norm_sm: float
    norm_chip: float
    smear: float
    strength: Strength = "calibrated"


def constants_of(device: Device) -> Constants | str:
    """The constants of a device, or the reason why there is no time model for it."""
    if not isinstance(device, NvidiaDevice):
        return f"no time model for {device.name}: its constants describe NVIDIA GPUs"
    sms, clock = device.sm_count.value, device.clocks.get("boost")
    if sms is None or clock is None or clock.value is None:
        lacking = "sm_count" if sms is None else "the boost clock ([clocks] boost)"
        return f"no time model for {device.name}: {lacking} is not known"
    wrong = _wrong(device)
    if wrong:
        return f"no time model for {device.name}: {wrong}"
    names = [f.name for f in fields(Constants) if f.name not in ("sms", "clock", "strength")]
    given = {name: _scaled(device.time[name]) for name in names if name in device.time}
    found = {name: value for name, value in given.items() if value is not None}
    strength: Strength = "calibrated"
    if len(found) < len(names):
        derived = _transferred(device, float(sms), float(clock.value))
        if isinstance(derived, str):
            return derived
        found = derived | found
        strength = "datasheet only"
    return Constants(sms=float(sms), clock=float(clock.value) * 1e-9, strength=strength, **found)


_DIVISORS = ("fp32_lanes", "mma_share", "norm_sm", "norm_chip")
"""Constants without a unit that times are divided by, or are exponents of."""


def _wrong(device: Device) -> str:
    """What is wrong with a constant of the device: another unit than the physics reads, or nothing to divide by."""
    for name, unit in _units().items():
        given = device.time.get(name)
        if given is None or given.value is None:
            continue
        if given.unit != unit:
            return f"time.{name} is wanted in {unit or 'no unit'}, got {given.unit or 'no unit'}"
        if name in _DIVISORS and given.value == 0:
            return f"time.{name} is zero"
    return ""


@cache
def _units() -> dict[str, str]:
    """The unit of every constant, as the device has it that the model was made on."""
    known = {field.name for field in fields(Constants)}
    return {name: given.unit for name, given in load_device(_ORIGIN).time.items() if name in known}


_ORIGIN = "h200"


def _scaled(quantity: Quantity) -> float | None:
    return None if quantity.value is None else float(quantity.value) * _SCALE[quantity.unit]


@cache
def _table() -> dict[str, dict[str, float | str]]:
    text = resources.files("tilesearch.models.time").joinpath("transferred.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _transferred(device: NvidiaDevice, sms: float, clock: float) -> dict[str, float] | str:
    """Constants of a device that nobody measured: rates from its datasheet, the rest kept from a measured device."""
    bandwidth, l2 = device.bandwidth.theoretical.value, device.l2_bytes.value
    roof = device.roofs.get("tensor_core.fp16")
    lanes = device.roofs.get("cuda_core.fp32")
    if bandwidth is None or l2 is None or roof is None or roof.theoretical.value is None:
        return f"no time model for {device.name}: bandwidth, l2_bytes or the roof tensor_core.fp16 is not known"
    if lanes is None or lanes.theoretical.value is None:
        return f"no time model for {device.name}: the roof cuda_core.fp32 is not known"
    table, warp = _table(), float(device.warp_size.value or 1)
    share: Mapping[str, float | str] = table["share"]
    kept = {name: float(value) for name, value in table["kept"].items()}
    if all(found.family == "mma" for found in instructions_for(device, "fp16", "fp32")):
        kept["mma_share"] = 1.0  # the roof is that of mma itself where there is nothing wider
    return kept | {
        "l2_to_sm": float(share["l2_to_sm"]) * float(share["l2_bytes_per_cycle"]) * sms * clock * 1e-9,
        "dram_stream": float(share["dram_stream"]) * float(bandwidth) * 1e-9,
        "l2_reach": float(share["l2_reach"]) * float(l2),
        "tensor_flops": float(roof.theoretical.value) / (sms * clock),
        "fp32_lanes": warp * round(float(lanes.theoretical.value) / (2 * sms * clock * warp)),
    }
