"""Compiler versions: reading them, and the part of a language's data that holds for one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tilesearch.errors import InputError, Issue, suggest
from tilesearch.specs.kernels import KernelSpec

Version = tuple[int, ...]


def parse_version(text: str) -> Version:
    """``"3.6"``, ``"3.6.0"`` or ``"triton-3.6"`` as a tuple of numbers, major and minor first."""
    numbers = re.findall(r"\d+", text)
    if not numbers:
        raise ValueError(f"{text!r} holds no version number")
    return tuple(int(n) for n in numbers[:3])


def version_of(kernel: KernelSpec, known: Sequence[str], source: str = "") -> Version:
    """The version that `kernel` asks for, the newest of `known` when it asks for none.

    A patch release counts as its minor version. Raises `InputError` for a version that is not known: what a
    compiler does is a fact of its version, so a guess would be a wrong answer.
    """
    if kernel.version is None:
        return max(parse_version(v) for v in known)
    try:
        wanted = parse_version(kernel.version)
    except ValueError:
        wanted = ()
    depth = len(parse_version(known[0]))
    for version in map(parse_version, known):
        if wanted[:depth] == version:
            return version
    message = f"{kernel.language} {kernel.version} is not known"
    raise InputError(Issue(message, "kernel.version", source, f"known: {', '.join(known)}"))


def variants_at(data: Mapping[str, Any], known: Sequence[str], version: Version) -> list[str]:
    """Those of the variants `known` that the language has in `version`: its data's `variant_since`."""
    since_when = data.get("variant_since", {})
    return [name for name in known if parse_version(since_when.get(name, "0")) <= version]


def variant_of(
    kernel: KernelSpec,
    known: Sequence[str],
    source: str = "",
    data: Mapping[str, Any] | None = None,
    version: Version | None = None,
    device: str = "",
) -> str:
    """The variant that `kernel` asks for, the first of `known` when it asks for none.

    Raises `InputError` for a variant that the language does not have for this operator, or, given the
    language's `data`, not yet in `version`.
    """
    if data is not None and version is not None:
        present = variants_at(data, known, version)
        if kernel.variant in known and kernel.variant not in present:
            asked, first = ".".join(map(str, version)), data["variant_since"][kernel.variant]
            message = f"{kernel.language} {asked} has no variant {kernel.variant!r}"
            raise InputError(Issue(message, "kernel.variant", source, f"since {first}"))
        known = present
    if kernel.variant is None:
        return known[0]
    if kernel.variant in known:
        return kernel.variant
    message = (
        f"{kernel.language} has no variant {kernel.variant!r} for this operator{f' on {device}' if device else ''}"
    )
    raise InputError(Issue(message, "kernel.variant", source, suggest(kernel.variant, list(known))))


def since(rows: Iterable[Mapping[str, Any]], version: Version) -> dict[str, Any]:
    """The rows that hold for `version`, laid over one another: each row's ``since`` is its first version."""
    held = sorted((r for r in rows if parse_version(r["since"]) <= version), key=lambda r: parse_version(r["since"]))
    return {key: value for row in held for key, value in row.items() if key != "since"}
