"""What a measurement says about a bound: how near it is, and which of two bounds reality followed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tilesearch.ledger.bounds import Bound

AT_THE_TOP = 0.80
ANOMALY = 1.05
"""Bands of efficiency, the bound over the measured time (seed 2.3, M8)."""

COINCIDE = 1.05
"""Two byte counts nearer than this cannot be told apart by a counter."""

Band = Literal["no traction", "below", "at the top", "above the bound", "anomaly"]


@dataclass(frozen=True)
class TimeVerdict:
    """Efficiency and its band; `suspect` names the ledger's line that would explain an impossible one."""

    time_s: float
    efficiency: float
    band: Band
    bandwidth: float
    rate: float
    suspect: str | None
    text: str


def judge_time(bound: Bound, time_s: float) -> TimeVerdict:
    """Compare a measured time with the bound. `bandwidth` in B/s and `rate` in FLOP/s are what it implies."""
    efficiency = bound.sol_s / time_s
    band, suspect, text = _band(bound, time_s, efficiency)
    return TimeVerdict(
        time_s, efficiency, band, bound.ledger.bytes / time_s, bound.ledger.flops / time_s, suspect, text
    )


def _band(bound: Bound, time_s: float, efficiency: float) -> tuple[Band, str | None, str]:
    if efficiency > ANOMALY:
        suspect, text = _suspect(bound, time_s)
        return (
            "anomaly",
            suspect,
            f"faster than the bound: an error in the formula or the reading; {text}{_beyond(bound, time_s)}",
        )
    if bound.latency_bound:
        return "no traction", None, "the bound is below the launch floor: efficiency is the wrong measure here"
    if efficiency > 1:
        return "above the bound", None, "within what calibrations and clocks are uncertain by"
    if efficiency >= AT_THE_TOP:
        return "at the top", None, "there is no more to win than the last fifth"
    return "below", None, f"up to {1 / efficiency:.2f} times the speed is left by this bound, which is not a prediction"


def _beyond(bound: Bound, time_s: float) -> str:
    """What no silicon does: an implied rate above the datasheet's own."""
    ledger, rates = bound.ledger, bound.rates
    pairs = ((ledger.bytes / time_s, rates.bandwidth, "B/s"), (ledger.flops / time_s, rates.roof, "FLOP/s"))
    beyond = [
        f"{rate:.3g} {unit} is beyond the datasheet's {peak.theoretical:.3g}"
        for rate, peak, unit in pairs
        if peak.theoretical is not None and rate > peak.theoretical
    ]
    return "".join(f"; {text}" for text in beyond)


def _suspect(bound: Bound, time_s: float) -> tuple[str, str]:
    """The line whose absence would bring the bound below the measured time most nearly, or the roof itself."""
    ledger, rates = bound.ledger, bound.rates
    memory = bound.kind == "memory"
    rate = rates.bandwidth.value if memory else rates.roof.value
    amounts = {line.name: line.bytes if memory else line.flops for line in ledger.lines}
    excess = (ledger.bytes if memory else ledger.flops) - time_s * rate
    enough = {name: amount for name, amount in amounts.items() if amount >= excess}
    what = "bytes" if memory else "operations"
    if enough:
        name = min(enough, key=lambda key: enough[key])
        why = (
            "was it in L2, or in registers, all along, or is its size wrong?"
            if memory
            else "is some of it masked, shared, or done by another unit than the declared roof?"
        )
        return name, f"{excess:.4g} {what} too many are counted, and '{name}' ({enough[name]:.4g}) covers them: {why}"
    return (
        rates.bandwidth.name if memory else rates.roof.name,
        f"{excess:.4g} {what} too many, more than any line: the rate, or the roof declared, is wrong",
    )


Followed = Literal["compulsory", "tile", "between", "below", "above", "either"]


@dataclass(frozen=True)
class BytesVerdict:
    """Which byte count a measured one followed; `caught` is the share of the re-reads that a cache caught."""

    bytes: int
    compulsory: int
    tile: int
    followed: Followed
    caught: float | None
    text: str


def judge_bytes(measured: int, compulsory: int, tile: int) -> BytesVerdict:
    """The branch of seed 6.4: did main memory see what the tile re-reads, or did L2 catch it?

    `compulsory` is the ledger's count, `tile` what the blocks of a tile read and write together. Unit: B.
    """
    followed, text = _followed(measured, compulsory, tile)
    distinct = tile > compulsory * COINCIDE
    caught = min(1.0, max(0.0, (tile - measured) / (tile - compulsory))) if distinct else None
    return BytesVerdict(measured, compulsory, tile, followed, caught, text)


def _followed(measured: int, compulsory: int, tile: int) -> tuple[Followed, str]:
    if measured < compulsory / COINCIDE:
        return "below", (
            "less than any kernel must move: written lines still in a cache, operands that were there before, "
            "or a ledger that counts too much. Nothing re-read reached main memory: look elsewhere for the time"
        )
    if measured > max(tile, compulsory) * COINCIDE:
        return "above", "more than the tile itself asks for: spills, padding, or another kernel in the reading"
    if tile <= compulsory * COINCIDE:
        return "either", "the tile re-reads next to nothing: both counts are the same, and the diagnosis is elsewhere"
    share = (measured - compulsory) / (tile - compulsory)
    if share <= 0.25:
        return "compulsory", (
            "a cache caught the re-reads: the tile's traffic is not what costs time; look at dispatch, launches, the "
            "tail, or the path from L2"
        )
    if share >= 0.75:
        return "tile", "main memory saw the re-reads: the diagnosis stands, and a tile that re-reads less is the cure"
    return "between", f"a cache caught {100 * (1 - share):.0f} % of the re-reads: both effects count"
