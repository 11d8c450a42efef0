"""Times of tiles: the time model applied to a problem, users' rules on times, and which rank a problem has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesearch.errors import InputError
from tilesearch.kernels.registry import rule_names, timed_rules
from tilesearch.models.time import CLASSES, Constants, Launch, Prediction, constants_of, launch_of, physics_of, predict
from tilesearch.models.time.coverage import measured_of
from tilesearch.models.time.power import power_of, sustained_us
from tilesearch.models.time.words import breakdown
from tilesearch.program import lower
from tilesearch.program.form import Program
from tilesearch.rules.columns import Column, ColumnEvaluator
from tilesearch.rules.expr import Const, Expr, Var
from tilesearch.rules.model import Model
from tilesearch.rules.parse import Ratio, parse_rule
from tilesearch.specs.devices import Device, TimeError
from tilesearch.specs.problems import Problem

Values = NDArray[np.float64]

_PICO = 10**6
"""Picoseconds in a microsecond: times are ranked and compared as whole picoseconds."""

_MOST_PS = 10**18
"""Eleven days: no kernel runs so long, and whole picoseconds above it are no longer exact in a machine's integers."""

_SETTLED = 2
"""Where drifted blocks read this many times what blocks in step do, or more, `dram_bytes` is 11 % off in the mean."""

UNMEASURED = TimeError(low_80=0.6, high_80=1.6, low_90=0.5, high_90=2.0, source="a judgement: nothing was measured")
"""The interval where no measurement stands behind a prediction."""


def _whole(time_us: Values, most: int) -> NDArray[np.int64]:
    """Times in whole picoseconds, those above `most` as `most`."""
    return np.rint(np.minimum(time_us * _PICO, float(most))).astype(np.int64)


@dataclass(frozen=True)
class Times:
    """Times of tiles, a column each: `low` and `high` hold 80 % of what was measured in a tile's class.

    `sustained`: run back to back under the power limit; NaN where nothing is known of that.
    """

    prediction: Prediction
    low_us: Values
    high_us: Values
    sustained_us: Values

    @property
    def picoseconds(self) -> NDArray[np.int64]:
        """Whole picoseconds, for keys that order exactly."""
        return _whole(self.prediction.time_us, 2**62)

    @property
    def places(self) -> NDArray[np.int64]:
        """Places in the order of whole picoseconds, equal times sharing one: keys for times of any length."""
        return np.unique(np.rint(self.prediction.time_us * _PICO), return_inverse=True)[1].astype(np.int64)

    @property
    def tied(self) -> NDArray[np.bool_]:
        """Tiles whose interval overlaps that of the fastest one."""
        first = int(np.argmin(self.prediction.time_us))
        return np.asarray((self.low_us <= self.high_us[first]) & (self.high_us >= self.low_us[first]))

    def metrics(self, place: int) -> dict[str, Any]:
        """The metrics that models of time fill, of one tile; times to the picosecond, as rules compare them."""
        return {
            "time_us": round(float(self.prediction.time_us[place]), 6),
            "time_low_us": round(float(self.low_us[place]), 6),
            "time_high_us": round(float(self.high_us[place]), 6),
            "time_sustained_us": None
            if np.isnan(self.sustained_us[place])
            else round(float(self.sustained_us[place]), 6),
            "dram_bytes": int(self.prediction.dram_bytes[place]),
            "dram_low_bytes": int(self.prediction.dram_least[place]),
            "dram_high_bytes": int(self.prediction.dram_most[place]),
            "l2_bytes": int(self.prediction.l2_bytes[place]),
        }


@dataclass(frozen=True)
class Timing:
    """The time model of one problem: `reason` says why there is none.

    `errors` names the class of errors of a kind to which nothing was fitted; other tiles have classes of their own.
    """

    program: Program
    device: Device
    constants: Constants | None
    reason: str
    validated: bool
    errors: str | None = None

    def of(self, model: Model, columns: Mapping[str, Column], interval: int = 80) -> Times | None:
        """Times of tiles given as columns by variable; None where there is no model, or no tile."""
        if self.constants is None or not columns or not len(next(iter(columns.values()))):
            return None
        launch = launch_of(self.program, model, columns)
        prediction = predict(launch, self.constants)
        low, high = self.interval(prediction.kind, interval)
        time = prediction.time_us
        return Times(prediction, time * low, time * high, self._sustained(launch, time))

    def _sustained(self, launch: Launch, time: Values) -> Values:
        """Times back to back; NaN where the power of the device, or of such kernels, was not measured."""
        power = power_of(self.device)
        if power is None or not self.validated:
            return np.full(launch.rows, np.nan)
        return sustained_us(launch, time, power)

    def interval(self, kinds: NDArray[np.int64], share: int = 80) -> tuple[Values, Values]:
        """Measured over predicted time: the bounds that hold `share` percent, for each candidate's class."""
        found = [self._error(self.errors or name) for name in CLASSES]
        low = np.array([e.low_80 if share == 80 else e.low_90 for e in found])
        high = np.array([e.high_80 if share == 80 else e.high_90 for e in found])
        return low[kinds], high[kinds]

    def _error(self, name: str) -> TimeError:
        return self.device.time_errors.get(name, UNMEASURED) if self.validated else UNMEASURED

    def notes(self) -> list[str]:
        """How strong the statement is, in words."""
        if self.constants is None:
            return [f"time_us: {self.reason}"]
        name = self.device.name
        if self.constants.strength != "calibrated":
            return [f"time_us: datasheet only: {name} was not calibrated, its rates are the datasheet's; ranking only"]
        if not self.validated:
            return [f"time_us: not validated: no measurement on {name} covers this kind of kernel"]
        return [f"time_us: calibrated on {name}; the interval holds 80 % of measured kernels of the tile's class"]

    def story(self, times: Times, place: int) -> str:
        """Where the time of one tile goes, and what of its bytes the model cannot settle."""
        told = breakdown(times.prediction, place)
        least, most = (float(v[place]) for v in (times.prediction.dram_least, times.prediction.dram_most))
        if most < _SETTLED * least:
            return told
        span = f"{least / 1e6:,.0f} to {most / 1e6:,.0f} MB"
        return f"{told}; DRAM reads are {span}, as blocks keep in step or drift apart"


def timing_of(problem: Problem, model: Model | None = None) -> Timing:
    """The time model of a problem, or the reason why it has none."""
    program, device = lower(problem.op), problem.device
    behind = measured_of(problem.op, problem.kernel.language, problem.kernel.variant)
    constants: Constants | None = None
    reason = ""
    if problem.kernel.language == "ascend":
        reason = "the time of a tile is its cycles"
    elif problem.kernel.language not in ("triton", "tilelang"):
        reason = f"no time model for kernels in the language {problem.kernel.language}"
    elif physics_of(program) is None or (model is not None and "blocks_per_sm" not in model.metrics):
        reason = f"no time model for {program.kind}"
    else:
        found = constants_of(device)
        constants, reason = (found, "") if isinstance(found, Constants) else (None, found)
    measured = constants is not None and constants.strength == "calibrated" and device.time_errors != {}
    return Timing(
        program, device, constants, reason, behind is not None and measured, None if behind is None else behind.errors
    )


def rank_of(problem: Problem) -> str:
    """The rank that the problem asks for; without one, time where the device was measured and the model has physics
    for such kernels, validated or not: where nothing was measured its notes say so.
    """
    asked = problem.search.rank
    if asked is not None:
        return asked
    timing = timing_of(problem)
    return "time" if timing.constants is not None and timing.constants.strength == "calibrated" else "carver"


def about_time(note: str) -> bool:
    """Whether a note speaks of the tile's time, which says nothing about whether it runs."""
    return note.startswith(("time:", "time_us:"))


def exact_rank_of(problem: Problem) -> str:
    """The same for what needs a key that engines can lower: never time on a GPU unless it was asked for."""
    return problem.search.rank or "carver"


class Filters:
    """Users' rules on times: applied to the tiles that an engine delivered, since no engine sees a float."""

    def __init__(self, problem: Problem, model: Model) -> None:
        self.texts = timed_rules(problem.rules.extra)
        self.problem, self.model = problem, model

    @cached_property
    def trees(self) -> dict[str, Expr]:
        """Each rule's tree over the variables and ``time_us`` in picoseconds. Raises `InputError`."""
        names = rule_names(self.model)
        domains = dict(self.model.domains)
        for name in ("time_us", "time_low_us", "time_high_us"):
            names[name] = Ratio(Var(f"{name} ps"), Const(_PICO))
            domains[f"{name} ps"] = (0, _MOST_PS)
        source = self.problem.source
        return {
            f"user.{number}": parse_rule(text, names, domains, f"rules.extra[{number - 1}]", source)
            for number, text in self.texts.items()
        }

    def __bool__(self) -> bool:
        return bool(self.texts)

    def passed(self, columns: Mapping[str, Column], times: Times) -> dict[str, NDArray[np.bool_]]:
        """For each rule, the tiles that satisfy it."""
        whole = dict(columns)
        pairs = (
            ("time_us", times.prediction.time_us),
            ("time_low_us", times.low_us),
            ("time_high_us", times.high_us),
        )
        for name, values in pairs:
            whole[f"{name} ps"] = _whole(values, _MOST_PS)
        read = ColumnEvaluator(whole, {name: (int(c.min()), int(c.max())) for name, c in whole.items()})
        count = len(times.low_us)
        return {name: np.broadcast_to(read(tree), (count,)).astype(bool) for name, tree in self.trees.items()}


def require_times(filters: Filters, timing: Timing, texts: Sequence[str]) -> None:
    """Refuse users' rules on times where there is no time model. Raises `InputError`."""
    if filters and timing.constants is None:
        from tilesearch.errors import Issue

        number = next(iter(filters.texts))
        raise InputError(
            Issue(f"{texts[number - 1]!r}: {timing.reason}", f"rules.extra[{number - 1}]", filters.problem.source)
        )
