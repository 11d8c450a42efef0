"""The model in words: where the time of a tile goes, and what measurements stand behind it."""

from __future__ import annotations

import numpy as np

from tilesearch.models.time.model import Prediction
from tilesearch.program.form import Program

_LEAST = 0.03  # shares below this are left out

_TRITON = (None, "pointer", "tma", "persistent", "persistent_tma", "split_k")


def covered(program: Program, language: str, variant: str | None) -> bool:
    """Whether measurements cover such kernels: GEMM, attention, rows and GEMV in Triton, GEMM in TileLang."""
    if language == "tilelang":
        return program.kind == "gemm"
    if language != "triton" or variant not in _TRITON:
        return False
    if program.kind in ("gemm", "gemv"):
        return True
    if program.kind == "attention":
        names = {t.name for t in program.tensors}
        return "block_table" not in names and len({c.b for c in program.contractions}) > 1
    return program.kind == "reduction" and program.split is None


def breakdown(prediction: Prediction, place: int) -> str:
    """``tensor cores 61 %, loads 22 %, ends 9 %, tail 8 %: bound by … in the loop``, of one candidate."""
    block, chip, composed = prediction.block, prediction.chip, prediction.composed

    def at(values: np.ndarray) -> float:
        return float(values[place])

    total = at(composed.time)
    shares: dict[str, float] = {}
    shares["waves that are not full"] = at(composed.tail)
    kernel = max(1e-9, at(composed.sm) - at(composed.tail))
    ends = kernel * at(composed.ends)
    loop = max(0.0, kernel - ends)
    stalled = loop * at(composed.stalled)
    shares["start, first loads and epilogue"] = ends
    shares["waiting for loads"] = stalled
    parts = {name: at(values) for name, values in block.parts.items()}
    busy = sum(parts.values()) or 1.0
    for name, value in parts.items():
        shares[name] = (loop - stalled) * value / busy
    shares["launch"] = total - at(composed.sm) - _beyond(prediction, place)
    shares["memory and L2 beside the SMs"] = _beyond(prediction, place)
    shown = sorted(((v / total, name) for name, v in shares.items() if v / total >= _LEAST), reverse=True)
    chip_wide = {
        "the SMs": at(composed.sm),
        "DRAM": at(chip.dram),
        "L2": at(chip.l2),
        "requests to shared lines": at(chip.lines),
        "block dispatch": at(chip.dispatch),
    }
    bound = max(chip_wide, key=lambda name: chip_wide[name])
    if bound == "the SMs":
        inside = {name: v for name, v in shares.items() if name not in ("launch", "memory and L2 beside the SMs")}
        bound = max(inside, key=lambda name: inside[name])
    return f"{', '.join(f'{name} {share:.0%}' for share, name in shown)}: bound by {bound}"


def _beyond(prediction: Prediction, place: int) -> float:
    """Time in ns by which memory and L2 prolong what the SMs need."""
    composed = prediction.composed
    rest = float(composed.time[place]) - float(composed.sm[place])
    chip = prediction.chip
    largest = max(float(v[place]) for v in (chip.dram, chip.l2, chip.lines, chip.dispatch))
    return max(0.0, min(rest, largest)) if largest > 0 else 0.0
