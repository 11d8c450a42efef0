"""One build of a kernel, whatever file it stands in: the problem, the tile, and what happened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tilesearch.specs.ops import OpSpec


@dataclass(frozen=True)
class Build:
    """A build that was tried. `shared_bytes` is the compiler's figure; `spills` None where it was not seen.

    `ran` says that it launched and gave right results. `error` is its own message, for the report.
    """

    place: int | str
    op: OpSpec
    kernel: Mapping[str, str]
    tile: Mapping[str, int]
    ran: bool
    shared_bytes: int | None
    spills: bool | None
    error: str = ""

    @property
    def problem(self) -> str:
        """What the rows of one problem share."""
        return f"{self.op!r} {sorted(self.kernel.items())}"


@dataclass(frozen=True)
class Skipped:
    """A row that is not compared, and why."""

    place: int | str
    reason: str


@dataclass
class Counted:
    """Counts of a replay."""

    false_fits: int = 0
    false_rejects: int = 0
    ran: int = 0
    with_bytes: int = 0
    exact_bytes: int = 0
    spills: dict[str, int] = field(default_factory=lambda: {"hit": 0, "false": 0, "missed": 0})

    def stats(self) -> dict[str, Any]:
        """The figures under the names that the command prints; shares in 0..1, None over nothing."""
        found, wanted = self.spills["hit"] + self.spills["false"], self.spills["hit"] + self.spills["missed"]
        return {
            "false_fits": self.false_fits,
            "false_rejects": self.false_rejects,
            "false_reject_share": self.false_rejects / self.ran if self.ran else None,
            "exact_bytes": self.exact_bytes / self.with_bytes if self.with_bytes else None,
            "spill_precision": self.spills["hit"] / found if found else None,
            "spill_recall": self.spills["hit"] / wanted if wanted else None,
        }
