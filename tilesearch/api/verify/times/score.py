"""How good a ranking and how near a prediction is, over the shapes of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesearch.api.verify.times.cases import Case

Values = NDArray[np.float64]

FIRST = (1, 5, 10, 20)
"""Lengths of the short lists that are judged."""


_LATE = 1e30
"""Added to a key to put a row last."""


@dataclass(frozen=True)
class Pool:
    """All rows of one kind and shape, which are ranked against each other; `keys` are rankings, smaller first."""

    times: Values
    keys: Mapping[str, Values]

    def efficiency(self, key: str, count: int) -> float:
        """Best time over the best among the first `count`; rows that tie are drawn at random, the mean of the draws."""
        return _expected_best(self.keys[key], self.times, count)

    def random(self, count: int) -> float:
        """The same for rows drawn at random."""
        return _expected_best(np.zeros_like(self.times), self.times, count)


def _expected_best(keys: Values, times: Values, count: int) -> float:
    """Best over best-of-the-first-`count`, in expectation over the order of rows whose keys are equal."""
    count = min(count, len(keys))
    threshold = np.partition(keys, count - 1)[count - 1]
    sure = times[keys < threshold]
    drawn = np.sort(times[keys == threshold])
    room, size = count - len(sure), len(drawn)
    best = times.min()
    # Chance that the i-th fastest of the tied rows is the fastest of those that are drawn.
    chances = np.empty(size)
    left = 1.0
    for i in range(size):
        take = min(1.0, room / (size - i))
        chances[i] = left * take
        left *= 1 - take
        if left <= 0:
            chances[i + 1 :] = 0
            break
    held = np.minimum(drawn, sure.min()) if len(sure) else drawn
    return float((chances * best / held).sum() / chances.sum())


def pools(cases: Sequence[Case], times: Sequence[Values]) -> dict[tuple[str, str], Pool]:
    """The rows of `cases` by kind and shape, with the predicted `times` as the ranking ``time``.

    Carver and traffic rank what spills after everything else, as `solve` does: by themselves they would put the
    largest tile first.
    """
    gathered: dict[tuple[str, str], dict[str, list[Any]]] = {}
    for case, predicted in zip(cases, times, strict=True):
        late = np.where(case.launch["live_registers"] > case.launch["register_cap"], _LATE, 0.0)
        for i, row in enumerate(case.rows):
            pool = gathered.setdefault(row.case, {"measured": [], "time": [], "carver": [], "traffic": []})
            pool["measured"].append(row.time_us)
            pool["time"].append(predicted[i])
            pool["carver"].append(np.nan if case.carver is None else case.carver[i] + late[i])
            pool["traffic"].append(case.traffic[i] + late[i])
    return {
        name: Pool(
            np.array(pool.pop("measured")),
            {key: np.array(values, dtype=np.float64) for key, values in pool.items()},
        )
        for name, pool in gathered.items()
    }


def ranking(chosen: Sequence[Pool], key: str) -> dict[str, float]:
    """top1 … top20 as geometric means over the pools, and the worst pool of each."""
    stats: dict[str, float] = {}
    for count in FIRST:
        values = np.array([pool.random(count) if key == "random" else pool.efficiency(key, count) for pool in chosen])
        stats[f"top{count}"] = float(np.exp(np.log(values).mean()))
        stats[f"top{count}_worst"] = float(values.min())
    return stats


def within(chosen: Sequence[Pool], share: float) -> tuple[float, float]:
    """Rows within `share` of the best prediction: their median number, and the least efficiency of the best of them."""
    counts, losses = [], []
    for pool in chosen:
        near = pool.keys["time"] <= pool.keys["time"].min() * (1 + share)
        counts.append(int(near.sum()))
        losses.append(pool.times.min() / pool.times[near].min())
    return float(np.median(counts)), float(min(losses))


def errors(measured: Values, predicted: Values) -> dict[str, float]:
    """Mean and median of |predicted / measured - 1|."""
    ape = np.abs(predicted / measured - 1)
    return {"mape": float(ape.mean()), "median_ape": float(np.median(ape))}


def report(cases: Sequence[Case], times: Sequence[Values]) -> str:
    """One line a kind: ranking by predicted time, errors, and what a list of all within 10 % holds and loses."""
    by_pool = pools(cases, times)
    lines = []
    for kind in sorted({name for name, _ in by_pool}):
        chosen = [pool for (name, _), pool in by_pool.items() if name == kind]
        stats = ranking(chosen, "time")
        pairs = [
            (row.time_us, value)
            for case, predicted in zip(cases, times, strict=True)
            for row, value in zip(case.rows, predicted, strict=True)
            if row.kind == kind and row.cool
        ]
        measured, predicted_times = (np.array(column) for column in zip(*pairs, strict=True))
        error = errors(measured, predicted_times)
        count, loss = within(chosen, 0.1)
        lists = " ".join(f"top{n} {stats[f'top{n}']:.3f} ({stats[f'top{n}_worst']:.2f})" for n in FIRST)
        lines.append(
            f"{kind:10} {len(chosen):3} shapes {lists}  mape {error['mape']:.3f} median {error['median_ape']:.3f}  "
            f"within 10 %: {count:.0f} rows, best {loss:.3f}"
        )
    return "\n".join(lines)
