"""Answers about kernels in a language: configurations kept and dropped, a port, an export."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from tilesearch.answers import Candidate, Metrics, Record, RuleReport, Tile, Verdict


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
    """Configurations that run, best first, and the others with the reasons."""

    kept: list[Kept]
    rejected: list[Rejected]


class Judged(Record):
    """A tile on one device: the verdict there, and what the device's language makes of it."""

    device: str
    kernel: dict[str, str]
    verdict: Verdict
    metrics: Metrics


class PortAnswer(Record):
    """A tile carried from one device to another: what breaks there, and the best that fits, ranked."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True, serialize_by_alias=True)

    origin: Judged = Field(alias="from")
    target: Judged = Field(alias="to")
    tile: Tile
    broken: list[RuleReport]
    best: list[Candidate]


class ExportAnswer(Record):
    """A tile in another program's words: launch parameters by its names, and code where there is a template."""

    language: str
    tile: Tile
    parameters: dict[str, int]
    code: str | None
