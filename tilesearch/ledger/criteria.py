"""Criteria on computed signals: how large a tile (seed 4.4), how deep a pipeline, which special path (seed 5.3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tilesearch.ledger.signals import Signals

FEW = 0.05
"""A share below this is "a few per cent": what is re-read is then no longer worth a larger tile."""

BUSY = 0.8
"""A grid that keeps the SMs busy for a smaller share of the time is worth another shape."""

SMALL = 0.25
"""The share of L2 that an object may take to be worth keeping there against all else."""

SizeVerdict = Literal["large", "smaller or split", "by re-reads", "neither"]


@dataclass(frozen=True)
class SizeCriterion:
    """Large tile, or small tile and many waves: what decides here, and whether the tile obeys."""

    verdict: SizeVerdict
    obeyed: bool
    text: str


def tile_size(signals: Signals) -> SizeCriterion:
    """Large tile, or small tile and many waves (seed 4.4)."""
    launch = signals.launch
    if signals.bound.latency_bound:
        text = "latency-bound: neither; fewer launches, more parallelism, a deeper pipeline"
        return SizeCriterion("neither", True, text)
    if signals.bound.kind == "memory":
        extra = signals.over_ideal - 1
        text = (
            f"memory-bound: a larger tile saves only what is re-read, {100 * extra:.1f} % of the ideal here; "
            f"{'stop' if extra <= FEW else 'go on while on-chip space and the grid allow'}"
        )
        busy = signals.busy >= BUSY
        text += "" if busy else f"; {_busy(signals)}"
        return SizeCriterion("by re-reads", extra <= FEW and busy, text)
    if signals.busy < BUSY:
        text = f"compute-bound, but {_busy(signals)}: smaller tiles or a split, compared by time"
        return SizeCriterion("smaller or split", False, text)
    text = f"compute-bound, and {launch.grid} blocks fill {launch.waves} wave(s)"
    return SizeCriterion("large", True, f"{text}: the largest tile that fits, for traffic falls as its sides grow")


def _busy(signals: Signals) -> str:
    share = f"{100 * signals.busy:.0f} % of the time of {signals.sms} SMs"
    return f"{signals.launch.grid} blocks use {share}"


@dataclass(frozen=True)
class PipelineCriterion:
    """Stages that the criterion asks for against those of the tile; times in s, None where not known."""

    chosen: int | None
    needed: int | None
    steps: int
    step_s: float
    latency_s: float | None
    in_flight: int
    in_flight_needed: int | None
    covered: bool | None
    text: str


def pipeline(signals: Signals) -> PipelineCriterion:
    """Whether the loads of a tile hide behind its arithmetic, or the loads in flight draw the bandwidth."""
    chosen = signals.tile.get("num_stages")
    covered, text = _covered(signals, chosen)
    return PipelineCriterion(
        chosen=chosen,
        needed=signals.stages_needed,
        steps=signals.steps,
        step_s=signals.step_s,
        latency_s=signals.load_latency,
        in_flight=signals.in_flight,
        in_flight_needed=signals.in_flight_needed,
        covered=covered,
        text=text,
    )


def _covered(signals: Signals, chosen: int | None) -> tuple[bool | None, str]:
    needed, latency = signals.stages_needed, signals.load_latency
    enough = None if signals.in_flight_needed is None else signals.in_flight >= signals.in_flight_needed
    flight = ""
    if enough is not None:
        flight = f"; {signals.in_flight:,} B in flight an SM, {signals.in_flight_needed:,} B draw the bandwidth"
    if not signals.loops:
        return enough, (
            "no loop with staged tiles: two levels, the next rows loaded by the other resident blocks "
            f"({signals.launch.blocks_per_sm} an SM) while these are worked on; more stages give nothing{flight}"
        )
    if needed is None or latency is None:
        return None, "1 + ceil(latency / compute) needs the latency of a load, which is not known for this device"
    have = chosen or 1
    text = (
        f"1 + ceil({latency * 1e9:.0f} ns / {signals.step_s * 1e9:.0f} ns a step) = {needed} stages, the tile has "
        f"{have}, with {signals.launch.blocks_per_sm} block(s) an SM{flight}"
    )
    if signals.bound.kind == "memory":
        return enough, f"{text}; memory-bound: what counts is the bytes in flight"
    near = "; a near tie: measure both" if have == needed - 1 else ""
    return have >= needed, f"{text}{near}"


Decision = Literal["use", "leave", "not applicable", "unknown"]


@dataclass(frozen=True)
class SpecialPath:
    """A special instruction or layout: the signal that would ask for it, and what it costs."""

    path: str
    decision: Decision
    signal: str
    cost: str


@dataclass(frozen=True)
class Paths:
    """What the device and the kernel offer, for the paths that need it.

    `warpgroup` says whether the tile runs on a warpgroup-wide instruction, None where the device has none;
    `copy_bytes` is the granule of a bulk copy, None without them; `bank_span` the bytes after which shared memory
    comes back to the same bank. Sizes in B.
    """

    warpgroup: bool | None
    copy_bytes: int | None
    cluster: bool
    register_limit: int | None
    bank_span: int


def special_paths(signals: Signals, offers: Paths) -> tuple[SpecialPath, ...]:
    """All paths of seed 5.3, each with its signal computed: no signal, no path."""
    return tuple(SpecialPath(path, *check(signals, offers), cost=cost) for path, check, cost in _PATHS)


Check = Callable[[Signals, Paths], tuple[Decision, str]]


def _decided(signal: bool, text: str) -> tuple[Decision, str]:
    return ("use" if signal else "leave"), text


def _bulk_copy(s: Signals, offers: Paths) -> tuple[Decision, str]:
    if offers.copy_bytes is None:
        return "not applicable", "the device has no bulk copy"
    if not s.stage_bytes:
        return "not applicable", "nothing is staged step by step"
    if offers.register_limit is None:
        return "unknown", "the registers of a thread are not known"
    copies = -(-s.stage_bytes // (offers.copy_bytes * s.launch.threads))
    pointers = 2 * copies  # of 64 bits, one for each copy of a thread
    need = s.launch.accumulators + pointers
    shared = s.tile.get("cluster_m", 1) * s.tile.get("cluster_n", 1) > 1
    text = f"accumulators and pointers take {need} of {offers.register_limit} registers a thread"
    return _decided(need > offers.register_limit or shared, text + (", and a cluster shares tiles" if shared else ""))


def _warpgroup(s: Signals, offers: Paths) -> tuple[Decision, str]:
    if offers.warpgroup is None:
        return "not applicable", "the device has no such instruction for these operands, or the roof is no matrix unit"
    if s.bound.kind != "compute":
        return "leave", "the matrix roof does not bind"
    return _decided(
        offers.warpgroup, "the matrix roof binds" + ("" if offers.warpgroup else "; this tile is too small")
    )


def _specialisation(s: Signals, offers: Paths) -> tuple[Decision, str]:
    if not s.loops:
        return "not applicable", "blocks have no loop with staged tiles"
    found = pipeline(s)
    if found.covered is None:
        return "unknown", "the latency of a load is not known for this device"
    return _decided(not found.covered, "loads are covered" if found.covered else f"loads are not covered: {found.text}")


def _swizzle(s: Signals, offers: Paths) -> tuple[Decision, str]:
    if not s.program.contractions:
        return "not applicable", "no product reads shared memory by columns"
    pitches = {t.name: _pitch(s, t.name) for t in s.program.tensors if t.staged}
    hit = any(pitch and pitch % offers.bank_span == 0 for pitch in pitches.values())
    shown = ", ".join(f"{name} {pitch} B" for name, pitch in pitches.items())
    return _decided(hit, f"row pitch in shared memory: {shown}; multiples of {offers.bank_span} B conflict by columns")


def _pitch(s: Signals, name: str) -> int:
    """Bytes of one row of a staged tile: the tile along the innermost axis of which it has more than one index."""
    tensor = s.program.tensor(name)
    owners = [s.program.owner(axis.terms[0][0]) for axis in reversed(tensor.axes)]
    sizes = (min(dim.extent, s.value(s.geometry.tile(dim))) for dim in owners)
    return tensor.dtype.storage_bytes(next((size for size in sizes if size > 1), 1))


def _raster(s: Signals, offers: Paths) -> tuple[Decision, str]:
    if "group_m" not in s.tile:
        return "not applicable", "the blocks form no plane with shared operands"
    if s.l2_size is None:
        return "unknown", "the size of L2 is not known"
    text = f"operands of {s.operands / 1e6:,.1f} MB against {s.l2_size / 1e6:,.1f} MB of L2, {s.launch.waves} wave(s)"
    return _decided(s.operands > s.l2_size and s.launch.waves > 1, text)


def _split(s: Signals, offers: Paths) -> tuple[Decision, str]:
    if s.program.split is None:
        return "not applicable", "no reduction can be split over blocks"
    text = f"{_busy(s)}, {s.steps} steps a block"
    long = s.steps > 1 or not s.loops
    return _decided(s.busy < BUSY and long, text)


def _multicast(s: Signals, offers: Paths) -> tuple[Decision, str]:
    if not offers.cluster or "cluster_m" not in s.tile:
        return "not applicable", "no clusters, or blocks without neighbours that share operands"
    if s.l2_s is None:
        return "unknown", "the bandwidth of L2 is not known for this device"
    text = f"L2 needs {s.l2_s * 1e6:.4g} us for the tiles' traffic, the bound is {s.bound.sol_s * 1e6:.4g} us"
    return _decided(s.l2_s > s.bound.sol_s and s.over_ideal > 1 + FEW, text)


def _persistence(s: Signals, offers: Paths) -> tuple[Decision, str]:
    if not s.reread:
        return "not applicable", "nothing is re-read"
    if s.l2_size is None:
        return "unknown", "the size of L2 is not known"
    small = [t for t in s.reread if s.program.tensor_bytes(t) <= SMALL * s.l2_size]
    evicted = [t for t in small if s.reuse_distance(t) > s.l2_size]
    farthest = max(small or s.reread, key=s.reuse_distance)
    distance = f"{farthest.name} comes back after {s.reuse_distance(farthest) / 1e6:,.1f} MB"
    text = f"{distance}, L2 holds {s.l2_size / 1e6:,.1f} MB; re-reads are {100 * (s.over_ideal - 1):.1f} % of the ideal"
    if not small:
        return "leave", f"nothing small is re-read; {text}"
    return _decided(bool(evicted) and s.over_ideal > 1 + FEW, text)


def _ascend(s: Signals, offers: Paths) -> tuple[Decision, str]:
    return "not applicable", "not an Ascend device"


_PATHS: tuple[tuple[str, Check, str], ...] = (
    ("TMA / bulk copy", _bulk_copy, "descriptors, 16 B alignment, boxes of 256 elements a side, barriers"),
    ("wgmma / tcgen05", _warpgroup, "warpgroups of four warps, m64, a list of legal N, layouts"),
    ("warp specialisation", _specialisation, "a producer warpgroup, registers re-allocated between the two"),
    ("swizzled or padded shared layout", _swizzle, "a layout that copy and instruction must agree on"),
    ("L2 raster (group_m)", _raster, "none; choose by the modelled bytes of main memory"),
    ("split-K / split-KV / stream-K", _split, "partials written and read, a second kernel or atomics"),
    ("cluster multicast", _multicast, "a cluster launch, blocks scheduled together"),
    ("L2 persistence", _persistence, "a carve-out of L2 for all that runs beside it"),
    ("Ascend: NZ layout, dual-destination FixPipe, SIMD VF", _ascend, "layout constraints, a split of UB"),
)
