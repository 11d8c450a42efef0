"""What a kernel language is given, and the variables it searches."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from math import isqrt
from typing import Any

from tilesearch.errors import InputError, Issue, suggest
from tilesearch.program.form import Program
from tilesearch.rules.model import Variable
from tilesearch.specs.devices import Device
from tilesearch.specs.kernels import ALIASES, KernelSpec, ModelSpec, RulesSpec


@dataclass(frozen=True)
class Context:
    """One problem, as a kernel language sees it. `space` holds the domains that the user gave."""

    program: Program
    device: Device
    kernel: KernelSpec = field(default_factory=KernelSpec)
    model: ModelSpec = field(default_factory=ModelSpec)
    rules: RulesSpec = field(default_factory=RulesSpec)
    space: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    source: str = ""


@cache
def language_data(name: str) -> dict[str, Any]:
    """The table of a language in languages.toml."""
    text = resources.files("tilesearch.kernels").joinpath("languages.toml").read_text(encoding="utf-8")
    return dict(tomllib.loads(text)[name])


def variables(context: Context, names: tuple[str, ...]) -> tuple[Variable, ...]:
    """The decision variables `names` of the context's language, with the user's domains where given.

    A default domain is the language's for the program's profile, or its general one; "divisors" stands for the
    divisors of the dimension that the variable tiles. Raises `InputError` for a domain of a variable that this
    operator does not have in this language.
    """
    data = language_data(context.kernel.language)
    profile = data.get("profiles", {}).get(context.program.profile, {})
    unknown = [name for name in context.space if name not in names]
    if unknown:
        raise InputError([_no_such_variable(name, names, context) for name in unknown])
    result = []
    for name in names:
        entry = {**data["variables"][name], **profile.get(name, {})}
        domain = context.space.get(name) or _values(entry["domain"], name, context.program)
        result.append(
            Variable(
                name=name,
                domain=domain,
                default=entry.get("default", 0),
                universe=tuple(sorted({*_values(entry["universe"], name, context.program), *domain})),
                aliases=tuple(alias for alias, target in ALIASES.items() if target == name),
            )
        )
    return tuple(result)


def _values(written: list[int] | str, name: str, program: Program) -> tuple[int, ...]:
    if isinstance(written, str):
        extent = next(d.extent for d in program.dims if d.variable == name)
        low = [value for value in range(1, isqrt(extent) + 1) if extent % value == 0]
        return tuple(sorted({*low, *(extent // value for value in low)}))
    return tuple(written)


def _no_such_variable(name: str, names: tuple[str, ...], context: Context) -> Issue:
    message = f"{context.program.kind} in the language {context.kernel.language} has no variable {name!r}"
    return Issue(message, f"space.{name}", context.source, suggest(name, list(names)))
