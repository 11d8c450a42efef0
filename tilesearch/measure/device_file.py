"""A device file of what was measured: it inherits the limits, and names what stands in for what was not measured."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path

from tilesearch.answers.measured import CalibrateAnswer
from tilesearch.errors import InputError, Issue
from tilesearch.measure.gpu import Gpu
from tilesearch.measure.probes import Measured
from tilesearch.models.time import Constants
from tilesearch.specs.devices import Device, NvidiaDevice, list_devices, load_device

NEAREST = "h200"
"""The device whose fitted constants stand in for what cannot be measured alone."""

_SAME = {"l2_bandwidth": "l2_bandwidth", "tensor_flops_fp16": "tensor_flops"}
_ALONE = ("launch_floor", "block_dispatch", "dram_stream", "mma_share", "special_rate")
"""Constants of the time model that a micro-benchmark measures as the model means them."""

_RATES = {"fp16": "fp32", "bf16": "fp32", "fp8": "fp32", "int8": "int32", "tf32": "fp32"}
_MIXES = {"dram_stream": "read = 1.0", "dram_write": "write = 1.0", "dram_copy": "read = 0.5, write = 0.5"}


def same_constant(name: str) -> str | None:
    """The constant of a device file that a measurement is of; None where it is something beside the model."""
    return name if name in _ALONE else _SAME.get(name)


def shipped_for(gpu: Gpu) -> str | None:
    """The shipped device that the driver's name is an alias of."""
    try:
        return load_device(gpu.name).name
    except InputError:
        return None


def device_text(answer: CalibrateAnswer, gpu: Gpu, found: Sequence[Measured], version: str) -> str:
    """The device file, as TOML.

    A GPU that ships with the package inherits its product's file, one that does not the file of its compute
    capability. Constants of the time model that were not measured are inherited where the product was calibrated,
    and otherwise taken from the nearest calibrated device, which their source says.
    """
    product = shipped_for(gpu)
    base = product or f"cc{gpu.capability[0]}{gpu.capability[1]}"
    by_name = {item.name: item for item in found}
    source = f"measured on an {gpu.name} by tilesearch calibrate ({version})"
    lines = [
        f"# {gpu.name}, measured by tilesearch calibrate in {answer.seconds} s. {version}.",
        f"# State before: {_state(answer.before)}; after: {_state(answer.after)}.",
        *(f"# Not measured: {title}: {_line(why)}" for title, why in answer.failed.items()),
        f"name = {_text(answer.name)}",
        'vendor = "nvidia"',
        f"inherits = {_text(base)}",
        "",
    ]
    lines += _product(gpu, product is None, source)
    lines += _bandwidth(by_name, product, source)
    lines += _roofs(by_name, product, source)
    lines += ["[time]", *_time(found, base, gpu, source)]
    return "\n".join(lines) + "\n"


def _product(gpu: Gpu, unknown: bool, source: str) -> Iterator[str]:
    """Facts of the product, where no shipped file has them."""
    if not unknown:
        return
    yield f"sm_count = {{ value = {gpu.sm_count}, source = {_text(source)} }}"
    yield f'l2_bytes = {{ value = {gpu.l2_bytes}, unit = "B", source = {_text(source)} }}'
    yield f'hbm_bytes = {{ value = {gpu.memory_bytes}, unit = "B", source = {_text(source)} }}'
    yield 'interconnect = "unknown"'
    yield ""


def _bandwidth(by_name: dict[str, Measured], product: str | None, source: str) -> Iterator[str]:
    """Calibrations of main memory; the datasheet's figure is the product's, or unknown."""
    mixes = {name: mix for name, mix in _MIXES.items() if name in by_name}
    if not mixes and product is not None:
        return
    theoretical = None if product is None else load_device(product).bandwidth.theoretical
    yield "[bandwidth]"
    if theoretical is None or theoretical.value is None:
        yield 'theoretical = "unknown"'
    else:
        yield f'theoretical = {{ value = {theoretical.value!r}, unit = "B/s", source = {_text(theoretical.source)} }}'
    yield "calibrations = ["
    for name, mix in mixes.items():
        item = by_name[name]
        yield (
            f'  {{ id = {_text(name)}, value = {item.value:.5g}, kind = "measured", regime = "burst", '
            f"mix = {{ {mix} }}, source = {_text(source)}, note = {_text(item.note)} }},"
        )
    yield "]"
    yield ""


def _roofs(by_name: dict[str, Measured], product: str | None, source: str) -> Iterator[str]:
    """Rates of the tensor cores, beside the product's peaks."""
    roofs = {} if product is None else load_device(product).roofs
    clock = by_name.get("clock_gemm_cool")
    if clock is not None:
        sustained = by_name.get("clock_gemm_sustained")
        yield "[clocks]"
        if product is None:
            yield f'boost = {{ value = {clock.value:.5g}, unit = "Hz", source = {_text(source)} }}'
        for name, item in (("gemm_cool", clock), ("gemm_sustained", sustained)):
            if item is not None:
                said = _text(f"{source}: {item.note}")
                yield f'{name} = {{ value = {item.value:.5g}, unit = "Hz", source = {said} }}'
        yield ""
    for dtype, acc in _RATES.items():
        item = by_name.get(f"tensor_rate_{dtype}")
        if item is None:
            continue
        roof = roofs.get(f"tensor_core.{dtype}")
        peak = None if roof is None else roof.theoretical
        yield f'[roofs."tensor_core.{dtype}"]'
        yield f"acc = {_text(acc)}"
        if peak is None or peak.value is None:
            yield 'theoretical = "unknown"'
        else:
            yield f'theoretical = {{ value = {peak.value!r}, unit = "FLOP/s", source = {_text(peak.source)} }}'
        yield (
            f'calibrations = [{{ id = "in-sm", value = {item.value:.5g}, kind = "measured", regime = "burst", '
            f'operands = "random", source = {_text(source)}, note = {_text(item.note)} }}]'
        )
        yield ""


def _time(found: Sequence[Measured], base: str, gpu: Gpu, source: str) -> Iterator[str]:
    """Constants of the time model and what was measured beside them, then those that stand in for what was not."""
    own = load_device(base)
    done = set()
    for item in found:
        if item.unit in ("Hz", "FLOP/s"):
            continue
        done.add(item.name)
        yield _constant(item.name, f"{item.value:.5g}", item.unit, "measured", source, item.note, item.spread)
    nearest = load_device(NEAREST)
    half = next((item for item in found if item.name == "tensor_flops_fp16"), None)
    for name in (field.name for field in fields(Constants)):
        if name in done or name in ("sms", "clock", "strength") or name in own.time:
            continue
        if name == "tensor_flops" and half is not None:
            yield _constant(name, f"{half.value:.5g}", half.unit, "measured", source, half.note, half.spread)
            continue
        kept = nearest.time[name]
        scale, note = _scale(name, gpu, nearest)
        value = float(kept.value or 0.0) * scale
        yield _constant(name, f"{value:.5g}", kept.unit, "pinned", f"kept from {NEAREST}", note)


def _constant(name: str, value: str, unit: str, kind: str, source: str, note: str, spread: float | None = None) -> str:
    parts = [f"value = {value}"]
    parts += [f"unit = {_text(unit)}"] if unit else []
    parts += [f'kind = "{kind}"']
    parts += [] if spread is None else [f"spread = {spread:.4f}"]
    return f"{name} = {{ {', '.join([*parts, f'source = {_text(source)}', f'note = {_text(note)}'])} }}"


def _scale(name: str, gpu: Gpu, nearest: Device) -> tuple[float, str]:
    """What a constant of the whole chip is multiplied with, and a note on it."""
    if name == "l2_to_sm" and isinstance(nearest, NvidiaDevice) and nearest.sm_count.value:
        return gpu.sm_count / float(nearest.sm_count.value), "not measured here; by the number of SMs"
    if name in ("l2_reach", "dirty_lines") and nearest.l2_bytes.value and gpu.l2_bytes:
        return gpu.l2_bytes / float(nearest.l2_bytes.value), "not measured here; by the size of L2"
    return 1.0, "not measured here"


def _state(readings: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in readings.items()) or "not read"


def _line(text: str) -> str:
    return " ".join(text.split())


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=True)


def write(text: str, path: Path) -> None:
    """Write the file. Raises `InputError` where that fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(Issue(f"cannot be written: {error.strerror}", "--output", str(path))) from None


def check_name(name: str) -> str:
    """A device's name that is free. Raises `InputError` for one that ships with the package."""
    if name in list_devices():
        raise InputError(
            Issue(f"{name!r} is a device that ships with tilesearch", "--device-name", hint="another name")
        )
    return name
