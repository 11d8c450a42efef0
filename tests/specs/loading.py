"""Devices loaded for a test."""

from __future__ import annotations

from pathlib import Path

from tilesearch.specs.devices import NvidiaDevice, load_device


def nvidia(name: str | Path) -> NvidiaDevice:
    device = load_device(name)
    assert isinstance(device, NvidiaDevice)
    return device
