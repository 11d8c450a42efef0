"""The devices that people name in reports, as devices that this package knows."""

from __future__ import annotations

import re

from tilesearch.errors import InputError
from tilesearch.specs.devices import Device, load_device

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

_BY_LIMIT = {101376: "cc86", 166912: "cc80", 232448: "cc90", 98304: "cc70"}
"""For a report that gives only the bytes a block may have: a device with that limit."""


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
    return load_device(_BY_LIMIT[limit_bytes]) if limit_bytes in _BY_LIMIT else None
