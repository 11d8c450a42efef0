"""What the templates share: filling them in, and a tile and a type in their words."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from string import Template
from typing import Any

from tilesearch.errors import InputError, Issue
from tilesearch.specs.ops import OpSpec

_TORCH = {
    "fp64": "float64", "fp32": "float32", "tf32": "float32", "fp16": "float16", "bf16": "bfloat16",
    "fp8_e4m3": "float8_e4m3fn", "fp8_e5m2": "float8_e5m2", "int8": "int8", "int32": "int32",
}  # fmt: skip

ACTIVATIONS = {
    "none": "",
    "relu": "acc = tl.maximum(acc, 0.0)",
    "sigmoid": "acc = tl.sigmoid(acc)",
    "silu": "acc = acc * tl.sigmoid(acc)",
    "tanh": "acc = 2 * tl.sigmoid(2 * acc) - 1",
    "gelu": "acc = acc * tl.sigmoid(1.5957691216057308 * (acc + 0.044715 * acc * acc * acc))",
}
"""An activation as a line of Triton; gelu is its tanh form."""


def torch_type(name: str, op: OpSpec) -> str:
    """What torch calls a data type. Raises `InputError` for one that it does not have."""
    if name not in _TORCH:
        raise InputError(Issue(f"no code can be written for {name}: torch has no such type", f"op.{op.dtype}"))
    return _TORCH[name]


def triton_type(name: str, op: OpSpec) -> str:
    """What Triton calls an accumulator's type."""
    return torch_type(name, op)


def fill(template: str, values: Mapping[str, Any]) -> str:
    """The template's text with `values` in place; every placeholder must have one."""
    path = resources.files("tilesearch.kernels.export").joinpath("templates", f"{template}.py.txt")
    filled = Template(path.read_text(encoding="utf-8")).substitute(values)
    lines = [line.rstrip() for line in filled.splitlines()]
    return "\n".join(lines) + "\n"


def tile_text(tile: Mapping[str, int]) -> str:
    """A tile on one line."""
    return ", ".join(f"{name} = {value}" for name, value in tile.items())


def refuse(op: OpSpec, language: str, why: str = "") -> InputError:
    """The error for an operator that has no template."""
    kind = getattr(op, "kind", type(op).__name__.lower())
    return InputError(
        Issue(
            f"there is no {language} template for {kind}{f' with {why}' if why else ''} yet",
            "op.kind",
            hint="--to json exports the tile's parameters alone",
        )
    )
