"""The list of anti-patterns (seed 7) as checks on one design: pass, fail or not applicable, each with its number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Literal

from tilesearch.ledger.cost import fill
from tilesearch.ledger.criteria import BUSY, FEW, PipelineCriterion, SpecialPath
from tilesearch.ledger.measured import ANOMALY, AT_THE_TOP, COINCIDE
from tilesearch.ledger.misreadings import MATERIAL, Finding
from tilesearch.ledger.signals import Signals

Verdict = Literal["pass", "fail", "not applicable"]
Outcome = tuple[Verdict, float | None, str]

NO_TUNING = 100.0
"""A balance so many times the intensity leaves nothing to tune: the operator is two orders of magnitude away."""

SMALL_BLOCK = 1024
"""Payload of a block, in B, below which its launch and its descriptors cost more than its work ("a few hundred")."""

_PIPELINE_KNOBS = ("num_stages", "block_k", "group_m", "cluster_m", "cluster_n")


@dataclass(frozen=True)
class Design:
    """What is reviewed: the chosen tile and its criteria, and what the search knew.

    `searched` are the variables that the search varied, `tied` the tiles that share the best key, `special_in_use`
    the special paths that the tile itself takes; `moved` the bytes that main memory was seen to move, if any.
    """

    signals: Signals
    findings: Mapping[str, Finding]
    pipeline: PipelineCriterion
    paths: tuple[SpecialPath, ...]
    special_in_use: tuple[str, ...]
    searched: tuple[str, ...]
    rank: str
    tied: int | None
    verdict: str
    moved: int | None = None


@dataclass(frozen=True)
class Review:
    """One item. `number` is what the verdict rests on, None where there is none."""

    id: int
    pattern: str
    verdict: Verdict
    number: float | None
    text: str


def shared_key(tied: int | None) -> str:
    """How many tiles the ranking cannot tell apart at the top; `tied` is None where not all were seen."""
    return "how many tiles share the best key is not known" if tied is None else f"{tied} tile(s) share the best key"


def review(design: Design) -> tuple[Review, ...]:
    """All sixteen items, in the order of the list."""
    return tuple(Review(number, pattern, *check(design)) for number, (pattern, check) in enumerate(_ITEMS, start=1))


def _judged(good: bool, number: float | None, text: str) -> Outcome:
    return ("pass" if good else "fail"), number, text


def _code_first(d: Design) -> Outcome:
    intensity = d.signals.bound.ledger.intensity
    away = d.signals.bound.rates.balance / intensity if intensity else inf
    text = f"the balance is {away:.3g} times the intensity" if intensity else "there is no arithmetic"
    if away < NO_TUNING:
        return "pass", away, f"{text}; the ledger came first"
    knobs = [name for name in d.searched if name in _PIPELINE_KNOBS]
    return _judged(
        not knobs,
        away if intensity else None,
        f"{text}: nothing to tune, and the space varies {', '.join(knobs) or 'none of it'}",
    )


def _datasheet(d: Design) -> Outcome:
    roof, factor = d.signals.bound.rates.roof, d.findings["M1"].factor
    if roof.calibration_id == "datasheet":
        return "fail", factor, f"{roof.name} is the datasheet's peak: {roof.note or 'by this policy'}"
    return "pass", factor, f"{roof.name} is calibrated ({roof.calibration_id}), {factor or 1:.2f} times lower"


def _matrix_roof(d: Design) -> Outcome:
    declared, factor = d.signals.bound.rates.declared, d.findings["M2"].factor
    if not declared.startswith("tensor_core"):
        return "pass", factor, f"{declared} is declared; the matrix roof would be off by {factor or 1:.2f}"
    product = bool(d.signals.program.contractions)
    return _judged(product, factor, f"{declared} is declared, and there is {'a' if product else 'no'} matrix product")


def _storage_roof(d: Design) -> Outcome:
    program, declared = d.signals.program, d.signals.bound.rates.declared
    factor, product = d.findings["M3"].factor, program.contraction
    if not declared.startswith("tensor_core") or product is None:
        return "pass", factor, f"{declared} is declared for the work, whatever the inputs are stored in"
    kinds = {(product.computed or program.dtype_of(name)).roof_name for name in (product.a, product.b)}
    good = declared.partition(".")[2].partition("@")[0] in kinds
    return _judged(good, factor, f"products are computed in {' and '.join(sorted(kinds))}, the roof is {declared}")


def _one_stage(d: Design) -> Outcome:
    found = d.findings["M4"]
    if found.factor == 1.0:
        return "not applicable", None, found.text
    apart = d.signals.bound.ledger.bytes * (found.factor or 1)
    text = f"the ledger is of the one fused call; {found.text}"
    if d.moved is None or d.signals.traffic * COINCIDE >= apart:
        return "pass", found.factor, text
    return _judged(d.moved * COINCIDE < apart, found.factor, f"{text}; main memory moved {d.moved / 1e6:.2f} MB")


def _special(d: Design) -> Outcome:
    found, bound = d.findings["M5"], d.signals.bound
    if not bound.ledger.special:
        return "not applicable", None, "no special functions"
    if found.factor is None:
        return "not applicable", None, found.text
    text = f"{bound.ledger.special:,} special functions, a term of their own; weighted, {found.factor:.2f} times"
    if bound.rates.declared.startswith("tensor_core"):
        return "pass", found.factor, f"{text} the cost of the part outside the matrix unit"
    hidden = bound.compute_s * found.factor < bound.sol_s * MATERIAL
    where = "below the bound all the same" if hidden else "above the bound: weigh them"
    return _judged(hidden, found.factor, f"{text} the unweighted cost, {where}")


def _lookups(d: Design) -> Outcome:
    s = d.signals
    extra = (s.lookup - s.bound.ledger.lookup) / s.bound.ledger.bytes
    special = [t.name for t in s.program.outputs[1:]]
    if not s.bound.ledger.lookup and not special:
        return "not applicable", None, "no tables, scales or indices"
    share = s.lookup / s.traffic
    text = f"tables are {100 * share:.1f} % of the tile's traffic, re-reads {100 * extra:.1f} % of the ideal"
    scales = f"; {', '.join(special)} counted by real bytes" if special else ""
    return _judged(extra <= FEW, share, text + scales)


def _no_traction(d: Design) -> Outcome:
    bound = d.signals.bound
    if bound.latency_bound is None:
        return "not applicable", bound.sol_s * 1e6, "the launch floor of this device is not known"
    text = f"the bound is {bound.sol_s * 1e6:.4g} us, an empty launch {(bound.rates.launch_floor or 0) * 1e6:.1f} us"
    return _judged(not bound.latency_bound, bound.sol_s * 1e6, text)


def _above_all(d: Design) -> Outcome:
    found = d.findings["M8"]
    if found.factor is None:
        return "not applicable", None, "nothing was measured: `--measured-us` judges a time"
    return _judged(not found.holds, found.factor, found.text)


def _epilogue(d: Design) -> Outcome:
    s = d.signals
    extra = s.partial + sum(s.program.tensor_bytes(t) for t in s.program.outputs[1:])
    if not extra:
        return "not applicable", 0.0, "one output and no partials: nothing is added at the end"
    whole = s.launch.grid // max(1, s.tile.get("split_k", 1))
    whole_fills = whole > 0 and fill(whole, s.sms) >= BUSY
    wasted = s.partial > FEW * s.traffic and whole_fills
    text = f"further outputs and partials are {extra / 1e6:,.2f} MB, {100 * extra / s.traffic:.1f} % of the traffic"
    return _judged(not wasted, extra / s.traffic, text + ("; the grid fills without the split" if wasted else ""))


def _too_large(d: Design) -> Outcome:
    launch = d.signals.launch
    text = f"{launch.blocks_per_sm} block(s) an SM, {launch.accumulators} accumulators a thread"
    if d.verdict != "fits":
        return "fail", launch.blocks_per_sm, f"{text}: the tile {d.verdict}"
    alone = launch.blocks_per_sm <= 1 and d.pipeline.covered is False
    return _judged(not alone, launch.blocks_per_sm, text + (", and its loads are not covered" if alone else ""))


def _too_small(d: Design) -> Outcome:
    s = d.signals
    each = s.payload / s.launch.grid
    text = f"{each:,.0f} B of payload a block"
    if s.dispatch_s is None:
        return _judged(each >= SMALL_BLOCK, each, text)
    text += f"; handing out {s.launch.grid:,} blocks takes {s.dispatch_s * 1e6:,.1f} us of a bound of "
    return _judged(each >= SMALL_BLOCK and s.dispatch_s <= s.bound.sol_s, each, f"{text}{s.bound.sol_s * 1e6:,.1f}")


def _blind_to_k(d: Design) -> Outcome:
    if "block_k" not in d.signals.tile:
        return "not applicable", None, "there is no block_k"
    if "block_k" not in d.searched or d.rank == "time":
        return "pass", d.tied, "block_k is not left to a ranking that cannot see it"
    if d.tied is None:
        return "not applicable", None, shared_key(None)
    text = f"{d.tied} tiles share the best key, which does not see block_k: fix m and n first"
    return _judged(d.tied == 1, d.tied, text)


def _verdict(d: Design) -> Outcome:
    efficiency = d.findings["M8"].factor
    if efficiency is None:
        return "not applicable", d.tied, f"criteria only: {shared_key(d.tied)}, and none is measured yet"
    text = f"measured at {100 * efficiency:.1f} % of the bound"
    if d.signals.bound.latency_bound:
        return "not applicable", efficiency, f"{text}, which is below the launch floor"
    good = AT_THE_TOP <= efficiency <= ANOMALY
    return _judged(good, efficiency, f"{text}, {'which bears it out' if good else 'so the bound is not what it takes'}")


def _synchronisation(d: Design) -> Outcome:
    steps, covered = d.signals.steps, d.pipeline.covered
    if not d.signals.loops:
        return "not applicable", None, "blocks have no steps to wait between"
    if covered is None:
        return "not applicable", steps, f"{steps} waits a block; the latency of a load is not known"
    return _judged(covered, steps, f"{steps} waits a block, {'hidden' if covered else 'exposed'}")


def _too_early(d: Design) -> Outcome:
    asked = {path.path for path in d.paths if path.decision == "use"}
    without = [path for path in d.special_in_use if path not in asked]
    text = f"in use: {', '.join(d.special_in_use) or 'none'}"
    return _judged(not without, len(without), f"{text}; without a signal: {', '.join(without) or 'none'}")


_ITEMS: tuple[tuple[str, Callable[[Design], Outcome]], ...] = (
    ("tuning before computing", _code_first),
    ("efficiency against the datasheet's peak", _datasheet),
    ("the matrix roof for elementwise work", _matrix_roof),
    ("the roof declared by the input's type", _storage_roof),
    ("one stage's intensity for the whole", _one_stage),
    ("special functions as cheap as products", _special),
    ("payload only: no tables, scales, indices", _lookups),
    ("efficiency where the model has no traction", _no_traction),
    ("more than 100 % as a good kernel", _above_all),
    ("the epilogue left out", _epilogue),
    ("a tile so large that occupancy collapses", _too_large),
    ("a tile so small that a block moves next to nothing", _too_small),
    ("tuning what the ranking cannot see", _blind_to_k),
    ("a model's output as a verdict", _verdict),
    ("the cost of synchronisation ignored", _synchronisation),
    ("special instructions before they are needed", _too_early),
)
