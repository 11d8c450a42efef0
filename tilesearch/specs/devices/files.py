"""Finding and reading device files: names, aliases, paths, and inheritance between files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from tilesearch.errors import InputError, Issue, suggest
from tilesearch.specs.data import data_dir
from tilesearch.specs.devices.amd import AmdDevice
from tilesearch.specs.devices.ascend import AscendDevice
from tilesearch.specs.devices.base import Device
from tilesearch.specs.devices.nvidia import NvidiaDevice
from tilesearch.specs.devices.quantities import UNKNOWN
from tilesearch.specs.validation import dotted, find_issues, load_toml, shown

VENDORS: dict[str, type[Device]] = {"amd": AmdDevice, "ascend": AscendDevice, "nvidia": NvidiaDevice}
"""The model of each vendor's devices."""

# A file that inherits adds to these tables entry by entry; everything else it replaces whole, so that a
# number never keeps the source of the number that it replaces.
_MERGED_TABLES = ("roofs", "policies", "clocks", "time")
# What belongs to one file alone.
_OWN_KEYS = ("name", "aliases", "inherits", "limits_only", "note")


def list_devices() -> list[str]:
    """The names of the devices that ship with the package, sorted."""
    return sorted(_shipped())


def load_device(name_or_path: str | Path) -> Device:
    """The device of a name, an alias or a TOML file. In names, case, ``-``, ``_`` and spaces do not count.

    Raises `InputError` for a name that is not known, and with every fault of a file that is not right.
    """
    if isinstance(name_or_path, Path) or _looks_like_path(name_or_path):
        return read_device(Path(name_or_path))
    found = _find(name_or_path)
    if found is not None:
        return _load_shipped(found)
    if name_or_path and os.path.exists(name_or_path):
        return read_device(Path(name_or_path))
    hint = suggest(name_or_path, [*list_devices(), *(alias for alias, _ in _alias_table())])
    if not hint.startswith("did you mean"):
        hint = suggest(name_or_path, list_devices())  # the list of names alone is long enough
    raise InputError(Issue(f"unknown device {name_or_path!r}", hint=hint))


def read_device(path: Path) -> Device:
    """Read a device file. It may inherit from a shipped device by name, or from a file beside it by path."""
    data, owners = _with_inherited(path, ())
    source = _source(path)
    vendor = data.get("vendor")
    model = VENDORS.get(vendor) if isinstance(vendor, str) else None
    if model is None:
        if "vendor" not in data:
            hint = f"allowed: {', '.join(sorted(VENDORS))}"
            raise InputError(Issue("is required and absent", "vendor", source, hint))
        message = (
            f"unknown vendor {vendor!r}" if isinstance(vendor, str) else f"a string is wanted, got {shown(vendor)}"
        )
        raise InputError(Issue(message, "vendor", source, suggest(str(vendor), sorted(VENDORS))))
    if data.get("limits_only") is True:
        data = _product_facts_unknown(model) | data
    checked = find_issues(model, data, source)
    if isinstance(checked, Device):
        return checked
    raise InputError([_owned(issue, owners) for issue in checked])


@cache
def _shipped() -> dict[str, Path]:
    return {path.stem: path for path in data_dir("hardware").glob("*.toml")}


@cache
def _alias_table() -> tuple[tuple[str, str], ...]:
    """Every alias that a shipped file lists, with the name of its device."""
    return tuple(
        (alias, stem) for stem, path in sorted(_shipped().items()) for alias in load_toml(path).get("aliases", [])
    )


def _plain(name: str) -> str:
    return name.casefold().replace("-", "").replace("_", "").replace(" ", "")


def _find(name: str) -> str | None:
    wanted = _plain(name)
    for stem in _shipped():
        if _plain(stem) == wanted:
            return stem
    return next((stem for alias, stem in _alias_table() if _plain(alias) == wanted), None)


@cache
def _load_shipped(stem: str) -> Device:
    return read_device(_shipped()[stem])


def _looks_like_path(name: str) -> bool:
    return name.endswith(".toml") or "/" in name or "\\" in name


def _source(path: Path) -> str:
    """How messages call a file: a shipped one by its place in the package, others as they were given."""
    return f"hardware/{path.name}" if path.parent == data_dir("hardware") else str(path)


def _with_inherited(path: Path, seen: tuple[Path, ...]) -> tuple[dict[str, Any], dict[str, str]]:
    """The data of a file over those of the files that it inherits from, and the file that each key stands in.

    Keys are named as in issues, up to the entries of tables that are merged.
    """
    here = path.resolve()
    if here in seen:
        chain = " -> ".join(_source(p) for p in (*seen[seen.index(here) :], here))
        raise InputError(Issue(f"inherits from itself: {chain}", "inherits", _source(seen[-1])))
    data = load_toml(path)
    source = _source(path)
    owners = dict.fromkeys(data, source)
    parent = data.get("inherits")
    if parent is None:
        return data, owners
    base, base_owners = _with_inherited(_parent_path(parent, path), (*seen, here))
    merged = {key: value for key, value in base.items() if key not in _OWN_KEYS}
    merged["policies"] = _surviving_policies(merged.get("policies"), data)
    for key, value in data.items():
        below = merged.get(key)
        if key in _MERGED_TABLES and isinstance(value, Mapping) and isinstance(below, Mapping):
            merged[key] = {**below, **value}
            for entry in merged[key]:
                name = dotted(key, entry)
                owners[name] = source if entry in value else base_owners.get(name, base_owners[key])
        else:
            merged[key] = value
    inherited = {key: owner for key, owner in base_owners.items() if key not in _OWN_KEYS}
    return merged, inherited | owners


def _surviving_policies(policies: object, child: Mapping[str, Any]) -> object:
    """The inherited policies without their choices for what the child replaces: its calibrations are others."""
    roofs = child.get("roofs")
    replaced = {*(roofs if isinstance(roofs, Mapping) else ()), *({"bandwidth"} & child.keys())}
    if not isinstance(policies, Mapping):
        return {} if policies is None else policies
    return {
        policy: {name: chosen for name, chosen in choices.items() if name not in replaced}
        if isinstance(choices, Mapping)
        else choices
        for policy, choices in policies.items()
    }


def _parent_path(parent: object, child: Path) -> Path:
    source = _source(child)
    if not isinstance(parent, str):
        raise InputError(Issue(f"the name of a device file is wanted, got {shown(parent)}", "inherits", source))
    if _looks_like_path(parent):
        path = child.parent / parent
        if not os.path.isfile(path):
            raise InputError(Issue(f"no such file: {path}", "inherits", source))
        return path
    stem = _find(parent)
    if stem is None:
        raise InputError(Issue(f"unknown device {parent!r}", "inherits", source, suggest(parent, list_devices())))
    return _shipped()[stem]


def _product_facts_unknown(model: type[Device]) -> dict[str, Any]:
    """For a file of limits: what differs between products of one architecture, as unknown."""
    facts: dict[str, Any] = dict.fromkeys(model.PRODUCT_FACTS, UNKNOWN)
    return facts | {"bandwidth": {"theoretical": UNKNOWN}}


def _owned(issue: Issue, owners: Mapping[str, str]) -> Issue:
    """Name the file in which a faulty key stands, which may be one that was inherited from."""
    keys = [key for key in owners if issue.where == key or issue.where.startswith((f"{key}.", f"{key}["))]
    return replace(issue, source=owners[max(keys, key=len)]) if keys else issue
