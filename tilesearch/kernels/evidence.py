"""What a language's rules were seen on, and what to say of a compiler, a device or a kernel that nobody looked at.

The rows are the `seen` of a language's data: `what` was seen of which `kinds` of operator and `variants` of kernel,
on which versions (first and last) and targets (compute capabilities, or AMD's names). A row without a key holds for
all of its values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tilesearch.kernels.versions import Version, parse_version
from tilesearch.specs.devices import AmdDevice, Device, NvidiaDevice


def target_of(device: Device) -> str:
    """What a compiler aims at: a compute capability, or AMD's name of an architecture."""
    if isinstance(device, NvidiaDevice):
        return device.compute_capability
    return device.gfx_target if isinstance(device, AmdDevice) else device.name


def unseen(
    seen: Iterable[Mapping[str, Any]], title: str, version: Version, device: Device, kind: str, variant: str = ""
) -> tuple[str, ...]:
    """A note for each thing that the rules say of this kernel without having been compared with it."""
    about: dict[str, list[Mapping[str, Any]]] = {}
    for row in seen:
        about.setdefault(row["what"], []).append(row)
    target, asked = target_of(device), ".".join(map(str, version))
    notes = []
    for what, rows in about.items():
        same = [r for r in rows if kind in r.get("kinds", (kind,)) and variant in r.get("variants", (variant,))]
        if any(_holds(row, version, target) for row in same):
            continue
        known = "; ".join(_where(row) for row in same) or "no such kernel"
        kernel = f"{variant} {kind}" if variant and variant != kind else kind
        notes.append(f"{what} of {title} {asked} on {target} ({kernel}): not compared with a build; seen: {known}")
    return tuple(notes)


def _holds(row: Mapping[str, Any], version: Version, target: str) -> bool:
    first, last = (parse_version(text) for text in row.get("versions", ("0", "9999")))
    return first <= version <= last and target in row.get("targets", (target,))


def _where(row: Mapping[str, Any]) -> str:
    first, last = row["versions"]
    versions = first if first == last else f"{first} to {last}"
    return f"{versions} on {', '.join(row['targets'])}"
