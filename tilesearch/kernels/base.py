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
from tilesearch.program.form import Contraction, Program
from tilesearch.rules.expr import Var
from tilesearch.rules.geometry import Geometry
from tilesearch.rules.model import Variable
from tilesearch.rules.nvidia import TileShape
from tilesearch.specs.devices import Device
from tilesearch.specs.kernels import ALIASES, TILE_VARIABLES, KernelSpec, ModelSpec, RulesSpec


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
    """The data of a language: its own file in its package, or its table in languages.toml."""
    kernels = resources.files("tilesearch.kernels")
    own = kernels.joinpath(name, f"{name}.toml")
    if own.is_file():
        return tomllib.loads(own.read_text(encoding="utf-8"))
    return dict(tomllib.loads(kernels.joinpath("languages.toml").read_text(encoding="utf-8"))[name])


def tile_variables(program: Program) -> tuple[str, ...]:
    """The variables of a GPU kernel for `program`, in the order in which tiles list them.

    num_stages where something is staged anew at each step of a loop; group_m and the cluster's sides where
    blocks form a plane, so that its order and its neighbours matter.
    """
    geometry = Geometry(program, frozenset())
    names = {dim.variable for dim in program.dims if dim.variable} | {"num_warps"}
    if any(t.staged and geometry.streams(t) for t in program.tensors):
        names.add("num_stages")
    if program.split is not None:
        names.add(program.split.variable)
    if program.contraction is not None and _is_plane(program, program.contraction):
        names |= {"group_m", "cluster_m", "cluster_n"}
    return tuple(name for name in TILE_VARIABLES if name in names)


def tile_of(geometry: Geometry, product: Contraction) -> TileShape:
    """The block tile of a product and the warps that share it."""
    m, n, k = (geometry.tile(geometry.program.dim(name)) for name in (product.m, product.n, product.k))
    return TileShape(m, n, k, Var("num_warps"))


def _is_plane(program: Program, product: Contraction) -> bool:
    return not any(program.dim(name).reduce or program.dim(name).whole for name in (product.m, product.n))


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
