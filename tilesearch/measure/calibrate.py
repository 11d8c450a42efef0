"""calibrate: constants of the GPU at hand that can be measured alone, and a device file that holds them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from tilesearch.answers.measured import CalibrateAnswer, Calibrated
from tilesearch.errors import InputError, TilesearchError
from tilesearch.measure import probes, tensor
from tilesearch.measure.device_file import NEAREST, same_constant, shipped_for
from tilesearch.measure.gpu import Gpu, gpu_of, require_gpu, state
from tilesearch.measure.probes import Lab, Measured
from tilesearch.measure.timer import Timer
from tilesearch.specs.devices import Device, load_device

PROBES: dict[str, Callable[[Lab], Iterator[Measured]]] = {
    "launches": probes.launches,
    "tensor cores": tensor.peaks,
    "chains": tensor.chains,
    "special functions": probes.functions,
    "memory": probes.memory,
    "L2": probes.cache,
    "latencies": probes.latencies,
    "clocks": probes.clocks,
}
"""What is measured, in this order: the probes that heat the card stand last."""

LIMIT_S = 170.0
TOLERANCE = 0.03
"""Two readings agree where they differ by no more than their spreads, and this much for another board and day."""

Say = Callable[[str, float], None]


def calibrate(
    name: str, *, against: str | None = None, quick: bool = False, say: Say | None = None
) -> tuple[CalibrateAnswer, Gpu, list[Measured]]:
    """Measure what can be measured alone, and compare it with the device called `against` (default: the GPU's own).

    A probe that fails is named in the answer and stops no other; none begins after `LIMIT_S` seconds. Raises
    `InputError` without a GPU.
    """
    torch = require_gpu("calibrate")
    start = time.perf_counter()
    gpu = gpu_of(torch)
    known = load_device(against) if against is not None else load_device(shipped_for(gpu) or NEAREST)
    before = state()
    lab = Lab(torch, gpu, Timer(torch), quick)
    found: list[Measured] = []
    failed: dict[str, str] = {}
    for number, (title, probe) in enumerate(PROBES.items()):
        if say is not None:
            say(title, number / len(PROBES))
        if time.perf_counter() - start > LIMIT_S:
            failed[title] = "not begun: out of time"
            continue
        try:
            for item in probe(lab):
                found.append(item)  # noqa: PERF402 - what comes before a failure is kept
        except TilesearchError:
            raise
        except Exception as error:
            failed[title] = f"{type(error).__name__}: {error}"[:300]
        torch.cuda.empty_cache()
    if not found:
        raise InputError(f"nothing could be measured: {failed}")
    answer = answer_of(name, gpu, known, found, failed)
    answer.seconds = round(time.perf_counter() - start, 1)
    answer.before, answer.after = before, state()
    return answer, gpu, found


def answer_of(name: str, gpu: Gpu, known: Device, found: Sequence[Measured], failed: dict[str, str]) -> CalibrateAnswer:
    """The measured constants beside those of `known`."""
    rows = [_compared(item, known) for item in found]
    own = {same_constant(item.name) for item in found}
    kept = [constant for constant, quantity in known.time.items() if constant not in own and quantity.known]
    return CalibrateAnswer(
        name=name, gpu=gpu.name, nearest=known.name, rows=rows, kept=kept, failed=failed, seconds=0.0
    )


def _compared(item: Measured, known: Device) -> Calibrated:
    row = Calibrated(name=item.name, value=item.value, unit=item.unit, spread=round(item.spread, 4), note=item.note)
    constant = same_constant(item.name)
    quantity = known.time.get(constant) if constant else None
    if quantity is None or not quantity.value:
        return row
    row.known, row.known_kind, row.known_spread = float(quantity.value), quantity.kind, quantity.spread
    allowed = item.spread + (quantity.spread or 0.0) + TOLERANCE
    row.within = abs(item.value / row.known - 1) <= allowed
    return row


def versions() -> str:
    """Who measured: the versions of what the readings depend on."""
    import torch
    import triton

    return f"torch {torch.__version__}, Triton {triton.__version__}"
