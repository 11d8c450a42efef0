"""The devices that people name in reports, as devices that this package knows."""

from __future__ import annotations

import re

from tilesearch.errors import InputError
from tilesearch.specs.devices import Device, NvidiaDevice, list_devices, load_device

_KNOWN_AS = (
    (r"rtx ?20|2080|t4|turing", "cc75"),
    (r"v100|volta", "cc70"),
    (r"a100|a30\b", "cc80"),
    (r"rtx ?30|3090|3080|3070|3060|a10g?|a40|a6000|a5000|a4000", "cc86"),
    (r"rtx ?40|4090|4080|4070|4060|l40s?|l4|ada", "cc89"),
    (r"h200|h100|h800|h20e?|gh200|hopper", "cc90"),
    (r"b200|gb200", "cc100"),
    (r"gb10|spark", "cc121"),
    (r"rtx ?50|5090|5080|5070", "cc120"),
    (r"mi35\d|gfx950", "mi355x"),
    (r"mi30\d|mi325|gfx942", "mi300x"),
    (r"910b|ascend", "ascend910b1"),
)
"""Names in lower case without separators, and the device whose limits they share."""


def device_of(name: str, limit_bytes: int | None) -> Device | None:
    """The device of a report: by name, by architecture, by its limit; None where nothing is known of it."""
    try:
        return load_device(name.replace("cc7.5", "cc75") if name.startswith("cc") else name)
    except InputError:
        pass
    plain = re.sub(r"[-_]", "", name.lower())
    capability = re.fullmatch(r"(?:cc|sm)(\d+)\.?(\d)", plain)
    if capability:
        return load_device(f"cc{capability[1]}{capability[2]}")
    for pattern, known in _KNOWN_AS:
        if re.search(pattern, plain):
            return load_device(known)
    return _with_limit(limit_bytes)


def _with_limit(limit_bytes: int | None) -> Device | None:
    """For a report that gives only the bytes a block may have: the oldest compute capability with that limit."""
    for name in sorted((n for n in list_devices() if re.fullmatch(r"cc\d+", n)), key=lambda n: int(n[2:])):
        device = load_device(name)
        if isinstance(device, NvidiaDevice) and device.shared_per_block_optin.value == limit_bytes is not None:
            return device
    return None
