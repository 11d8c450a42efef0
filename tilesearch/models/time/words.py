"""The model in words: where the time of a tile goes."""

from __future__ import annotations

import numpy as np

from tilesearch.models.time.model import CLASSES, Prediction

_LEAST = 0.03  # shares below this are left out


def breakdown(prediction: Prediction, place: int) -> str:
    """``tensor cores 61 %, L2 22 %, fill and epilogue 9 %, tail 8 %: bound by L2 in the k loop``, of one candidate.

    Shares are of the whole launch: what the loop's units take of it, waiting for loads, what the ends of blocks and
    waves that are not full cost, and by what the slowest shared resource prolongs the SMs' time.
    """
    block, composed = prediction.block, prediction.composed

    def at(values: np.ndarray) -> float:
        return float(values[place])

    total, sm, tail = at(composed.time), at(composed.sm), at(composed.tail)
    kernel = max(1e-9, sm - tail)
    ends = kernel * at(composed.ends)
    loop = max(0.0, kernel - ends)
    stalled = loop * at(composed.stalled)
    parts = {name: at(values) for name, values in block.parts.items()}
    busy = sum(parts.values()) or 1.0
    inside = {name: (loop - stalled) * value / busy for name, value in parts.items()}
    inside["waiting for loads"] = stalled
    shared = _resources(prediction, place)
    slowest = max(shared, key=lambda name: shared[name])
    outside = {_FILL: ends, "tail": tail}
    launch = max(0.0, total - sm - at(composed.beside))
    shares = {**inside, **outside, slowest: at(composed.beside), _LAUNCH: launch}
    shown = sorted(((v / total, name) for name, v in shares.items() if v / total >= _LEAST), reverse=True)
    told = ", ".join(f"{name} {share:.0%}" for share, name in shown)
    if launch > max(sm, shared[slowest]):
        return f"{told}: bound by {_LAUNCH}"
    largest = slowest if shared[slowest] >= sm else max((inside | outside).items(), key=lambda item: item[1])[0]
    bound = largest if largest in (*outside, _DISPATCH) else f"{largest}{_loop(prediction, place)}"
    return f"{told}: bound by {bound}"


_FILL, _DISPATCH, _LAUNCH = "fill and epilogue", "block dispatch", "launch"
_LOOPS = {"rows": "", "attention": " in the loop over keys", "decode": " in the loop over keys"}


def _loop(prediction: Prediction, place: int) -> str:
    """The loop of a kernel of this class; rows have none that is worth the name."""
    return _LOOPS.get(CLASSES[int(prediction.kind[place])], " in the k loop")


def _resources(prediction: Prediction, place: int) -> dict[str, float]:
    """Time in ns that the launch needs of each resource that the SMs share."""
    chip = prediction.chip
    named = {"DRAM": chip.dram, "L2": chip.l2, "requests to shared lines": chip.lines, _DISPATCH: chip.dispatch}
    return {name: float(values[place]) for name, values in named.items()}
