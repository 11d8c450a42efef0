"""Configurations as autotuners write them, read as tiles.

Triton, vLLM, SGLang and Inductor write ``BLOCK_SIZE_M`` or ``BLOCK_M``, ``GROUP_SIZE_M`` or ``GROUP_M``,
``num_warps`` and ``num_stages``, flat or with the block sizes nested in ``kwargs``; a ``triton.Config`` has
them as attributes; TileLang writes ``block_M`` and ``threads``. Options of a launch that change what it takes
(``maxnreg``, ``num_ctas``) are read as well; what is neither is left alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from tilesearch.errors import InputError, Issue
from tilesearch.rules.model import Model
from tilesearch.specs.kernels import TILE_VARIABLES
from tilesearch.specs.ops import MAX_EXTENT
from tilesearch.specs.problems import WARP, variable_name

_THREADS = ("num_threads", "threads", "thread_num", "n_threads")
_ATTRIBUTES = ("num_warps", "num_stages", "num_ctas", "maxnreg")
_NESTED = "kwargs"
_LENIENT = {"num_stages": 1}
"""What stands for 0: loops that are not pipelined at all, as Triton's AMD users write them."""

_NOT_COVERED = (
    "num_consumer_groups",
    "num_buffers_warp_spec",
    "reg_dec_producer",
    "reg_inc_consumer",
    "waves_per_eu",
    "matrix_instr_nonkdim",
    "kpack",
)
"""Options that change the kernel in ways that no rule covers."""


@dataclass(frozen=True)
class Options:
    """Options of one launch beside its tile: `ignored` are those that no rule covers."""

    maxnreg: int | None = None
    num_ctas: int = 1
    ignored: tuple[str, ...] = ()


def configurations(configs: Any) -> list[Any]:
    """A list of what holds configurations. Raises `InputError` for what does not."""
    if isinstance(configs, Iterable) and not isinstance(configs, str | bytes | Mapping):
        return list(configs)
    hint = "a list of dicts, or of objects like triton.Config"
    raise InputError(Issue(f"a list of configurations is wanted, got {type(configs).__name__}", "configs", hint=hint))


def options_of(config: Any, where: str) -> Options:
    """The launch options of a configuration. Raises `InputError` for a value that is none."""
    given = {str(name): value for name, value in _pairs(config, where) if value is not None}
    issues: list[Issue] = []
    values = {}
    for name in ("maxnreg", "num_ctas"):
        if name in given:
            number = _whole(given[name], 1)
            if number is None:
                issues.append(Issue(f"a whole number from 1 on is wanted, got {given[name]!r}", f"{where}.{name}"))
            else:
                values[name] = number
    if issues:
        raise InputError(issues)
    return Options(**values, ignored=tuple(name for name in _NOT_COVERED if given.get(name)))


def _whole(value: Any, least: int) -> int | None:
    """`value` as a whole number in the range that extents have; None for anything else."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        return None
    number = int(value)
    return number if least <= number <= MAX_EXTENT else None


def knobs_of(config: Any, where: str = "config", warp: int = WARP) -> dict[str, int]:
    """The knobs of a configuration, by this package's names; threads count in warps of `warp`.

    Raises `InputError` for a configuration that cannot be read.
    """
    knobs: dict[str, int] = {}
    issues: list[Issue] = []
    for written, value in _pairs(config, where):
        name = variable_name(str(written))
        if name in _THREADS:
            name, value = "num_warps", _warps(value, warp, f"{where}.{written}", issues)
        if name not in TILE_VARIABLES or value is None:
            continue
        number = _whole(value, 0)
        if number is None:
            wanted = f"a whole number from 0 to {MAX_EXTENT} is wanted, got {value!r}"
            issues.append(Issue(wanted, f"{where}.{written}"))
        elif name in knobs and knobs[name] != number:
            issues.append(Issue(f"{name} is given twice", f"{where}.{written}"))
        else:
            knobs[name] = number
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


def _warps(threads: Any, warp: int, where: str, issues: list[Issue]) -> int | None:
    number = _whole(threads, 1)
    if number is not None and number % warp == 0:
        return number // warp
    issues.append(Issue(f"a multiple of {warp} threads is wanted, got {threads!r}", where))
    return None


def tile_of(model: Model, config: Any, where: str) -> dict[str, int]:
    """A configuration as a tile of `model`: knobs that it does not have are dropped, absent ones take defaults.

    Raises `InputError` for a configuration that cannot be read or lacks a knob that has no default.
    """
    knobs = knobs_of(config, where, model.constants.get("warp_size", WARP))
    tile: dict[str, int] = {}
    issues = []
    for variable in model.variables:
        value = knobs.get(variable.name, variable.default or None)
        if value is None and len(variable.domain) == 1:
            value = variable.domain[0]
        if value is None:
            hint = _misspelt(config, where, variable.name) or "it has no default"
            issues.append(Issue("is required and absent", f"{where}.{variable.name}", hint=hint))
        elif value or 0 in variable.universe:
            tile[variable.name] = value
        elif variable.name in _LENIENT:
            tile[variable.name] = _LENIENT[variable.name]
        else:
            issues.append(Issue("must be at least 1, got 0", f"{where}.{variable.name}"))
    if issues:
        raise InputError(issues)
    return tile


def _misspelt(config: Any, where: str, wanted: str) -> str:
    """What to say of a name in the configuration that is no knob, but nearly the one that is wanted."""
    unread = {variable_name(str(name)): str(name) for name, _ in _pairs(config, where)}
    near = get_close_matches(wanted, [name for name in unread if name not in TILE_VARIABLES], n=1, cutoff=0.8)
    return f"{unread[near[0]]!r} is no name of it" if near else ""
