"""Answers about kernels in a language: configurations kept and dropped, a port, an export."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from tilesearch.answers import Candidate, Metrics, Nearest, Record, RuleReport, Tile, Verdict


def is_empty(value: list[Any]) -> bool:
    """Whether a list is left out of what is printed."""
    return not value


class Kept(Record):
    """A configuration that runs. `config` is the caller's own object."""

    config: Any
    verdict: Verdict
    metrics: Metrics


class Rejected(Record):
    """A configuration that does not, and the rules that it breaks (or that cannot be judged)."""

    config: Any
    violations: list[str]


class PruneAnswer(Record):
    """Configurations that run, best first by `rank`, and the others with the reasons.

    `notes` stand only where there are any.
    """

    rank: str
    kept: list[Kept]
    rejected: list[Rejected]
    notes: list[str] = Field(default_factory=list, exclude_if=is_empty)


class Judged(Record):
    """A tile on one device: the verdict there, and what the device's language makes of it.

    `nearest` are the tiles nearest to it that fit, where it does not; `notes` what the rules do not cover there.
    Both stand only where there are any.
    """

    device: str
    kernel: dict[str, str | int]
    verdict: Verdict
    metrics: Metrics
    nearest: list[Nearest] = Field(default_factory=list, exclude_if=is_empty)
    notes: list[str] = Field(default_factory=list, exclude_if=is_empty)


class PortAnswer(Record):
    """A tile carried from one device to another: what breaks there, and the best that fits, ranked."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True, serialize_by_alias=True)

    origin: Judged = Field(alias="from")
    target: Judged = Field(alias="to")
    tile: Tile
    broken: list[RuleReport]
    rank: str
    best: list[Candidate]


class ExportAnswer(Record):
    """A tile in another program's words: launch parameters by its names, and code where there is a template.

    `notes` stand only where there are any: a tile that spills, what the rules do not cover.
    """

    language: str
    tile: Tile
    parameters: dict[str, int | str]
    code: str | None
    notes: list[str] = Field(default_factory=list, exclude_if=is_empty)
