"""Devices as answers: the list, one device's sheet, and what differs between two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from tilesearch.answers import (
    CalibrationRow,
    DeviceDiff,
    DeviceDifference,
    DeviceNumber,
    DeviceRoof,
    DeviceRow,
    DeviceSheet,
    PolicyRate,
)
from tilesearch.api.context import DeviceLike
from tilesearch.errors import TilesearchError
from tilesearch.specs.devices import (
    Bandwidth,
    Calibration,
    Device,
    Quantities,
    Quantity,
    Roof,
    list_devices,
    load_device,
)

_ROWS_OF_THEIR_OWN = frozenset({"bandwidth", "roofs", "policies"})


def devices() -> list[DeviceRow]:
    """The devices that ship with the package."""
    return [_row(load_device(name)) for name in list_devices()]


def device_sheet(device: DeviceLike) -> DeviceSheet:
    """Every number of a device with its source, and the rate of every roof under every policy."""
    found = _load(device)
    return DeviceSheet(
        **_row(found).model_dump(),
        inherits=found.inherits,
        limits_only=found.limits_only,
        note=found.note,
        numbers=list(_numbers(found)),
        roofs=[_roof(found, "bandwidth", found.bandwidth), *(_roof(found, n, r) for n, r in found.roofs.items())],
    )


def device_diff(a: DeviceLike, b: DeviceLike) -> DeviceDiff:
    """What differs between two devices: their numbers, peaks and policies' rates."""
    left, right = _load(a), _load(b)
    first, second = _values(left), _values(right)
    differences = []
    for key in dict.fromkeys([*first, *second]):
        one, other = first.get(key, (None, "")), second.get(key, (None, ""))
        if one[0] != other[0]:
            differences.append(DeviceDifference(key=key, unit=one[1] or other[1], a=one[0], b=other[0]))
    return DeviceDiff(a=left.name, b=right.name, differences=differences)


def _load(device: DeviceLike) -> Device:
    return device if isinstance(device, Device) else load_device(device)


def _row(device: Device) -> DeviceRow:
    return DeviceRow(
        name=device.name,
        vendor=device.vendor,
        compute_capability=getattr(device, "compute_capability", None),
        aliases=list(device.aliases),
    )


def _numbers(spec: BaseModel, prefix: str = "") -> Iterator[DeviceNumber]:
    """The quantities of a model and of the tables in it, by dotted key."""
    for name in type(spec).model_fields:
        if name not in _ROWS_OF_THEIR_OWN:
            yield from _quantities(getattr(spec, name), f"{prefix}{name}")


def _quantities(value: Any, key: str) -> Iterator[DeviceNumber]:
    if isinstance(value, Quantity | Quantities):
        if value.value is None:
            number: Any = "unknown" if value.applies else "not applied"
        else:
            number = list(value.value) if isinstance(value.value, tuple) else value.value
        yield DeviceNumber(key=key, value=number, unit=value.unit, source=value.source, note=value.note)
    elif isinstance(value, BaseModel):
        yield from _numbers(value, f"{key}.")
    elif isinstance(value, Mapping):
        for name, entry in value.items():
            yield from _quantities(entry, f"{key}.{name}")
    elif key in ("gfx_target", "unsupported_tensor_dtypes") and value:
        yield DeviceNumber(
            key=key, value=list(value) if isinstance(value, tuple) else value, unit="", source="", note=""
        )


def _roof(device: Device, name: str, roof: Roof | Bandwidth) -> DeviceRoof:
    peak = roof.theoretical
    theoretical = None if peak.value is None else float(peak.value)
    return DeviceRoof(
        name=name,
        acc=roof.acc if isinstance(roof, Roof) else None,
        theoretical=theoretical,
        unit="B/s" if name == "bandwidth" else "FLOP/s",
        source=peak.source,
        note="; ".join(note for note in (roof.note, peak.note) if note),
        policies={policy: _rate(device, name, policy) for policy in device.policy_names()},
        calibrations=[_calibration(c, theoretical) for c in roof.calibrations],
    )


def _rate(device: Device, name: str, policy: str) -> PolicyRate | None:
    try:
        found = device.effective_bandwidth(policy) if name == "bandwidth" else device.effective_roof(name, policy)
    except TilesearchError:  # the policy names no calibration for this roof, or the rate is unknown
        return None
    return PolicyRate(value=found.value, calibration=found.calibration_id, note=found.note)


def _calibration(calibration: Calibration, theoretical: float | None) -> CalibrationRow:
    c = calibration
    conditions = [
        c.regime,
        f"operands {c.operands}" if c.operands else None,
        f"read {c.mix.read:g} write {c.mix.write:g}" if c.mix else None,
        f"{c.power_cap_w:g} W" if c.power_cap_w else None,
        f"{c.clock_hz / 1e6:g} MHz" if c.clock_hz else None,
        f"edition {c.edition}" if c.edition else None,
    ]
    return CalibrationRow(
        id=c.id,
        kind=c.kind,
        value=c.rate(theoretical),
        ratio=c.ratio,
        conditions=", ".join(part for part in conditions if part),
        source=c.source,
        note=c.note,
    )


def _values(device: Device) -> dict[str, tuple[Any, str]]:
    """Every comparable value with its unit, by key, in the order of the sheet."""
    sheet = device_sheet(device)
    values: dict[str, tuple[Any, str]] = {"vendor": (sheet.vendor, "")}
    if sheet.compute_capability is not None:
        values["compute_capability"] = (sheet.compute_capability, "")
    values |= {n.key: (n.value, n.unit) for n in sheet.numbers}
    for roof in sheet.roofs:
        values[roof.name] = ("unknown" if roof.theoretical is None else roof.theoretical, roof.unit)
        for policy, rate in roof.policies.items():
            if policy != "datasheet" and rate is not None:
                values[f"{roof.name} ({policy})"] = (rate.value, roof.unit)
    return values
