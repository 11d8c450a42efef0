"""Which kernels measurements stand behind: what was timed is data (measured.toml), everything else is not validated."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from tilesearch.specs.ops import OpSpec

_DEFAULT = {"triton": "pointer"}
"""The variant that a language takes where none is asked for; "default" where it has no variants."""


def covered(op: OpSpec, language: str, variant: str | None) -> bool:
    """Whether kernels of this kind were timed: of the operator, its types and masks, as the variant writes them."""
    asked = variant or _DEFAULT.get(language, "default")
    kind = getattr(op, "kind", "")
    return any(
        (row["language"], row["kind"]) == (language, kind)
        and asked in row["variants"]
        and all(_plain(op, name) in values for name, values in row["fields"].items())
        for row in _measured()
    )


def _plain(op: OpSpec, name: str) -> Any:
    """A field's value as TOML has it."""
    value = getattr(op, name, None)
    if value is None:
        return "absent"
    return list(value) if isinstance(value, tuple) else value


@cache
def _measured() -> tuple[Mapping[str, Any], ...]:
    text = resources.files("tilesearch.models.time").joinpath("measured.toml").read_text(encoding="utf-8")
    return tuple(tomllib.loads(text)["measured"])
