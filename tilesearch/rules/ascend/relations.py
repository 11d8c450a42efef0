"""Which pipe sets the period: relations between intervals, that a problem may require."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from tilesearch.rules.ascend import costs
from tilesearch.rules.ascend.costs import WHOLE, Clock
from tilesearch.rules.ascend.kernel import Kernel
from tilesearch.rules.evaluate import evaluate
from tilesearch.rules.expr import Expr
from tilesearch.rules.model import Rule, named
from tilesearch.specs.devices.ascend import AscendDevice
from tilesearch.specs.dtypes import DType

_MTE2, _MTE1 = "II.cube_covers_mte2", "II.cube_covers_mte1"
_FIXPIPE, _VECTOR = "II.cube_covers_fixpipe", "II.cube_covers_vector"
RELATIONS = (_MTE2, _MTE1, _FIXPIPE, _VECTOR)
"""The ids that a problem may require."""

_SOURCE = "TileLang v0.1.15, latency model; the seed text, 3.4"


def cube_relations(kernel: Kernel, mte1: Expr) -> tuple[Rule, ...]:
    """The Cube takes at least as long as each mover that feeds or empties it, so that it never waits.

    Over a step of k: both copies on MTE2, both loads on MTE1. Over a whole tile: the copy out on FixPipe, and
    the vector block.
    """
    product = kernel.body[-1].cost.interval
    step, tile = named("cube_ii", product, "cycles"), named("cube_tile", kernel.tile_load("M"), "cycles")
    unit = "cycles" if kernel.clock.rounds else f"1/{kernel.clock.ticks} cycle"
    relations = [
        _covers(_MTE2, "the copies of a step to L1", step, named("mte2_ii", kernel.load("MTE2")), unit),
        _covers(_MTE1, "the loads of a step to L0", step, named("mte1_loads", mte1), unit),
    ]
    if kernel.before or kernel.after:
        out, work = named("fixpipe_tile", kernel.tile_load("FIX")), named("vector_tile", kernel.tile_load("V"))
        relations.append(_covers(_FIXPIPE, "the way out of a tile", tile, out, unit))
        relations.append(_covers(_VECTOR, "the vector work of a tile", tile, work, unit))
    return tuple(relations)


def _covers(rule: str, what: str, cube: Expr, other: Expr, unit: str) -> Rule:
    return Rule(
        id=rule,
        sentence=f"the Cube works at least as long as {what} take",
        value=cube,
        limit=other,
        relation="ge",
        unit=unit,
        source=_SOURCE,
    )


def square_edge(device: AscendDevice, kind: DType, *, k: int = 128, exact: bool = False, step: int = 1) -> int:
    """The smallest square tile edge, a multiple of `step`, at which the Cube sets the period and not MTE2.

    ``2 e^2 k / rate >= 2 e k bytes / bandwidth``: k cancels. Exactly, without padding or rounding, that is 164
    for 16-bit types on the 950. With tiles padded to the fractal and each copy rounded up (and at least one
    descriptor's interval long) it is 176 among multiples of 16, and 192 at k = 16.
    """
    covered: Callable[[int], bool] = _exactly(device, kind, k) if exact else _padded(device, kind, k)
    return next(edge for edge in count(step, step) if covered(edge))


def _exactly(device: AscendDevice, kind: DType, k: int) -> Callable[[int], bool]:
    rate = costs.known(device, costs.cube_rate(device, kind.name).operations, f"the rate of the Cube for {kind}")
    bandwidth = costs.known(device, costs.path_of(device, "gm_l1").bandwidth, "the bandwidth of gm_l1")
    clock = Clock.exact((rate, bandwidth))

    def covered(edge: int) -> bool:
        cube = clock.quotient(2 * edge * edge * k, rate)
        copies = clock.quotient(2 * edge * k * kind.bits, bandwidth)
        return int(evaluate(cube, {})) * 8 >= int(evaluate(copies, {}))

    return covered


def _padded(device: AscendDevice, kind: DType, k: int) -> Callable[[int], bool]:
    def covered(edge: int) -> bool:
        cube = costs.cube(device, kind.name, edge, edge, k, "shipped", (), WHOLE).interval
        copies = 2 * costs.copy(device, "gm_l1", kind.storage_bytes(edge * k)).interval
        return int(evaluate(cube, {})) >= int(evaluate(copies, {}))

    return covered
