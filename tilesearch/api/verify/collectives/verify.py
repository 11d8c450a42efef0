"""verify collectives: errors of the link model on measured collectives and tensor-parallel products."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tilesearch.answers import VerifyAnswer
from tilesearch.api.shard import RESOLUTION
from tilesearch.api.sharding_words import LAUNCHES, limit_of, reason_of
from tilesearch.api.verify.collectives.judge import Judge
from tilesearch.api.verify.collectives.rows import Product, read_run
from tilesearch.api.verify.replay import Tally
from tilesearch.errors import InputError, Issue
from tilesearch.models.time.link import link_of

LARGE_BYTES = 16 * 1024**2
LARGE_ROWS = 1024
OVERLAP_ROWS = 4096
LARGE_ERROR = 0.15
"""Large collectives and products in sequence, and chunks where overlap is judged: each row."""
SMALL_ERROR = 0.20
"""Smaller ones: the median."""


@dataclass(frozen=True)
class Pair:
    """A measured and a predicted time, us; `fair_us` by constants that had not seen the row."""

    name: str
    measured_us: float
    predicted_us: float
    fair_us: float

    @property
    def error(self) -> float:
        """Predicted over measured, less one."""
        return self.predicted_us / self.measured_us - 1


def verify_collectives(files: list[Path]) -> VerifyAnswer:
    """Errors by group. A row disagrees that is large and off by more than 15 %, a group of small ones by its median.

    stats, by group: rows, `worst`, `mean` and `median` absolute error and `bias`, and ``left out``: the same by
    constants of a fit to the other message sizes (for handover and the speed beside a collective: the other products)
    of the file.
    ``overlap``: whether 2 chunks pay as measured; by the sign of the gain, and with gains within 5 % as a draw; and in
    how many the launch floor is named as the reason.
    """
    tally = Tally("collectives")
    notes: list[str] = []
    for path in files:
        run = read_run(path)
        link = link_of(run.device)
        if isinstance(link, str):
            raise InputError(Issue(link, "device", str(path)))
        if run.ranks > link.domain:
            message = f"{run.ranks} devices are more than the {link.domain} that one domain joins"
            raise InputError(Issue(message, "gpus", str(path)))
        prefix = "" if len(files) == 1 else f"{path.name}: "
        for number in range(run.copies):
            tally.skip(f"{prefix}p2p_copy[{number}]", "a copy from device to device is no collective")
        notes += _judge(Judge(run, link), tally, prefix)
    answer = tally.answer()
    answer.notes += notes
    return answer


def _judge(judge: Judge, tally: Tally, prefix: str) -> list[str]:
    calls = list(_calls(judge))
    large = [pair for size, pair in calls if size >= LARGE_BYTES]
    small = [pair for size, pair in calls if size < LARGE_BYTES]
    products = [(p, _sequence(judge, p)) for p in judge.run.products]
    wide = [pair for p, pair in products if p.op.m >= LARGE_ROWS]
    narrow = [pair for p, pair in products if p.op.m < LARGE_ROWS]
    judged = [(p, _two(judge, p)) for p in judge.run.products if 2 in p.chunked_us]
    overlapped = [pair for p, pair in judged if p.op.m >= OVERLAP_ROWS]
    alone = [Pair(p.name, p.gemm_us, judge.gemm(p), judge.gemm(p)) for p in judge.run.products]
    _each(tally, f"{prefix}collectives of 16 MiB and more", large)
    _median(tally, f"{prefix}smaller collectives", small)
    _each(tally, f"{prefix}products in sequence, M >= 1024", wide)
    _median(tally, f"{prefix}smaller products in sequence", narrow)
    _each(tally, f"{prefix}products in 2 chunks, M >= 4096", overlapped)
    if alone:
        times = [(pair.measured_us, pair.predicted_us) for pair in alone]
        tally.stats[f"{prefix}products alone (reported)"] = _errors(times)
    return _overlap(judge, tally, prefix)


def _calls(judge: Judge) -> Iterable[tuple[int, Pair]]:
    fair = {size: judge.without_size(size) for size in {c.message_bytes for c in judge.run.calls}}
    for call in judge.run.calls:
        name = f"{call.op} {call.message_bytes}"
        predicted = judge.call(call)
        yield (
            call.message_bytes,
            Pair(name, call.single_us, predicted, judge.call(call, fair[call.message_bytes])),
        )


def _sequence(judge: Judge, product: Product) -> Pair:
    fair = judge.total(product, 1, judge.without_product(product))
    return Pair(f"{product.name} in sequence", product.sequential_us, judge.total(product, 1), fair)


def _two(judge: Judge, product: Product) -> Pair:
    fair = judge.total(product, 2, judge.without_product(product))
    return Pair(f"{product.name} in 2 chunks", product.chunked_us[2], judge.total(product, 2), fair)


def _each(tally: Tally, name: str, pairs: Sequence[Pair]) -> None:
    """A group whose every row is judged."""
    _group(tally, name, pairs)
    for pair in pairs:
        if abs(pair.error) <= LARGE_ERROR:
            tally.agree += 1
        else:
            tally.differ(pair.name, f"{pair.measured_us:.1f} us", f"{pair.predicted_us:.1f} us, {pair.error:+.1%}")


def _median(tally: Tally, name: str, pairs: Sequence[Pair]) -> None:
    """A group whose median is judged."""
    _group(tally, name, pairs)
    if pairs and float(np.median([abs(pair.error) for pair in pairs])) > SMALL_ERROR:
        tally.differ(name, f"median error at most {SMALL_ERROR:.0%}", tally.stats[name])
    else:
        tally.agree += len(pairs)


def _group(tally: Tally, name: str, pairs: Sequence[Pair]) -> None:
    if pairs:
        own = _errors([(pair.measured_us, pair.predicted_us) for pair in pairs])
        tally.stats[name] = {**own, "left out": _errors([(pair.measured_us, pair.fair_us) for pair in pairs])}


def _errors(pairs: Sequence[tuple[float, float]]) -> dict[str, float]:
    ratio = np.array([predicted / measured for measured, predicted in pairs])
    error = np.abs(ratio - 1)
    return {
        "rows": len(pairs),
        "worst": float(error.max()),
        "mean": float(error.mean()),
        "median": float(np.median(error)),
        "bias": float(ratio.mean() - 1),
    }


def _overlap(judge: Judge, tally: Tally, prefix: str) -> list[str]:
    """Gains of 2 chunks over the sequence, measured and predicted by constants that had not seen the product."""
    notes = []
    stats: dict[str, dict[str, Any]] = {}
    for product in judge.run.products:
        if 2 not in product.chunked_us:
            continue
        link = judge.without_product(product)
        measured = 1 - product.chunked_us[2] / product.sequential_us
        predicted = 1 - judge.total(product, 2, link) / judge.total(product, 1, link)
        name = "M >= 4096" if product.op.m >= OVERLAP_ROWS else "below"
        group = stats.setdefault(name, {"rows": 0, "sign": 0, "verdict": 0, "launch floor named": 0})
        group["rows"] += 1
        group["sign"] += (measured > 0) == (predicted > 0)
        group["verdict"] += _verdict(measured) == _verdict(predicted)
        queue, sequence = judge.queue(product, 2), judge.queue(product, 1)
        group["launch floor named"] += limit_of(queue, sequence) == LAUNCHES
        why = reason_of(queue, sequence)
        notes.append(f"{prefix}{product.name} in 2 chunks gains {measured:+.1%}, predicted {predicted:+.1%}: {why}")
    for name, group in stats.items():
        tally.stats[f"{prefix}overlap in 2 chunks, {name}"] = group
    return notes


def _verdict(gain: float) -> int:
    """Pays, a draw, does not pay."""
    return 0 if abs(gain) <= RESOLUTION else 1 if gain > 0 else -1
