"""Which kernels measurements stand behind: what was timed is data (measured.toml), everything else is not validated."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from tilesearch.specs.ops import OpSpec

_DEFAULT = {"triton": "pointer"}
"""The variant that a language takes where none is asked for; "default" where it has no variants."""


@dataclass(frozen=True)
class Measured:
    """What stands behind a kind of kernel; `errors` names its own class of errors, where nothing was fitted to it."""

    source: str
    errors: str | None


def measured_of(op: OpSpec, language: str, variant: str | None) -> Measured | None:
    """What was timed of the operator, its types and masks, as the variant writes them; None where nothing was."""
    asked = variant or _DEFAULT.get(language, "default")
    kind = getattr(op, "kind", "")
    for row in _measured():
        fields = row["fields"].items()
        named = (row["language"], row["kind"]) == (language, kind) and asked in row["variants"]
        if named and all(_plain(op, name) in values for name, values in fields):
            return Measured(row["source"], row.get("errors"))
    return None


def covered(op: OpSpec, language: str, variant: str | None) -> bool:
    """Whether kernels of this kind were timed."""
    return measured_of(op, language, variant) is not None


def _plain(op: OpSpec, name: str) -> Any:
    """A field's value as TOML has it."""
    value = getattr(op, name, None)
    if value is None:
        return "absent"
    return list(value) if isinstance(value, tuple) else value


def own_classes() -> set[str]:
    """Names of the classes of errors that kinds have to which nothing was fitted."""
    return {row["errors"] for row in _measured() if "errors" in row}


@cache
def _measured() -> tuple[Mapping[str, Any], ...]:
    text = resources.files("tilesearch.models.time").joinpath("measured.toml").read_text(encoding="utf-8")
    return tuple(tomllib.loads(text)["measured"])
