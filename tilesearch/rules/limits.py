"""Device numbers as constants of the tree; what a file does not know stays unknown."""

from __future__ import annotations

from tilesearch.errors import UnknownLimitError
from tilesearch.rules.expr import Const, Expr
from tilesearch.rules.model import Rule
from tilesearch.specs.devices import Device


def known(device: Device, name: str) -> bool:
    """Whether the device file gives a number for `name`."""
    return getattr(device, name).value is not None


def number(device: Device, name: str) -> int:
    """The integer `name` of the device. Raises `UnknownLimitError` where the file says unknown."""
    value = getattr(device, name).value
    if value is None:
        raise UnknownLimitError(f"{device.name}: {name} is not known; this answer needs it")
    return int(value)


def numbers(device: Device, name: str) -> tuple[int, ...]:
    """A list of integers of the device. Raises `UnknownLimitError` where the file says unknown."""
    values = getattr(device, name).value
    if values is None:
        raise UnknownLimitError(f"{device.name}: {name} is not known; this answer needs it")
    return tuple(int(v) for v in values)


def constant_of(device: Device, name: str) -> Const:
    """The device's number as a named constant."""
    return Const(number(device, name), name)


def limit(device: Device, name: str) -> Const | None:
    """As `constant_of`, None where it is not known: for a rule's limit."""
    return constant_of(device, name) if known(device, name) else None


def source(device: Device, name: str) -> str:
    """Where the device's number was read."""
    return str(getattr(device, name).source or "")


def unknown(device: Device, name: str) -> str:
    """What to say where the device file does not know `name`."""
    return f"{device.name}: {name} is not known"


def device_limit(
    device: Device, name: str, rule_id: str, sentence: str, value: Expr, unit: str, *, hard: bool = True
) -> Rule:
    """The rule that `value` stays within the device's number `name`; not judged where the file does not know it."""
    return Rule(
        id=rule_id,
        sentence=sentence,
        value=value,
        limit=limit(device, name),
        unit=unit,
        hard=hard,
        source=source(device, name),
        unknown=unknown(device, name),
        has_slack=True,
    )
