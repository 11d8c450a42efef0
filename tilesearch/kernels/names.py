"""A tile in the words of a language: its own names for the knobs, threads instead of warps where it counts those."""

from __future__ import annotations

from collections.abc import Mapping

from tilesearch.kernels.base import language_data
from tilesearch.rules.limits import number
from tilesearch.specs.devices import Device


def parameters(
    language: str, tile: Mapping[str, int], device: Device, names: Mapping[str, str] | None = None
) -> dict[str, int]:
    """Knob to value by the language's names (its data's `knobs`), with those in `names` in their place.

    An empty name leaves the knob out. A knob called ``threads`` counts threads.
    """
    own: dict[str, str] = {**language_data(language).get("knobs", {}), **(names or {})}
    written: dict[str, int] = {}
    for variable, value in tile.items():
        name = own.get(variable, variable)
        if name:
            written[name] = value * number(device, "warp_size") if "threads" in name else value
    return written
