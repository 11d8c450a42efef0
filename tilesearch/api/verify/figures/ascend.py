"""Figures of an Ascend tile and of the Vector unit (sections 2.3 M5, 3.4 and 7), in the text's unrounded arithmetic."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import count
from math import ceil

from tilesearch.api.verify.figures.registry import figure
from tilesearch.models.ascend import LatencyModel
from tilesearch.rules.ascend.relations import square_edge
from tilesearch.specs.devices import load_device
from tilesearch.specs.dtypes import dtype

DEVICE = "ascend950"
DTYPE = "bf16"
TILE = (256, 224, 128)
SCORES = 8192
_KINDS = ("mul", "sub", "add", "minmax")


@cache
def _model() -> LatencyModel:
    return LatencyModel(load_device(DEVICE), "seed")


@figure("ascend.cube_ii")
def cube_interval() -> float:
    """Cycles of one product on the Cube."""
    return float(_model().cube(DTYPE, *TILE).interval)


@figure("ascend.mte2_ii")
def mte2_interval() -> float:
    """Cycles of both copies from memory to L1."""
    m, n, k = TILE
    return float(_model().copy("gm_l1", dtype(DTYPE).storage_bytes((m + n) * k)).interval)


@figure("ascend.mte1_ii")
def mte1_interval() -> float:
    """Cycles of the copies from L1 to L0, which the text lets run side by side."""
    return float(_model().operand_load(DTYPE, *TILE))


@figure("ascend.binding")
def binding_pipe() -> str:
    """The pipe that sets the period."""
    periods = {"Cube": cube_interval(), "MTE2": mte2_interval(), "MTE1": mte1_interval()}
    return max(periods, key=lambda name: float(periods[name]))


def _latency_over_period() -> float:
    cost = _model().cube(DTYPE, *TILE)
    return float(cost.latency / Fraction(cost.interval))


@figure("ascend.latency_over_period")
def latency_over_period() -> float:
    """Latency of a product over the period."""
    return _latency_over_period()


@figure("ascend.square_edge")
def smallest_square_edge() -> int:
    """Elements of the smallest square tile that the Cube sets the period of."""
    return square_edge(_model().device, dtype("fp16"), exact=True)


@figure("ascend.n200")
def billed_columns() -> int:
    """Columns that 200 of them are billed as."""
    m, _, k = TILE
    wanted = _model().cube(DTYPE, m, 200, k).interval
    return next(n for n in count(200) if _model().cube(DTYPE, m, n + 1, k).interval > wanted)


@figure("ascend.stages")
def stages() -> int:
    """The text's rule ``1 + ceil(latency / compute)``; the exact one gives 2 (see docs/ascend.md)."""
    return 1 + ceil(_latency_over_period())


def _row(*kinds: str) -> float:
    return float(_model().vector([(kind, SCORES) for kind in kinds]).latency)


@figure("m5.unweighted")
def five_operations() -> float:
    """Cycles of five operations for each score, all alike."""
    return _row(*_KINDS, "mul")


@figure("m5.weighted")
def with_a_special_function() -> float:
    """Cycles of the same, one of the five a special function."""
    return _row(*_KINDS, "special")


@figure("m5.ratio")
def special_over_unweighted() -> float:
    """How much the weight matters."""
    return _row(*_KINDS, "special") / _row(*_KINDS, "mul")


@figure("m5.exp_vs_mul")
def exponential_over_product() -> float:
    """A special function over a product."""
    return _row("special") / _row("mul")
