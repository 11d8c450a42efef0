"""Peak rates and bandwidth, and the calibrations that were published or measured for them."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, StrictStr, model_validator

from tilesearch.errors import InputError
from tilesearch.specs.devices.quantities import BytesPerSecond, OperationsPerSecond, Spec, number
from tilesearch.specs.dtypes import ROOF_DTYPES, dtype
from tilesearch.specs.validation import fault

Number = Annotated[float, BeforeValidator(number)]
# A fraction of the theoretical rate; cards that boost above their rating go a little beyond 1.
Ratio = Annotated[Number, Field(gt=0, le=2)]
Share = Annotated[Number, Field(ge=0, le=1)]
Name = Annotated[StrictStr, Field(min_length=1)]


def _is_dtype(name: str) -> str:
    try:
        return dtype(name).name
    except InputError as error:
        issue = error.issues[0]
        raise fault(issue.message, issue.hint) from None


DTypeName = Annotated[StrictStr, AfterValidator(_is_dtype)]


class Mix(Spec):
    """The share of reads and writes in the bytes that a bandwidth was measured with."""

    read: Share = 0.0
    write: Share = 0.0

    @model_validator(mode="after")
    def _sums_to_one(self) -> Self:
        # Shares are written with a few digits (2/3 as 0.6667).
        if abs(self.read + self.write - 1) > 1e-3:
            raise fault(f"the shares of read and write must add up to 1, got {self.read + self.write:g}")
        return self


class Calibration(Spec):
    """One figure for what a unit really reaches: `ratio` of the theoretical rate, or the `value` itself.

    `kind` says what it rests on: measured (the program and its operands are known), reported (another
    project's figure, of which they are not), datasheet, placeholder (a guess to be replaced), or inherited
    (measured on another device). `regime` is burst (short and cool), sustained (at the power limit), steady
    (of bandwidth) or envelope (the best over operand sets); `operands` says what the operands held.
    """

    id: Name
    kind: Literal["measured", "reported", "datasheet", "placeholder", "inherited"]
    ratio: Ratio | None = None
    value: Annotated[Number, Field(gt=0)] | None = None
    regime: Literal["burst", "sustained", "steady", "envelope"] | None = None
    mix: Mix | None = None
    operands: Literal["random", "zeros"] | None = None
    edition: StrictStr = ""
    power_cap_w: Annotated[Number, Field(gt=0)] | None = None
    clock_hz: Annotated[Number, Field(gt=0)] | None = None
    source: StrictStr = ""
    note: StrictStr = ""

    @model_validator(mode="after")
    def _one_figure(self) -> Self:
        if (self.ratio is None) == (self.value is None):
            raise fault("exactly one of ratio and value is wanted")
        return self

    def rate(self, theoretical: float | None) -> float | None:
        """The rate in the roof's unit; None if it is a ratio of an unknown theoretical rate."""
        if self.value is not None:
            return self.value
        return None if theoretical is None or self.ratio is None else theoretical * self.ratio


class _Calibrated(Spec):
    calibrations: tuple[Calibration, ...] = ()

    @model_validator(mode="after")
    def _ids_are_unique(self) -> Self:
        ids = [calibration.id for calibration in self.calibrations]
        repeated = {name for name in ids if ids.count(name) > 1}
        if repeated:
            raise fault(f"calibration id {min(repeated)!r} is used twice", key="calibrations")
        if "datasheet" in ids:
            raise fault("calibration id 'datasheet' is reserved for the theoretical rate", key="calibrations")
        return self

    def calibration(self, identifier: str) -> Calibration | None:
        """The calibration of that id, or None."""
        return next((c for c in self.calibrations if c.id == identifier), None)


class Roof(_Calibrated):
    """A peak rate of a unit for a data type (``tensor_core.fp16``) and an accumulator.

    The accumulator is part of the key because GeForce cards multiply fp16 at half rate when they accumulate
    in fp32. A file says it with ``acc``; a second accumulator's roof is a table of its own, with the
    accumulator after ``@`` in its name: ``[roofs."tensor_core.fp16@fp16"]`` beside
    ``[roofs."tensor_core.fp16"]``.
    """

    acc: DTypeName | None = None
    theoretical: OperationsPerSecond
    note: StrictStr = ""


class Bandwidth(_Calibrated):
    """The bandwidth of the device's main memory."""

    absent_hint: ClassVar[str] = 'write a table [bandwidth] with theoretical = "unknown" if it is not known'

    theoretical: BytesPerSecond
    note: StrictStr = ""


_ROOF_NAME = re.compile(r"(?P<unit>[a-z][a-z0-9_]*)\.(?P<dtype>[^@]+?)(?:@(?P<acc>[^@]+))?")

# The same units by the names that other vendors give them.
_UNITS = {"matrix_core": "tensor_core", "vector_alu": "cuda_core"}


def split_roof_name(name: str) -> tuple[str, str | None]:
    """Split ``unit.dtype@acc`` into its canonical ``unit.dtype`` and accumulator. Raises `InputError`."""
    match = _ROOF_NAME.fullmatch(name.strip())
    if match is None:
        raise InputError(f"a roof is named unit.dtype, such as tensor_core.fp16, got {name!r}")
    written = match["dtype"]
    kind = written if written in ROOF_DTYPES else dtype(written).roof_name
    accumulator = dtype(match["acc"]).name if match["acc"] else None
    return f"{_UNITS.get(match['unit'], match['unit'])}.{kind}", accumulator


def _check_roof_key(name: str) -> str:
    try:
        base, accumulator = split_roof_name(name)
    except InputError as error:
        raise fault(error.issues[0].message, error.issues[0].hint) from None
    canonical = base if accumulator is None else f"{base}@{accumulator}"
    if canonical != name:
        raise fault(f"the roof {name!r} is written {canonical!r} in a device file")
    return name


RoofName = Annotated[StrictStr, AfterValidator(_check_roof_key)]
