"""What one statement costs on an Ascend AI core, as trees: latency and initiation interval by pipe.

The formulas are those of TileLang v0.1.15's latency model (its `EstimateLatency` pass); the numbers come from
the device file. Each formula stands here once: the kernel language reads it with tile variables in it, the
latency model with numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import lcm
from typing import Literal

from tilesearch.errors import InputError, Issue, UnknownLimitError, suggest
from tilesearch.rules.expr import Expr, as_expr, ceildiv, maximum, minimum, round_up, select
from tilesearch.specs.devices.ascend import AscendDevice, Band, CubeRate, Path, Scatter, VectorRate
from tilesearch.specs.dtypes import DType

Mode = Literal["shipped", "intended", "seed"]
"""``shipped``: what the compiled pass answers, to the cycle. ``intended``: special functions at their table
rate, and operands in L1 charged to MTE1. ``seed``: the seed text's unrounded arithmetic."""

Integer = Expr | int


@dataclass(frozen=True)
class Cost:
    """Latency and initiation interval in ticks of a `Clock`, the pipes that are held, and the ports to memory.

    `less` holds the pipes that work for less than the interval, with how long.
    """

    latency: Expr
    interval: Expr
    pipes: frozenset[str]
    ports: frozenset[str] = frozenset()
    less: Mapping[str, Expr] = field(default_factory=dict)


@dataclass(frozen=True)
class Clock:
    """Ticks a cycle. One tick is a cycle where quotients are rounded up; exact quotients need finer ticks."""

    ticks: int = 1

    @classmethod
    def exact(cls, divisors: Iterable[int]) -> Clock:
        """Ticks so fine that a quotient by any of `divisors` is whole: no rounding at all."""
        return cls(lcm(*divisors))

    @property
    def rounds(self) -> bool:
        """Whether quotients are rounded up to whole cycles."""
        return self.ticks == 1

    def cycles(self, value: Integer) -> Expr:
        """`value` cycles, in ticks."""
        return as_expr(value) * self.ticks

    def quotient(self, value: Integer, rate: Integer) -> Expr:
        """The time of `value` units at `rate` units a cycle, in ticks."""
        if self.rounds:
            return ceildiv(value, rate)
        if not isinstance(rate, int):
            raise ValueError("exact time needs a constant rate")
        return as_expr(value) * (self.ticks // rate)


WHOLE = Clock()
"""Whole cycles, every quotient rounded up."""


def known(device: AscendDevice, value: int | str, what: str) -> int:
    """`value` where the device file knows it; raises `UnknownLimitError` naming `what` otherwise."""
    if isinstance(value, str):
        raise UnknownLimitError(f"{device.name}: {what} is not known; this answer needs it")
    return value


def path_of(device: AscendDevice, name: str) -> Path:
    """The path called `name` (``gm_l1``, ``l0c_ub``, …). Raises `UnknownLimitError` for one that the device lacks."""
    if name not in device.paths:
        has = f"it has {', '.join(sorted(device.paths))}" if device.paths else "its paths are not known"
        raise UnknownLimitError(f"{device.name} has no path {name!r}: {has}")
    return device.paths[name]


def copy(
    device: AscendDevice, name: str, size: Integer, row: Integer | None = None, mode: Mode = "shipped",
    clock: Clock = WHOLE,
) -> Cost:  # fmt: skip
    """One copy of `size` bytes on a path; on paths of two lanes, `size` is the share of one Vector core.

    `row` is the width in bytes of rows that are not contiguous on both sides: None where they are, 0 where it
    is not known. See `Path` for the formula.
    """
    path = path_of(device, name)
    if path.shipped_calls and mode == "shipped":
        return _as_vector_block(device, name, path, size)
    if mode == "seed":
        return _seed_copy(device, name, path, size, clock)
    usual = known(device, path.base, f"the latency of the path {name}")
    bandwidth = known(device, path.bandwidth, f"the bandwidth of the path {name}")
    moved = as_expr(size) * path.lanes
    base: Expr = as_expr(usual)
    rate: Expr = as_expr(bandwidth)
    if row is not None and path.strided is not None:
        base, rate = _strided(path, usual, bandwidth, row)
    interval = maximum(path.min_interval, path.issue + ceildiv(moved, bandwidth), ceildiv(moved, rate))
    return Cost(base + ceildiv(moved, rate), interval, frozenset((path.pipe,)), frozenset(path.ports))


def _seed_copy(device: AscendDevice, name: str, path: Path, size: Integer, clock: Clock) -> Cost:
    """The seed text charges bytes over bandwidth to the pipe, and neither an issue cost nor a least interval."""
    base = known(device, path.base, f"the latency of the path {name}")
    time = clock.quotient(as_expr(size) * path.lanes, known(device, path.bandwidth, f"the bandwidth of {name}"))
    return Cost(clock.cycles(base) + time, time, frozenset((path.pipe,)), frozenset(path.ports))


def _as_vector_block(device: AscendDevice, name: str, path: Path, size: Integer) -> Cost:
    base = known(device, path.base, f"the latency of the path {name}")
    time = ceildiv(size, known(device, path.bandwidth, f"the bandwidth of the path {name}"))
    calls = path.shipped_calls * vector_rate(device).call_cycles
    return Cost(base + time + calls, as_expr(calls), frozenset("V"))


def _strided(path: Path, base: int, bandwidth: int, row: Integer) -> tuple[Expr, Expr]:
    """Latency and rate of rows `row` bytes wide, by the bands of the path."""
    strided = path.strided
    assert strided is not None
    usual = base if strided.base is None else strided.base
    width = as_expr(row)
    latency, rate = _band(strided.bands[0], usual, bandwidth, width)
    for band in strided.bands[1:]:
        wider = width >= band.from_bytes
        own_latency, own_rate = _band(band, usual, bandwidth, width)
        latency, rate = select(wider, own_latency, latency), select(wider, own_rate, rate)
    unknown_latency, unknown_rate = _band(strided.unknown, usual, bandwidth, width)
    is_unknown = width.eq(0)
    return select(is_unknown, unknown_latency, latency), select(is_unknown, unknown_rate, rate)


def _band(band: Band, base: int, bandwidth: int, width: Expr) -> tuple[Expr, Expr]:
    if band.bandwidth is not None:
        rate: Integer = band.bandwidth
    elif band.per_byte is not None:
        rate = width * band.per_byte[0] // band.per_byte[1]
    else:
        transaction, peak = band.transaction or 1, band.peak or 1
        rate = width * peak // (transaction * maximum(ceildiv(width, transaction), 1))
    return as_expr(base if band.base is None else band.base), maximum(minimum(rate, bandwidth), 1)


def cube_rate(device: AscendDevice, kind: str) -> CubeRate:
    """The Cube's figures for a data type, or for ``mx_fp8`` and ``mx_fp4``."""
    if kind not in device.cube:
        hint = f"the Cube of {device.name} takes {', '.join(device.cube)}" if device.cube else ""
        raise InputError(Issue(f"{device.name} has no Cube rate for {kind}", "op.dtype", hint=hint))
    return device.cube[kind]


def cube_kind(a: DType, scaled: bool = False) -> str:
    """The name of the Cube's figures for operands of type `a`, block-scaled or not."""
    return f"mx_{a.roof_name}" if scaled else a.name


def cube_operations(device: AscendDevice, kind: str, m: Integer, n: Integer, k: Integer) -> Expr:
    """``2 M N K``, M and N rounded up to the fractal and K to the type's group. Unit: operations."""
    rate = cube_rate(device, kind)
    rows = round_up(m, known(device, _value(device, "fractal_m"), "fractal_m"))
    columns = round_up(n, known(device, _value(device, "fractal_n"), "fractal_n"))
    if rate.min_larger > 1:
        rows, columns = minimum(rows, columns), maximum(rows, columns, rate.min_larger)
    return 2 * rows * columns * round_up(k, rate.k_group)


def _value(device: AscendDevice, name: str) -> int | str:
    value = getattr(device, name).value
    return "unknown" if value is None else int(value)


def cube(
    device: AscendDevice, kind: str, m: Integer, n: Integer, k: Integer, mode: Mode = "shipped",
    operand_bytes: Sequence[Integer] = (), clock: Clock = WHOLE, scale_bytes: Sequence[Integer] = (),
) -> Cost:  # fmt: skip
    """One matrix product: interval = operations / rate, latency = interval + base.

    `operand_bytes` are the sizes of operands that stand in L1, `scale_bytes` those of their block scales. As
    shipped they cost nothing more. Otherwise each is loaded through MTE1, in steps that run beside the Cube, so
    the loads hold MTE1 (see `operand_load`) and the product takes as long as the slower of the two.
    """
    rate = cube_rate(device, kind)
    base = known(device, rate.base, f"the latency of the Cube for {kind}")
    operations = cube_operations(device, kind, m, n, k)
    time = clock.quotient(operations, known(device, rate.operations, f"the rate of the Cube for {kind}"))
    interval = maximum(time, 1) if clock.rounds else time
    latency = time + clock.cycles(base)
    if mode == "shipped" or not operand_bytes:
        return Cost(latency, interval, frozenset("M"))
    loads = operand_load(device, operand_bytes, clock, scale_bytes)
    return Cost(maximum(latency, loads), maximum(interval, loads), frozenset(("M", "MTE1")), less={"MTE1": loads})


def operand_load(
    device: AscendDevice, operand_bytes: Sequence[Integer], clock: Clock = WHOLE, scale_bytes: Sequence[Integer] = ()
) -> Expr:
    """How long the operands of one product hold MTE1: ``issue + bytes / bandwidth`` of each, added up.

    Exact arithmetic is the seed text's, in which the two loads run side by side and cost no issue.
    """
    moves = [*zip(("l1_l0a", "l1_l0b"), operand_bytes, strict=True), *(("l1_sf", size) for size in scale_bytes)]
    if not clock.rounds:
        return maximum(*(_seed_copy(device, n, path_of(device, n), size, clock).interval for n, size in moves))
    first, *others = (copy(device, n, size, mode="intended").interval for n, size in moves)
    return sum(others, first)


def vector_rate(device: AscendDevice) -> VectorRate:
    """The Vector unit's figures; raises `UnknownLimitError` where the file has none."""
    if device.vector is None:
        raise UnknownLimitError(f"{device.name}: the rates of the Vector unit are not known; this answer needs them")
    return device.vector


def vector(
    device: AscendDevice, operations: Sequence[tuple[str, Integer]], calls: Integer = 0, read_bytes: Integer = 0,
    mode: Mode = "shipped", clock: Clock = WHOLE,
) -> Cost:  # fmt: skip
    """One vector block: the larger of its operations' cycles and its reads from UB over the read bandwidth.

    `operations` holds (class, how often); each node of the body costs ``max(1, ceil(often / rate))``, and each
    of `calls` (functions that no class names) one cycle. The block holds the pipe for its whole latency.
    """
    rate = vector_rate(device)
    spent = as_expr(calls) * clock.cycles(rate.call_cycles)
    for kind, often in operations:
        if kind not in rate.operations:
            hint = suggest(kind, sorted(rate.operations))
            raise InputError(Issue(f"unknown class of vector operations {kind!r}", hint=hint))
        if mode == "shipped" and kind in rate.unrecognised:
            spent = spent + rate.call_cycles
        else:
            spent = spent + _node(rate.operations[kind], often, clock)
    time = maximum(spent, clock.quotient(read_bytes, rate.read_bandwidth))
    return Cost(time, time, frozenset("V"))


def _node(rate: int, often: Integer, clock: Clock) -> Expr:
    return maximum(ceildiv(often, rate), 1) if clock.rounds else clock.quotient(often, rate)


def scatter(device: AscendDevice, source: DType, target: DType, rows: Integer, columns: Integer) -> Cost:
    """The vector task that turns rows of `source` into fractals of `target` (ND to NZ). See `Scatter`."""
    figures = _scatter_figures(device, source, target)
    passes = ceildiv(columns, figures.wide if source.bits == 32 else figures.narrow)
    moved = ceildiv(as_expr(rows) * passes * figures.quarter_row, 4)
    time = maximum(figures.minimum, figures.setup + passes * figures.pass_cycles + moved)
    return Cost(time, time, frozenset("V"))


def _scatter_figures(device: AscendDevice, source: DType, target: DType) -> Scatter:
    name = "same" if source == target else f"{source.name}_{target.name}"
    if name not in device.scatter:
        raise UnknownLimitError(
            f"{device.name}: how long {source.name} takes to become fractals of {target.name} is not known"
        )
    return device.scatter[name]
