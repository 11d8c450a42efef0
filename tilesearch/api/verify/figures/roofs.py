"""Figures that need the roofs of the seed's device only: bandwidth, balance points, misreadings M1 and M2."""

from __future__ import annotations

from tilesearch.api.verify.figures.registry import figure
from tilesearch.specs.devices import Device, load_device

DEVICE = "h200"
POLICY = "seed"
"""The calibrations by which the text computes."""


def seed_device() -> Device:
    """The device of the text."""
    return load_device(DEVICE)


def balance(roof: str) -> float:
    """FLOP/B at which a roof and the memory take equal time."""
    device = seed_device()
    return device.effective_roof(roof, POLICY).value / device.effective_bandwidth(POLICY).value


@figure("bandwidth")
def bandwidth_gbs() -> float:
    """Effective bandwidth in GB/s."""
    return seed_device().effective_bandwidth(POLICY).value / 1e9


@figure("balance.{}")
def tensor_balance(dtype: str) -> float:
    """Balance point of a matrix unit, FLOP/B."""
    return balance(f"tensor_core.{dtype}")


@figure("balance.cuda_{}")
def cuda_balance(dtype: str) -> float:
    """Balance point of the CUDA cores, FLOP/B."""
    return balance(f"cuda_core.{dtype}")


@figure("m1.ratio")
def datasheet_over_calibrated() -> float:
    """M1: the datasheet's peak over the calibrated one."""
    device = seed_device()
    name = "tensor_core.fp16"
    return device.effective_roof(name, "datasheet").value / device.effective_roof(name, POLICY).value


@figure("m2.ratio")
def tensor_over_cuda() -> float:
    """M2: the balance point that the wrong unit suggests, over the right one."""
    return balance("tensor_core.fp16") / balance("cuda_core.fp32")
