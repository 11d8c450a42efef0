"""Policies: which calibration of a roof an answer uses.

A device file keeps every calibration that was published or measured. Which one an answer uses is a *policy*:

``seed``
    the calibrations by which the project's founding text computed; only where the file defines it.
``ceiling``
    the largest value measured with operands other than zeros (matrix units run faster on zeros, because they
    draw less power; no real kernel may count on that). Used to classify and to prune, where a roof must not
    be too low. Figures that another project reported without stating its program are not used. Where nothing
    was measured it is the theoretical rate.
``predict``
    a sustained rate, for estimates of time. Placeholders are used only with a warning in the note.
``datasheet``
    the theoretical rate.

A file may fix the choice of any policy for any roof:
``[policies] predict = { "tensor_core.fp16" = "burst" }``. The other names of policies that it defines are its
own, and such a policy speaks only for the roofs that it names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tilesearch.errors import suggest
from tilesearch.specs.devices.roofs import Bandwidth, Calibration, Mix, Roof
from tilesearch.specs.validation import Fault, dotted

BUILT_IN_POLICIES = ("ceiling", "predict", "datasheet")
"""Policies that every device has; ``seed`` and others exist only where a device file defines them."""


@dataclass(frozen=True)
class Effective:
    """The rate that an answer uses, and why: in FLOP/s for a roof, B/s for bandwidth.

    `calibration_id` is ``datasheet`` where the theoretical rate itself was used. `note` must be shown with
    the answer when it is not empty.
    """

    name: str
    value: float
    theoretical: float | None
    calibration_id: str
    policy: str
    kind: str
    edition: str = ""
    source: str = ""
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """The value as a fraction of the theoretical rate, if that is known."""
        return None if self.theoretical is None else self.value / self.theoretical


def choose(
    name: str,
    entry: Roof | Bandwidth,
    policy: str,
    fixed: str | None = None,
    read_share: float | None = None,
    note: str = "",
) -> Effective:
    """The rate of `entry` under a built-in policy, or the calibration id `fixed` that the file names.

    `note` is put before what the choice itself has to say. Raises `ValueError` if no rate is known.
    """
    theoretical = None if entry.theoretical.value is None else float(entry.theoretical.value)
    remark = ""
    chosen: Calibration | None = None
    if fixed is not None and fixed != "datasheet":
        chosen = entry.calibration(fixed)
    elif fixed is None and policy == "ceiling":
        chosen, remark = _ceiling(entry, theoretical)
    elif fixed is None and policy == "predict":
        chosen, remark = _predict(entry, theoretical, read_share)
    if chosen is None:
        if theoretical is None:
            raise ValueError(f"{name}: the rate is unknown")
        source, notes = entry.theoretical.source, _joined(note, remark)
        return Effective(name, theoretical, theoretical, "datasheet", policy, "datasheet", source=source, note=notes)
    value = chosen.rate(theoretical)
    if value is None:
        raise ValueError(f"{name}: calibration {chosen.id!r} is a ratio of a theoretical rate that is unknown")
    return Effective(
        name=name,
        value=value,
        theoretical=theoretical,
        calibration_id=chosen.id,
        policy=policy,
        kind=chosen.kind,
        edition=chosen.edition,
        source=chosen.source,
        note=_joined(note, remark, _warning(chosen)),
    )


def _joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)


def _warning(chosen: Calibration) -> str:
    if chosen.kind in ("placeholder", "inherited"):
        return f"warning: calibration {chosen.id!r} is {chosen.kind}, not measured on this device"
    if chosen.kind == "reported":
        return f"calibration {chosen.id!r} was reported by another project, its program and operands unknown"
    return ""


def _rated(entry: Roof | Bandwidth, theoretical: float | None) -> Iterator[tuple[float, Calibration]]:
    for calibration in entry.calibrations:
        rate = calibration.rate(theoretical)
        if rate is not None:
            yield rate, calibration


def _ceiling(entry: Roof | Bandwidth, theoretical: float | None) -> tuple[Calibration | None, str]:
    measured = [(r, c) for r, c in _rated(entry, theoretical) if c.kind == "measured"]
    honest = [(r, c) for r, c in measured if c.operands != "zeros"]
    if honest:
        best, chosen = max(honest, key=lambda pair: pair[0])
        higher = [r for r, c in measured if r > best]
        return chosen, f"operands of zeros reached {max(higher):.6g}, not counted" if higher else ""
    return None, "nothing measured with a known program: the theoretical rate"


def _predict(
    entry: Roof | Bandwidth, theoretical: float | None, read_share: float | None
) -> tuple[Calibration | None, str]:
    usable = [c for _, c in _rated(entry, theoretical) if c.operands != "zeros" and c.regime != "envelope"]
    mixed = [c for c in usable if c.mix is not None and c.kind == "measured"]
    if read_share is not None and mixed:
        # min keeps the first of equals: the file's order is its author's preference.
        return min(mixed, key=lambda c: abs((c.mix or Mix(read=1)).read - read_share)), ""
    # A figure that was measured comes before a reported one, and both before a placeholder.
    order = {"measured": 0, "reported": 1, "datasheet": 2, "inherited": 3, "placeholder": 4}
    regimes = {"sustained": 0, "steady": 0}
    best = min(usable, key=lambda c: (order[c.kind], regimes.get(c.regime or "", 1)), default=None)
    if best is None:
        return None, "nothing measured: the theoretical rate, so times are lower bounds"
    missing = best.kind == "measured" and best.regime not in regimes
    return best, f"no sustained rate was measured: calibration {best.id!r} is used" if missing else ""


def check_policies(
    policies: Mapping[str, Mapping[str, str]], entries: Mapping[str, Roof | Bandwidth]
) -> Iterator[Fault]:
    """What is wrong with the policies of a device file: a roof or a calibration that does not exist."""
    for policy, choices in policies.items():
        for name, identifier in choices.items():
            key = dotted("policies", policy, name)
            if name not in entries:
                yield Fault(f"no roof {name!r} in this file", suggest(name, list(entries)), key)
                continue
            ids = ["datasheet", *(c.id for c in entries[name].calibrations)]
            if identifier not in ids:
                yield Fault(f"{name} has no calibration {identifier!r}", suggest(identifier, ids), key)
