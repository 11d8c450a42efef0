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
    """Parameters by the target's names, and code where the target has a template for the operator.

    Without code the parameters also say which kernel they are of: language, version, variant, data types.
    """

    parameters: dict[str, int | str]
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
        return Exported({**tile, **_about(op, kernel)}, None)
    named = parameters(target.language, tile, device, language_data(target.language).get("exported", {}))
    if target.code is None:
        return Exported({**named, **_about(op, kernel)}, None)
    return Exported({**named}, target.code(op, device, kernel, tile))


def _about(op: OpSpec, kernel: KernelSpec) -> dict[str, int | str]:
    """Which kernel the parameters are of, in words: the values that a language chooses where none is asked for."""
    said: dict[str, int | str] = {
        name: value for name, value in kernel.model_dump(exclude_none=True).items() if isinstance(value, int | str)
    }
    if "version" not in said and "versions" in language_data(kernel.language):
        said["version"] = language_data(kernel.language)["versions"][-1]
    types = op.model_dump(exclude_none=True)
    return {
        **said,
        **{
            f"dtype_{name}": types[name]
            for name in ("a", "b", "q", "k", "v", "acc", "out")
            if isinstance(types.get(name), str)
        },
    }
