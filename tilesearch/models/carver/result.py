"""What a run of carver holds, in the words of the oracle files."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import prod
from typing import Any, Literal

from tilesearch.models.carver.device import CarverDevice
from tilesearch.models.carver.graph import Graph, Sizes

RSteps = tuple[Sizes, ...]
"""A reduction step for each node."""

Status = Literal["ok", "smem", "reg"]


@dataclass(frozen=True)
class Row:
    """A tile that the search met. What carver does not compute for a rejected tile is None.

    Bytes of one block; `priority` = (traffic + 1) * num_wave, smaller first.
    """

    tile: Sizes
    status: Status
    traffic: float
    smem_cost: int
    reg_usage: int
    node_tiles: tuple[Sizes, ...]
    grid_size: int | None = None
    block_per_sm: int | None = None
    num_wave: int | None = None
    priority: float | None = None

    @property
    def valid(self) -> bool:
        """Whether the search keeps the tile and goes on from it."""
        return self.status == "ok"

    def as_dict(self) -> dict[str, Any]:
        """Under the oracle's column names."""
        return {
            "tile": list(self.tile),
            "status": self.status,
            "traffic": self.traffic,
            "smem_cost": self.smem_cost,
            "reg_usage": self.reg_usage,
            "grid_size": self.grid_size,
            "block_per_SM": self.block_per_sm,
            "num_wave": self.num_wave,
            "priority": self.priority,
            "node_tiles": [list(tile) for tile in self.node_tiles],
        }


@dataclass(frozen=True)
class NodeHint:
    """How one node of a hint is to be scheduled."""

    block: Sizes
    rstep: Sizes
    cached_tensors: tuple[str, ...]
    shared_scope: str
    thread: Sizes = ()
    warp: Sizes = ()
    reduce_thread: Sizes = ()
    step: Sizes = ()
    vectorize: dict[str, int] = field(default_factory=dict)
    pipeline_stage: int = 1
    use_async: bool = False
    rasterization: tuple[str, int] | None = None

    def as_dict(self) -> dict[str, Any]:
        """As carver prints a hint: what is at its default is left out."""
        head: dict[str, Any] = {"block": list(self.block)}
        head |= {"warp": list(self.warp)} if self.warp else {"thread": list(self.thread)}
        head["rstep"] = list(self.rstep)
        options: dict[str, Any] = {
            "reduce_thread": list(self.reduce_thread) if prod(self.reduce_thread) > 1 else None,
            "use_tc": True if self.warp else None,
            "step": list(self.step) if prod(self.step) > 1 else None,
            "vectorize": self.vectorize or None,
            "pipeline_stage": self.pipeline_stage if self.pipeline_stage > 1 else None,
            "cached_tensors": list(self.cached_tensors),
            "rasterization": list(self.rasterization) if self.rasterization else None,
            "use_async": self.use_async or None,
        }
        kept = {key: value for key, value in options.items() if value is not None}
        return {**head, **kept, "shared_scope": self.shared_scope}


@dataclass(frozen=True)
class Hint:
    """One recommended configuration."""

    nodes: tuple[NodeHint, ...]

    def as_dict(self) -> dict[str, Any]:
        """A single node's hint as it is, several under ``nodes``."""
        return self.nodes[0].as_dict() if len(self.nodes) == 1 else {"nodes": [n.as_dict() for n in self.nodes]}


@dataclass(frozen=True)
class Trial:
    """A ranked tile that was turned into a hint, or was not: what the emission made of it."""

    row: int
    rstep: RSteps
    smem_cost: int
    block_sizes: tuple[int, ...]
    threads: int | None
    hint: int | None


@dataclass(frozen=True)
class Failure:
    """Why a run holds no rows.

    ``not_applicable``: the policy does not apply to the function, and the template takes the other one.
    ``error``: carver itself raises.
    """

    kind: Literal["not_applicable", "error"]
    reason: str


@dataclass(frozen=True)
class Setting:
    """What is the same for every tile of a run."""

    base_tile: Sizes
    steps: tuple[Sizes, ...]
    rstep_candidates: tuple[tuple[Sizes, ...], ...]
    rstep_init: RSteps
    pipeline_stage: int | None
    use_async_copy: bool | None


@dataclass(frozen=True)
class CarverRun:
    """One search by one policy: every tile met, in order, the ranking, and what was emitted.

    `ranking` holds row numbers, best first; `shape_ok` whether each ranked tile may become a hint; `trials` the
    tiles that were tried for the hints. All are empty where `failure` says why.
    """

    template: str
    params: dict[str, Any]
    device: CarverDevice
    policy: str
    failure: Failure | None = None
    graph: Graph | None = None
    setting: Setting | None = None
    rows: tuple[Row, ...] = ()
    ranking: tuple[int, ...] = ()
    shape_ok: tuple[bool, ...] = ()
    trials: tuple[Trial, ...] = ()
    hints: tuple[Hint, ...] = ()
    cap_hit: bool = False

    @property
    def counts(self) -> dict[str, int | bool]:
        """The oracle's summary of the search."""
        keys = [self.rows[number].priority for number in self.ranking]
        statuses = Counter(row.status for row in self.rows)
        return {
            "visited": len(self.rows),
            "valid": statuses["ok"],
            "rejected_smem": statuses["smem"],
            "rejected_reg": statuses["reg"],
            "lattice": prod(len(steps) for steps in self.setting.steps) if self.setting else 0,
            "cap_hit": self.cap_hit,
            "distinct_priority": len(set(keys)),
            "ties_at_top": keys.count(keys[0]) if keys else 0,
        }
