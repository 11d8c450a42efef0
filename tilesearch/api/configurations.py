"""Configurations as autotuners write them, read as tiles.

Triton, vLLM, SGLang and Inductor write ``BLOCK_SIZE_M`` or ``BLOCK_M``, ``GROUP_SIZE_M`` or ``GROUP_M``,
``num_warps`` and ``num_stages``, flat or with the block sizes nested in ``kwargs``; a ``triton.Config`` has
them as attributes; TileLang writes ``block_M`` and ``threads``. What is no knob of the tile is left alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilesearch.errors import InputError, Issue
from tilesearch.rules.model import Model
from tilesearch.specs.kernels import TILE_VARIABLES
from tilesearch.specs.problems import variable_name

_THREADS = ("num_threads", "threads", "thread_num", "n_threads")
_WARP = 32
_ATTRIBUTES = ("num_warps", "num_stages")
_NESTED = "kwargs"
_LENIENT = {"num_stages": 1}
"""What stands for 0: loops that are not pipelined at all, as Triton's AMD users write them."""


def knobs_of(config: Any, where: str = "config") -> dict[str, int]:
    """The knobs of a configuration, by this package's names. Raises `InputError` for one that cannot be read."""
    knobs: dict[str, int] = {}
    issues: list[Issue] = []
    for written, value in _pairs(config, where):
        name = variable_name(str(written))
        if name in _THREADS:
            name, value = "num_warps", _warps(value, f"{where}.{written}", issues)
        if name not in TILE_VARIABLES or value is None:
            continue
        if isinstance(value, bool) or not hasattr(value, "__index__") or int(value) < 0:
            issues.append(Issue(f"a whole number is wanted, got {value!r}", f"{where}.{written}"))
        elif name in knobs and knobs[name] != int(value):
            issues.append(Issue(f"{name} is given twice", f"{where}.{written}"))
        else:
            knobs[name] = int(value)
    if not knobs and not issues:
        issues.append(Issue("holds no knob of a tile", where, hint="for example BLOCK_M, num_warps, num_stages"))
    if issues:
        raise InputError(issues)
    return knobs


def _pairs(config: Any, where: str) -> list[tuple[Any, Any]]:
    """Name and value of every knob, nested ones included."""
    if isinstance(config, Mapping):
        pairs = [(name, value) for name, value in config.items() if name != _NESTED]
        inner = config.get(_NESTED)
    elif hasattr(config, _NESTED):
        pairs = [(name, getattr(config, name)) for name in _ATTRIBUTES if hasattr(config, name)]
        inner = getattr(config, _NESTED)
    else:
        hint = "a dict, or an object like triton.Config"
        raise InputError(Issue(f"a configuration is wanted, got {type(config).__name__}", where, hint=hint))
    return [*pairs, *(inner.items() if isinstance(inner, Mapping) else ())]


def _warps(threads: Any, where: str, issues: list[Issue]) -> int | None:
    if isinstance(threads, int) and not isinstance(threads, bool) and threads > 0 and threads % _WARP == 0:
        return threads // _WARP
    issues.append(Issue(f"a multiple of {_WARP} threads is wanted, got {threads!r}", where))
    return None


def tiles_of(model: Model, configs: Sequence[Any]) -> list[dict[str, int]]:
    """Each configuration as a tile of `model`: knobs that it does not have are dropped, absent ones take defaults.

    Raises `InputError` with every configuration that cannot be read or lacks a knob that has no default.
    """
    issues: list[Issue] = []
    tiles = []
    zeros = {v.name: _LENIENT[v.name] for v in model.variables if v.name in _LENIENT and 0 not in v.universe}
    for place, config in enumerate(configs):
        try:
            tiles.append(_tile(model, knobs_of(config, f"configs[{place}]"), f"configs[{place}]", zeros))
        except InputError as error:
            issues += error.issues
    if issues:
        raise InputError(issues)
    return tiles


def _tile(model: Model, knobs: Mapping[str, int], where: str, zeros: Mapping[str, int]) -> dict[str, int]:
    tile: dict[str, int] = {}
    issues = []
    for variable in model.variables:
        value = knobs.get(variable.name, variable.default or None)
        if value is None and len(variable.domain) == 1:
            value = variable.domain[0]
        if value is None:
            issues.append(Issue("is required and absent", f"{where}.{variable.name}", hint="it has no default"))
        elif value == 0 and variable.name in zeros:
            tile[variable.name] = zeros[variable.name]
        elif value == 0 and 0 not in variable.universe:
            issues.append(Issue("must be at least 1, got 0", f"{where}.{variable.name}"))
        else:
            tile[variable.name] = value
    if issues:
        raise InputError(issues)
    return tile
