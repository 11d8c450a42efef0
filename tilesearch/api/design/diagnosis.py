"""The diagnosis (seed 6.4): traffic taken apart, what binds, and what a measurement should look for."""

from __future__ import annotations

from tilesearch.answers.design import Diagnosis, Symptoms
from tilesearch.api.design.advice import risks
from tilesearch.api.design.versions import Version
from tilesearch.ledger.criteria import BUSY, FEW
from tilesearch.ledger.signals import Signals


def diagnosis(naive: Version, chosen: Version, assumed: int | None) -> Diagnosis:
    """The naive version and the chosen one, side by side."""
    return Diagnosis(
        naive=symptoms(naive),
        chosen=symptoms(chosen),
        gap=naive.signals.traffic / chosen.signals.traffic,
        verify=_verify(naive.signals),
        risks=risks(chosen, assumed),
    )


def symptoms(version: Version) -> Symptoms:
    """One version's traffic taken apart."""
    s = version.signals
    return Symptoms(
        tile=version.tile,
        verdict=version.verdict,
        excess_bytes=s.traffic - s.bound.ledger.bytes,
        lookup_share=s.lookup / s.traffic,
        findings=[*_traffic(s), *_launch(version)],
        **version.moved(),
    )


def _traffic(s: Signals) -> list[str]:
    ledger = s.bound.ledger
    excess = s.traffic - ledger.bytes
    if excess <= FEW * ledger.bytes:
        share = 100 * excess / ledger.bytes
        return [f"moves {s.traffic / 1e6:,.2f} MB, {share:.1f} % over the ideal: nothing to find here"]
    found = []
    if s.payload <= ledger.payload * (1 + FEW):
        found.append(f"the payload is right: {s.payload / 1e6:,.2f} MB, each input once and each output once")
    else:
        times = s.payload / ledger.payload
        found.append(f"the payload is {s.payload / 1e6:,.2f} MB, {times:.1f} times the ideal: operands are re-read")
    if s.lookup > ledger.lookup:
        times = s.lookup / ledger.lookup
        found.append(f"tables are {100 * s.lookup / s.traffic:.1f} % of the traffic, each entry read {times:.0f} times")
    if s.partial:
        found.append(f"partials of the split are {s.partial / 1e6:,.2f} MB")
    floor, now = s.bound.memory_s * 1e6, s.memory_s * 1e6
    found.append(f"if main memory sees it all, the floor rises from {floor:,.2f} to {now:,.2f} us")
    return found


def _launch(version: Version) -> list[str]:
    s = version.signals
    limits = dict(sorted(s.limits.items(), key=lambda item: -item[1]))
    found = [f"the largest bound is {next(iter(limits))}: {', '.join(_limit(*item) for item in limits.items())}"]
    if s.dispatch_s is not None and s.dispatch_s > s.bound.sol_s:
        found.append(
            f"handing out {s.launch.grid:,} blocks takes {s.dispatch_s * 1e6:,.1f} us, more than the bound of "
            f"{s.bound.sol_s * 1e6:,.1f}: too many blocks"
        )
    if s.busy < BUSY:
        found.append(f"{s.launch.grid} blocks use {100 * s.busy:.0f} % of the time of {s.sms} SMs")
    if version.verdict != "fits":
        found.append(f"the tile {version.verdict}: {version.binding} binds")
    else:
        chip = f"{s.launch.shared / 1024:,.1f} KB on chip, {s.launch.blocks_per_sm} blocks an SM"
        found.append(f"{chip}, {version.binding} is the tightest rule")
    return found


def _limit(name: str, seconds: float) -> str:
    return f"{name} {seconds * 1e6:,.1f} us"


def _verify(s: Signals) -> str:
    """The branch of seed 6.4, in this operator's numbers."""
    ideal, all_of_it = s.bound.ledger.bytes / 1e6, s.traffic / 1e6
    if s.traffic <= s.bound.ledger.bytes * (1 + FEW):
        return "the smallest tile re-reads next to nothing: look at time, not at bytes"
    holds = s.reread_stays_in_l2
    size = "" if s.l2_size is None else f" of {s.l2_size / 1e6:,.1f} MB"
    expected = "" if holds is None else f"; L2{size} {'should catch' if holds else 'should not catch'} them"
    return (
        f"measure the bytes of main memory with the smallest tile: near {all_of_it:,.0f} MB the diagnosis stands; near "
        f"{ideal:,.0f} MB L2 caught the re-reads, and dispatch, launches or the tail are to blame{expected}. "
        "`roofline --measured-bytes` judges the reading"
    )
