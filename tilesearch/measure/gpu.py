"""The GPU at hand: whether there is one, what it is, and its clock and power as it stands."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import Any

from tilesearch.errors import InputError, Issue

_FIELDS = {
    "sm_mhz": "clocks.sm",
    "memory_mhz": "clocks.mem",
    "power_w": "power.draw",
    "power_limit_w": "power.limit",
    "temperature_c": "temperature.gpu",
}
_EXTRA = "pip install 'tilesearch[gpu]'"


@dataclass(frozen=True)
class Gpu:
    """What the driver says of a GPU; sizes in bytes."""

    name: str
    capability: tuple[int, int]
    sm_count: int
    l2_bytes: int
    memory_bytes: int


def require_gpu(command: str) -> Any:
    """The module `torch`, with a GPU behind it. Raises `InputError` where either is missing."""
    try:
        import torch
        import triton  # noqa: F401
    except ImportError as error:
        missing = getattr(error, "name", None) or str(error)
        raise InputError(Issue(f"{command} needs a GPU, torch and triton: {missing} is missing", hint=_EXTRA)) from None
    if not torch.cuda.is_available() or torch.version.cuda is None:
        raise InputError(Issue(f"{command} needs an NVIDIA GPU, and torch sees none here"))
    return torch


def gpu_of(torch: Any) -> Gpu:
    """The current device of torch."""
    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    return Gpu(
        name=str(properties.name),
        capability=(int(properties.major), int(properties.minor)),
        sm_count=int(properties.multi_processor_count),
        l2_bytes=int(getattr(properties, "L2_cache_size", 0)),
        memory_bytes=int(properties.total_memory),
    )


def state() -> dict[str, float]:
    """Clocks, power and temperature as nvidia-smi reads them now; what cannot be read is absent."""
    command = ["nvidia-smi", f"--query-gpu={','.join(_FIELDS.values())}", "--format=csv,noheader,nounits", "-i", "0"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return {}
    found = {}
    for name, text in zip(_FIELDS, done.stdout.splitlines()[0].split(","), strict=False):
        try:
            found[name] = float(text)
        except ValueError:
            continue
    return found
