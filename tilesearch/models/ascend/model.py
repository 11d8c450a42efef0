"""The cost of statements and leaf tasks in numbers, in one of three modes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tilesearch.errors import InputError, Issue
from tilesearch.rules.ascend import costs
from tilesearch.rules.ascend.costs import WHOLE, Clock, Cost, Mode
from tilesearch.rules.evaluate import evaluate
from tilesearch.specs.devices import AscendDevice, Device
from tilesearch.specs.dtypes import dtype

Time = int | Fraction

_MEMORY = frozenset(("MTE1", "MTE2", "MTE3", "FIX"))


@dataclass(frozen=True)
class TaskCost:
    """Latency and initiation interval in cycles: whole, or exact fractions in the mode ``seed``."""

    latency: Time
    interval: Time
    pipes: frozenset[str] = frozenset()
    ports: frozenset[str] = frozenset()


SCALAR = TaskCost(1, 1, frozenset("S"))
"""A scalar statement: a store to a variable, a flag, a mode register, a fill outside a vector function."""


class LatencyModel:
    """The costs of one device in one mode (see `costs.Mode`); every method raises for what is not known."""

    def __init__(self, device: Device, mode: Mode = "shipped") -> None:
        if not isinstance(device, AscendDevice):
            raise InputError(
                Issue(f"the latency model is of Ascend devices, {device.name} is {device.vendor}", "device")
            )
        self.device = device
        self.mode = mode

    def copy(self, path: str, size: int, row: int | None = None) -> TaskCost:
        """A copy of `size` bytes; `row` is the width of rows that are not contiguous, 0 where it is not known."""
        clock = self._clock(self.device.paths[path].bandwidth if path in self.device.paths else 1)
        return self._number(costs.copy(self.device, path, size, row, self.mode, clock), clock)

    def cube(self, kind: str, m: int, n: int, k: int, *, in_l1: bool = False) -> TaskCost:
        """A matrix product of one tile. `kind` is a data type, ``mx_fp8`` or ``mx_fp4`` (block-scaled)."""
        operands: tuple[int, ...] = ()
        if in_l1 and not kind.startswith("mx_"):
            operands = tuple(dtype(kind).storage_bytes(side * k) for side in (m, n))
        loads = [costs.path_of(self.device, name).bandwidth for name in ("l1_l0a", "l1_l0b")] if operands else []
        clock = self._clock(costs.cube_rate(self.device, kind).operations, *loads)
        return self._number(costs.cube(self.device, kind, m, n, k, self.mode, operands, clock), clock)

    def operand_load(self, kind: str, m: int, n: int, k: int) -> Time:
        """How long the operands of one product hold MTE1, in cycles."""
        clock = self._clock(*(self.device.paths[name].bandwidth for name in ("l1_l0a", "l1_l0b")))
        sizes = [dtype(kind).storage_bytes(side * k) for side in (m, n)]
        return self._whole(int(evaluate(costs.operand_load(self.device, sizes, clock), {})), clock)

    def vector(
        self, operations: Sequence[tuple[str, int]] = (), *, calls: int = 0, read_bytes: int = 0, user_latency: int = 0
    ) -> TaskCost:
        """A vector block; a `user_latency` above 0 replaces what its body would cost."""
        if user_latency > 0:
            return TaskCost(user_latency, user_latency, frozenset("V"))
        rate = costs.vector_rate(self.device)
        clock = self._clock(rate.read_bandwidth, *(rate.operations[k] for k, _ in operations if k in rate.operations))
        cost = costs.vector(self.device, operations, calls, read_bytes, self.mode, clock)
        return self._number(cost, clock)

    def scatter(self, source: str, target: str, rows: int, columns: int) -> TaskCost:
        """The vector task before a copy from UB to L1 that changes rows into fractals."""
        cost = costs.scatter(self.device, dtype(source), dtype(target), rows, columns)
        return self._number(cost, WHOLE)

    def trips(self, known: int | None = None) -> int:
        """Trips of a loop: what is `known`, else what the model takes where nothing is provable."""
        return costs.vector_rate(self.device).unknown_trip if known is None else known

    def fill(self, scope: str, size: int) -> TaskCost:
        """A fill outside a vector function: of L1 it moves as a copy from memory would, elsewhere it is scalar."""
        return self.copy("gm_l1", size) if scope == "l1" else SCALAR

    def _clock(self, *divisors: int | str) -> Clock:
        return Clock.exact(int(d) for d in divisors if not isinstance(d, str)) if self.mode == "seed" else WHOLE

    def _number(self, cost: Cost, clock: Clock) -> TaskCost:
        latency, interval = (int(evaluate(tree, {})) for tree in (cost.latency, cost.interval))
        if clock.rounds:
            latency, interval = max(latency, 1), max(interval, 1)
        return TaskCost(self._whole(latency, clock), self._whole(interval, clock), cost.pipes, cost.ports)

    def _whole(self, ticks: int, clock: Clock) -> Time:
        return ticks if self.mode != "seed" else Fraction(ticks, clock.ticks)


def leaf(
    copies: Sequence[tuple[str, TaskCost]] = (),
    products: Sequence[TaskCost] = (),
    block: TaskCost | None = None,
    *,
    scalar: bool = False,
) -> TaskCost:
    """A leaf task of several statements, from the costs of each; `copies` are named by their path.

    Memory latencies add up, intervals add up on one path and take the maximum over paths. Products share one
    Cube: their times add up for the latency with the largest base once, their interval is the largest.
    ``latency = memory + max(vector, cube, scalar)``; the interval is the largest of the active pipes'.
    """
    pipes = frozenset().union(*(c.pipes for c in (*(c for _, c in copies), *products, *([block] if block else []))))
    ports = frozenset().union(*(c.ports for _, c in copies))
    by_path: dict[str, Time] = {}
    for path, cost in copies:
        by_path[path] = by_path.get(path, 0) + cost.interval
    memory = sum((c.latency for _, c in copies), 0)
    cube = sum((p.interval for p in products), 0) + max((p.latency - p.interval for p in products), default=0)
    vector = block.latency if block else 0
    compute = max(vector, cube, 1 if scalar and not block else 0)
    active = [*by_path.values()] if pipes & _MEMORY else []
    active += [p.interval for p in products] + ([vector] if block else [])
    return TaskCost(max(memory + compute, 1), max([1, *active]), pipes or frozenset("S"), ports)
