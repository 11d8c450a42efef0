"""What can be computed of one tile before it runs: the signals on which the criteria decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, prod

from tilesearch.ledger.bounds import Bound
from tilesearch.ledger.cost import L2_BANDWIDTH, compute_s, fill
from tilesearch.program.form import Program, Role, Tensor
from tilesearch.rules.evaluate import evaluate
from tilesearch.rules.expr import Expr
from tilesearch.rules.geometry import Geometry


@dataclass(frozen=True)
class Launch:
    """The metrics of a tile that the criteria read. Sizes in B, registers of a thread, blocks."""

    grid: int
    waves: int
    tail_fill: float
    blocks_per_sm: int
    shared: int
    accumulators: int
    threads: int


@dataclass(frozen=True)
class Signals:
    """One tile of one operator on one device. None where the device's file does not know what is needed."""

    program: Program
    bound: Bound
    tile: Mapping[str, int]
    launch: Launch
    payload: int
    lookup: int
    partial: int
    sms: int
    l2_size: int | None

    @property
    def geometry(self) -> Geometry:
        """Trees over this tile's variables."""
        return Geometry(self.program, frozenset(self.tile))

    def value(self, tree: Expr) -> int:
        """The value of a tree at this tile."""
        return int(evaluate(tree, self.tile))

    @property
    def traffic(self) -> int:
        """Bytes that the blocks read and write. Unit: B."""
        return self.payload + self.lookup + self.partial

    @property
    def over_ideal(self) -> float:
        """Traffic over the ledger's bytes: 1 where nothing is re-read."""
        return self.traffic / self.bound.ledger.bytes

    @property
    def busy(self) -> float:
        """The share of the SMs' time that the grid can use, in (0, 1]."""
        return fill(self.launch.grid, self.sms)

    @property
    def stage_bytes(self) -> int:
        """Bytes staged anew at each step of a block's loop. Unit: B."""
        return self.value(self.geometry.stage_bytes())

    @property
    def steps(self) -> int:
        """Steps of a block's loop, on average: its share of a split, and what a mask leaves; 1 without a loop.

        What all blocks read of a staged tensor, over the tile of it that a step of each block takes.
        """
        geometry, program = self.geometry, self.program
        streamed = [t for t in program.tensors if t.staged and geometry.streams(t)]
        tiles = {t: self.launch.grid * t.dtype.storage_bytes(self.value(geometry.region(t))) for t in streamed}
        return max((round(self.value(geometry.reads(t)) / tiles[t]) for t in streamed), default=1) or 1

    @property
    def resident(self) -> int:
        """Blocks at work on one SM: what residency allows, or all there are."""
        return max(1, min(self.launch.blocks_per_sm, ceil(self.launch.grid / self.sms)))

    @property
    def step_s(self) -> float:
        """Time between two steps of a block, with all resident blocks taking theirs in between. Unit: s.

        The launch's bound, by memory, L2 or arithmetic, shared out over the steps of all blocks on the SMs at work.
        """
        times = [compute_s(self.bound.ledger.flops_by_unit, self.bound.rates), self.bound.memory_s, self.l2_s or 0.0]
        at_work = min(self.launch.grid, self.sms)
        return max(times) * at_work / (self.launch.grid * self.steps) * self.resident

    @property
    def load_latency(self) -> float | None:
        """Time from a load to its data. Unit: s."""
        return self.bound.rates.constant("load_latency")

    @property
    def stages_needed(self) -> int | None:
        """``1 + ceil(latency / compute)`` for a loop: enough stages that loads hide behind arithmetic (seed 4.3).

        Two where blocks have no loop: the next rows are loaded while these are worked on.
        """
        if not self.loops:
            return 2
        return None if self.load_latency is None else 1 + ceil(self.load_latency / self.step_s)

    @property
    def loops(self) -> bool:
        """Whether a block streams something through shared memory step by step."""
        return self.stage_bytes > 0 and self.steps > 1

    @property
    def in_flight(self) -> int:
        """Bytes that an SM can have on their way: all stages but the one in use, or the rows of all its blocks."""
        if self.loops:
            return self.resident * self.stage_bytes * max(1, self.tile.get("num_stages", 1) - 1)
        return self.resident * max(1, (self.payload + self.lookup) // self.launch.grid)

    @property
    def in_flight_needed(self) -> int | None:
        """Bytes that an SM must have on their way to draw its share of the bandwidth (Little's law). Unit: B."""
        if self.load_latency is None:
            return None
        return ceil(self.bound.rates.bandwidth.value / self.sms * self.load_latency)

    @property
    def dispatch_s(self) -> float | None:
        """Time to hand out the blocks of the launch, one after the other. Unit: s."""
        each = self.bound.rates.constant("block_dispatch")
        return None if each is None else each * self.launch.grid

    @property
    def memory_s(self) -> float:
        """Time of the traffic if main memory sees all of it: no cache catches a re-read. Unit: s."""
        return self.traffic / self.bound.rates.bandwidth.value

    @property
    def l2_s(self) -> float | None:
        """Time of the traffic between L2 and the SMs. Unit: s."""
        rate = self.bound.rates.constant(L2_BANDWIDTH)
        return None if rate is None else self.traffic / rate

    @property
    def latency_s(self) -> float | None:
        """Time of the waves if each waits for its loads once. Unit: s."""
        if self.load_latency is None:
            return None
        return ceil(self.launch.grid / (self.sms * max(1, self.resident))) * self.load_latency

    @property
    def limits(self) -> dict[str, float]:
        """Each bound on the time of the launch that is known, by name; the largest is what to work on. Unit: s.

        DRAM sees what is re-read only where L2 cannot hold it in between.
        """
        caught = self.reread_stays_in_l2
        known = {
            "DRAM": self.bound.memory_s if caught else self.memory_s,
            "L2": self.l2_s,
            "arithmetic": compute_s(self.bound.ledger.flops_by_unit, self.bound.rates),
            "block dispatch": self.dispatch_s,
            "latency": self.latency_s,
        }
        return {name: value for name, value in known.items() if value is not None}

    @property
    def operands(self) -> int:
        """Bytes of all inputs. Unit: B."""
        return self.bound.ledger.bytes_of(Role.INPUT)

    @property
    def reread(self) -> tuple[Tensor, ...]:
        """Tensors that blocks read more than once, the largest excess first."""
        excess = {
            tensor: self.value(self.geometry.reads(tensor)) - self.program.tensor_bytes(tensor)
            for tensor in self.program.tensors
            if tensor.role in (Role.INPUT, Role.TABLE)
        }
        return tuple(sorted((t for t in excess if excess[t] > 0), key=lambda t: -excess[t]))

    def reuse_distance(self, tensor: Tensor) -> float:
        """Bytes that pass between two reads of an entry, if its reads are spread evenly over the launch. Unit: B."""
        return self.traffic * self.program.tensor_bytes(tensor) / self.value(self.geometry.reads(tensor))

    @property
    def reread_stays_in_l2(self) -> bool | None:
        """Whether all that is re-read comes back before L2 has seen its own size in other bytes."""
        if self.l2_size is None:
            return None
        return all(self.reuse_distance(tensor) <= self.l2_size for tensor in self.reread)

    @property
    def outputs_per_block(self) -> int:
        """Index points of the tiled parallel dimensions that a block covers: rows of a block, for row operators."""
        return prod(self.value(self.geometry.tile(d)) for d in self.program.parallel if not d.whole)
