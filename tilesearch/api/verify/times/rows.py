"""One measured launch, whatever file it stands in: the problem, the tile, and how long it took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tilesearch.specs.ops import OpSpec

DEVICE = "h200"
"""The device that reference files were measured on; a table of `tune` names its own."""


@dataclass(frozen=True)
class Timed:
    """A configuration that ran on one shape.

    `kind` names the set of kernels that are ranked against each other, `shape` the problem within it. `build_op` is
    an operator whose kernel is built as the measured one was (a build that was given no divisibility hints, say);
    None where the operator itself is. `cool` says that the reading was taken at the device's full clock, so that
    errors are judged by it; `hot_us` is the time back to back, without rests. `extra` overrides columns of the launch
    that no tile variable stands for.
    """

    place: int | str
    kind: str
    shape: str
    op: OpSpec
    kernel: Mapping[str, str]
    tile: Mapping[str, int]
    config: str
    time_us: float
    cool: bool
    build_op: OpSpec | None = None
    hot_us: float | None = None
    extra: Mapping[str, int] = field(default_factory=dict)
    device: str = DEVICE

    @property
    def case(self) -> tuple[str, str]:
        """What is ranked together."""
        return self.kind, self.shape

    @property
    def problem(self) -> str:
        """What the rows of one model share."""
        return f"{self.device} {self.op!r} {self.build_op!r} {sorted(self.kernel.items())}"
