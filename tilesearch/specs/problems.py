"""Problem files: operator, device, kernel, space, rules, models and search options."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictInt, StrictStr, field_validator

from tilesearch.answers import Metrics
from tilesearch.errors import InputError, Issue, suggest
from tilesearch.specs.data import data_dir
from tilesearch.specs.devices import Device, load_device
from tilesearch.specs.kernels import ALIASES, TILE_VARIABLES, FuseSpec, KernelSpec, ModelSpec, RulesSpec
from tilesearch.specs.ops import MAX_EXTENT, Chain, OpSpec, parse_op
from tilesearch.specs.validation import Fault, fault, faults, find_issues, load_toml, shown, validate

THREADS = ("num_threads", "threads")
"""Names under which languages count threads instead of warps."""

MAY_BE_ZERO = {"num_stages": 0}
"""Variables whose least value is not 1: TileLang's loops without a pipeline have no stage."""

WARP = 32
"""Threads of a warp, where no device says otherwise."""

MAX_DOMAIN = 65_536
"""Most values that one variable may take."""


RANKS = {"carver": "priority", "traffic": "traffic_bytes", "time": "time_us"}
"""The named rankings, and the metric that each orders by. Any other ranking is an expression."""


class SearchSpec(BaseModel):
    """How to search and what to list. `top` candidates are listed; `time_limit_s` bounds the whole search.

    Without a `rank` it is time where the time model was calibrated for such kernels, carver's key elsewhere. Besides
    the names it may be a whole number in the language of users' rules: what makes it smaller comes first.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    rank: Annotated[str, Field(min_length=1)] | None = None
    top: Annotated[StrictInt, Field(ge=1, le=1_000_000)] = 20
    engine: Literal["auto", "vector", "cpsat", "z3"] = "auto"
    allow_soft: StrictBool = False
    time_limit_s: Annotated[float, Field(gt=0, le=86_400)] = 60.0

    @field_validator("rank")
    @classmethod
    def _no_misspelt_name(cls, rank: str | None) -> str | None:
        # Which metrics there are is known with the problem: a single word that can be none of them is refused here.
        if rank is None or rank in RANKS or not rank.isidentifier() or "_" in rank or rank in Metrics.model_fields:
            return rank
        raise fault(f"unknown value {rank!r}", suggest(rank, list(RANKS)))


class Span(BaseModel):
    """A domain written as a range: min to max inclusive, in steps, or the powers of two among them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    min: Annotated[StrictInt, Field(ge=1, le=MAX_EXTENT)]
    max: Annotated[StrictInt, Field(ge=1, le=MAX_EXTENT)]
    step: Annotated[StrictInt, Field(ge=1)] = 1
    power_of_two: StrictBool = False

    def values(self) -> tuple[int, ...]:
        """The values of the range, ascending."""
        if self.min > self.max:
            raise fault(f"min = {self.min} is above max = {self.max}: the domain is empty")
        if self.power_of_two:
            return tuple(v for v in (2**i for i in range(32)) if self.min <= v <= self.max)
        count = (self.max - self.min) // self.step + 1
        if count > MAX_DOMAIN:
            raise fault(f"{count} values, at most {MAX_DOMAIN} are searched", "give a larger step, or a list")
        return tuple(range(self.min, self.max + 1, self.step))


def _domain(value: Any) -> tuple[int, ...]:
    if isinstance(value, Mapping):
        issues = find_issues(Span, value)
        if isinstance(issues, list):
            raise faults([Fault(issue.message, issue.hint, issue.where) for issue in issues])
        values: Sequence[Any] = issues.values()
    else:
        values = value if isinstance(value, list | tuple) else [value]
    wrong = [v for v in values if isinstance(v, bool) or not isinstance(v, int)]
    if wrong:
        raise fault(f"whole numbers are wanted, got {shown(wrong[0])}", "a list, or { min = 2, max = 5 }")
    outside = [v for v in values if not 1 <= v <= MAX_EXTENT]
    if outside:
        raise fault(f"values must be 1 to {MAX_EXTENT}, got {outside[0]}")
    if not values:
        raise fault("the domain is empty", "give at least one value, or leave the key out for the default")
    if len(values) > MAX_DOMAIN:
        raise fault(f"{len(values)} values, at most {MAX_DOMAIN} are searched")
    return tuple(sorted(set(values)))


Domain = Annotated[tuple[int, ...], BeforeValidator(_domain)]


_NO_DEVICE = 'device = "h200" above the first table, or --device h200; `tilesearch devices list` has the names'


class ProblemFile(BaseModel):
    """The top level of a problem file. `op` is checked by the operator's own model, as is each of `ops`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    device: StrictStr
    name: StrictStr | None = None
    note: StrictStr = ""
    op: dict[str, Any] | None = None
    ops: list[dict[str, Any]] | None = None
    kernel: KernelSpec = KernelSpec()
    space: dict[str, Domain] = Field(default_factory=dict)
    rules: RulesSpec = RulesSpec()
    model: ModelSpec = ModelSpec()
    fuse: FuseSpec = FuseSpec()
    search: SearchSpec = SearchSpec()


@dataclass(frozen=True)
class Problem:
    """A checked problem: operator, device, and everything that says how to answer."""

    op: OpSpec
    device: Device
    kernel: KernelSpec = field(default_factory=KernelSpec)
    space: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    rules: RulesSpec = field(default_factory=RulesSpec)
    model: ModelSpec = field(default_factory=ModelSpec)
    fuse: FuseSpec = field(default_factory=FuseSpec)
    search: SearchSpec = field(default_factory=SearchSpec)
    name: str = ""
    source: str = ""

    def replace(self, **changes: Any) -> Problem:
        """A copy with some parts changed."""
        return replace(self, **changes)


def load_problem(
    path: str | Path, overrides: Mapping[str, Any] | None = None, device: str | Path | None = None
) -> Problem:
    """Read a problem file; a bare name is looked up among the shipped problems.

    `overrides` maps dotted keys to values that replace the file's; `device` replaces its device, a path being
    one from the working directory. Raises one `InputError` with every fault.
    """
    place = _find(path)
    source = str(path)
    data = load_toml(place)
    issues: list[Issue] = []
    for key, value in (overrides or {}).items():
        _put(data, key, value, source, issues)
    if device is not None:
        data["device"] = str(device)
    base = place.parent if device is None else None
    problem: Problem | None = _collect(issues, lambda: make_problem(data, source=source, base=base, name=place.stem))
    if issues or problem is None:
        raise InputError(issues)
    return problem


def make_problem(data: Mapping[str, Any], source: str = "", base: Path | None = None, name: str = "") -> Problem:
    """Check the tables of a problem. A device named by a relative path is looked up beside the file too."""
    issues: list[Issue] = []
    unread: list[Issue] = []
    device = None
    if isinstance(data.get("device"), str):
        device = _collect(unread, lambda: _device(str(data["device"]), base, source))
    if _is_table(data, "space"):
        data = {**data, "space": canonical_space(data["space"], source, issues, warp_of(device))}
    spec = find_issues(ProblemFile, data, source)
    if isinstance(spec, list):
        issues += [replace(i, hint=_NO_DEVICE) if i.where == "device" and "device" not in data else i for i in spec]
    op = _operator(data, source, issues)
    issues += unread
    if issues or isinstance(spec, list) or op is None or device is None:
        raise InputError(issues)
    _check_preset(spec, data, source)
    tables = {key: getattr(spec, key) for key in ("kernel", "space", "rules", "model", "fuse", "search")}
    return Problem(op, device, **tables, name=spec.name or name, source=source)


def _operator(data: Mapping[str, Any], source: str, issues: list[Issue]) -> OpSpec | None:
    """The operator of [op], or the chain of [[ops]]; what is wrong with them goes to `issues`."""
    if "op" in data and "ops" in data:
        issues.append(Issue("stands beside [op]", "ops", source, "a file holds one operator or one chain"))
    elif "ops" in data:
        chain = _collect(issues, lambda: validate(Chain, {"ops": data["ops"]}, source))
        return chain if isinstance(chain, Chain) else None
    elif _is_table(data, "op"):
        op = _collect(issues, lambda: parse_op(data["op"], source))
        return op if isinstance(op, OpSpec) else None
    elif "op" not in data:
        issues.append(Issue("is required and absent", "op", source))
    return None


def _is_table(data: Mapping[str, Any], key: str) -> bool:
    return isinstance(data.get(key), Mapping)


def _collect(issues: list[Issue], read: Any) -> Any:
    try:
        return read()
    except InputError as error:
        issues.extend(error.issues)
        return None


def _device(name: str, base: Path | None, source: str) -> Device:
    if base is not None and name.endswith(".toml") and os.path.isfile(base / name):
        return load_device(base / name)
    try:
        return load_device(name)
    except InputError as error:
        placed = [i if i.source else replace(i, where=i.where or "device", source=source) for i in error.issues]
        raise InputError(placed) from None


def _check_preset(spec: ProblemFile, data: Mapping[str, Any], source: str) -> None:
    beside = _is_table(data, "model") and "occupancy" in data["model"]
    if spec.rules.preset != "default" and beside:
        message = f"the preset {spec.rules.preset} brings its own residency rule"
        raise InputError(Issue(message, "model.occupancy", source, "leave model.occupancy out"))


def _find(path: str | Path) -> Path:
    place = Path(path)
    if os.path.exists(place) or (place.suffix != ".toml" and place.is_absolute()):
        return place
    shipped = data_dir("problems")
    stem = place.name.removesuffix(".toml")
    folders = place.parent.parts[1:] if place.parent.parts[:1] == ("problems",) else place.parent.parts
    found = shipped.joinpath(*folders, f"{stem}.toml")
    if os.path.isfile(found):
        return found
    names = sorted(str(p.relative_to(shipped).with_suffix("")) for p in shipped.rglob("*.toml"))
    hint = suggest(stem, names).replace("allowed: ", "shipped problems: ")
    raise InputError(Issue("no such problem file", source=str(path), hint=hint))


def _put(data: dict[str, Any], key: str, value: Any, source: str, issues: list[Issue]) -> None:
    table: Any = data
    *parents, last = key.split(".")
    for part in parents:
        table = table.setdefault(part, {})
        if not isinstance(table, dict):
            issues.append(Issue(f"{part} is {shown(table)} in {source}, not a table", key, source))
            return
    table[last] = value


def variable_name(name: str) -> str:
    """The canonical name of a tile variable, through the languages' own spellings."""
    lowered = name.strip().lower()
    return ALIASES.get(lowered, lowered)


def warp_of(device: Device | None) -> int:
    """Threads of a warp of the device: 32 where it does not say."""
    size = getattr(device, "warp_size", None)
    return WARP if size is None or size.value is None else int(size.value)


def canonical_space(space: Mapping[str, Any], source: str, issues: list[Issue], warp: int = WARP) -> dict[str, Any]:
    """The space with canonical variable names; an unknown or repeated name becomes an issue.

    A domain of threads becomes one of warps of `warp` threads.
    """
    result: dict[str, Any] = {}
    for written, domain in space.items():
        name = variable_name(str(written))
        if name in THREADS:
            name, domain = "num_warps", _threads_to_warps(domain, f"space.{written}", source, issues, warp)
        if name not in TILE_VARIABLES:
            known = [*TILE_VARIABLES, *ALIASES, *THREADS]
            issues.append(Issue("unknown variable", f"space.{written}", source, suggest(str(written), known)))
        elif name in result:
            issues.append(Issue(f"{name} is given twice", f"space.{written}", source))
        else:
            result[name] = domain
    return result


def _threads_to_warps(domain: Any, where: str, source: str, issues: list[Issue], warp: int) -> Any:
    values = domain if isinstance(domain, list) else [domain]
    if any(isinstance(v, bool) or not isinstance(v, int) or v < warp or v % warp for v in values):
        issues.append(Issue(f"multiples of {warp} threads are wanted, got {shown(domain)}", where, source))
        return [1]
    return [v // warp for v in values]


def parse_tile(text: str | Mapping[str, Any], warp: int = WARP) -> dict[str, int]:
    """A tile from ``"block_m=128,block_n=256"`` or a mapping, with canonical names; threads in warps of `warp`.

    Raises `InputError` for a malformed item, an unknown variable, or a value that is no positive integer.
    """
    if not isinstance(text, str | Mapping):
        raise InputError(Issue(f"text or a mapping is wanted, got {type(text).__name__}", "tile"))
    issues: list[Issue] = []
    pairs = list(text.items()) if isinstance(text, Mapping) else _split_tile(text, issues)
    tile: dict[str, int] = {}
    for written, value in pairs:
        name, number = variable_name(str(written)), _tile_value(value)
        if name in THREADS and number is not None and number % warp == 0:
            name, number = "num_warps", number // warp
        least = MAY_BE_ZERO.get(name, 1)
        if name not in TILE_VARIABLES:
            issues.append(Issue("unknown variable", f"tile.{written}", hint=suggest(str(written), TILE_VARIABLES)))
        elif number is None or not least <= number <= MAX_EXTENT:
            wanted = f"a whole number from {least} to {MAX_EXTENT} is wanted, got {value!r}"
            issues.append(Issue(wanted, f"tile.{written}"))
        elif name in tile:
            issues.append(Issue(f"{name} is given twice", f"tile.{written}"))
        else:
            tile[name] = number
    if issues:
        raise InputError(issues)
    return tile


def _split_tile(text: str, issues: list[Issue]) -> list[tuple[str, Any]]:
    pairs: list[tuple[str, Any]] = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, sign, value = item.partition("=")
        if sign:
            pairs.append((name.strip(), value.strip()))
        else:
            issues.append(Issue(f"{item!r} is no assignment", "tile", hint="write block_m=128,block_n=256,…"))
    return pairs


def _tile_value(value: Any) -> int | None:
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdigit() and len(value) <= 12 else None
    return int(value) if hasattr(value, "__index__") and not isinstance(value, bool) else None


def cartesian(domains: Mapping[str, Sequence[int]]) -> int:
    """Number of candidates in a space."""
    return prod(len(d) for d in domains.values())
