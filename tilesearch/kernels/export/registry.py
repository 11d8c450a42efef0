"""The targets by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tilesearch.errors import InputError, Issue, suggest
from tilesearch.kernels.base import language_data
from tilesearch.kernels.export import tilelang, triton
from tilesearch.kernels.names import parameters
from tilesearch.specs.devices import Device
from tilesearch.specs.kernels import KernelSpec
from tilesearch.specs.ops import OpSpec


@dataclass(frozen=True)
class Exported:
    """Parameters by the target's names, and code where the target has a template for the operator."""

    parameters: dict[str, int]
    code: str | None


@dataclass(frozen=True)
class Target:
    """What can be exported to: whose rules the tile is held to (None: the problem's own), and the code's writer."""

    language: str | None
    code: Callable[[OpSpec, Device, KernelSpec, Mapping[str, int]], str] | None = None


TARGETS: dict[str, Target] = {
    "triton": Target("triton", triton.code),
    "tilelang": Target("tilelang", tilelang.code),
    "cutlass": Target("cutlass"),
    "json": Target(None),
}
"""Name of a target to what it needs: the one place where a target is registered."""


def target_of(name: str) -> Target:
    """The target called `name`. Raises `InputError` with the nearest one."""
    if name not in TARGETS:
        raise InputError(Issue(f"cannot export to {name!r}", "--to", hint=suggest(name, list(TARGETS))))
    return TARGETS[name]


def export(name: str, op: OpSpec, device: Device, kernel: KernelSpec, tile: Mapping[str, int]) -> Exported:
    """`tile` of `op` for the target `name`. Raises `InputError` for an operator that it has no template for."""
    target = target_of(name)
    if target.language is None:
        return Exported(dict(tile), None)
    named = parameters(target.language, tile, device, language_data(target.language).get("exported", {}))
    code = None if target.code is None else target.code(op, device, kernel, tile)
    return Exported(named, code)
