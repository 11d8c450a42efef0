"""Numbers with a unit and a source, as device files hold them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, StrictStr, field_validator, model_validator

from tilesearch.specs.validation import fault, shown

UNKNOWN = "unknown"
NOT_APPLIED = "not applied"


class Spec(BaseModel):
    """Base of all models of device data: no unknown keys, and immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class _Sourced(Spec):
    absent_hint: ClassVar[str] = 'write "unknown" if it is not known'

    unit: StrictStr = ""
    source: StrictStr = ""
    note: StrictStr = ""
    applies: bool = True

    @model_validator(mode="before")
    @classmethod
    def _short_forms(cls, data: Any) -> Any:
        """Accept a bare number or word for the whole table, and turn the two words into None."""
        table = dict(data) if isinstance(data, Mapping) else {"value": data}
        if "applies" in table:
            raise fault("unknown key 'applies'", f'write value = "{NOT_APPLIED}"')
        value = table.get("value")
        if isinstance(value, str) and value in (UNKNOWN, NOT_APPLIED):
            table |= {"value": None, "applies": value == UNKNOWN}
        elif "value" in table and value is None:
            table["value"] = float("nan")  # only Python data can hold None: refused like any other non-number
        return table


class Quantity(_Sourced):
    """A number, with its unit and where it was read. In a file: a table, a bare number, or "unknown".

    `value` is None where the number is unknown, and where it does not apply to the device ("not applied"),
    in which case `applies` is False. An integer stays an integer.
    """

    value: int | float | None

    @field_validator("value", mode="before")
    @classmethod
    def _number(cls, value: Any) -> Any:
        return None if value is None else number(value)

    @property
    def known(self) -> bool:
        """Whether there is a number."""
        return self.value is not None

    def __str__(self) -> str:
        if self.value is None:
            return UNKNOWN if self.applies else NOT_APPLIED
        return f"{self.value:.6g} {self.unit}".strip() if isinstance(self.value, float) else f"{self.value}"


class Quantities(_Sourced):
    """A list of numbers that belong together, with their unit and source; forms as for `Quantity`."""

    value: tuple[int | float, ...] | None

    @field_validator("value", mode="before")
    @classmethod
    def _numbers(cls, value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, list | tuple):
            raise fault(f'a list of numbers or "{UNKNOWN}" is wanted, got {shown(value)}')
        return tuple(number(item) for item in value)

    @property
    def known(self) -> bool:
        """Whether the numbers are known."""
        return self.value is not None


# TOML promises 64-bit integers only, and a float holds any of them.
_LIMIT = 2**63

_WITH_UNIT = re.compile(r"\s*([0-9][0-9_]*(?:\.[0-9]+)?)\s*([KMGT]?)i?B\s*", re.IGNORECASE)


def number(value: object) -> int | float:
    """Check that `value` is a finite number and no boolean; otherwise say what is wanted."""
    if isinstance(value, str):
        raise _not_a_number(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise fault(f'a number or "{UNKNOWN}" is wanted, got {shown(value)}')
    if isinstance(value, int) and abs(value) >= _LIMIT:
        raise fault(f"a number below 2**63 is wanted, got {shown(value)}")
    if not math.isfinite(value):
        raise fault(f'a finite number or "{UNKNOWN}" is wanted, got {shown(value)}')
    return value


def _not_a_number(text: str) -> Exception:
    size = _WITH_UNIT.fullmatch(text)
    if size:
        count = float(size[1].replace("_", "")) * 1024 ** " KMGT".index(size[2].upper() or " ")
        return fault(f"bytes are wanted as a plain number, got {text!r}", f"{text} with 1 KB = 1024 B is {count:.0f}")
    try:
        float(text)
    except ValueError:
        return fault(f'a number or "{UNKNOWN}" is wanted, got {text!r}')
    return fault(f"a number is wanted, got the string {text!r}", "leave the quotes out")


def _expect(unit: str, *, integer: bool = False, minimum: int = 1) -> AfterValidator:
    """Check a quantity's unit and range: counts and sizes are integers, rates only positive."""

    def check(quantity: Quantity | Quantities) -> Quantity | Quantities:
        if quantity.unit not in ("", unit):
            wanted = f"the unit is {unit}" if unit else "it is a plain count"
            raise fault(f"unknown unit {quantity.unit!r}", wanted, key="unit")
        value = quantity.value
        for item in value if isinstance(value, tuple) else [value]:
            if item is None:
                continue
            if integer and not isinstance(item, int):
                raise fault(f"an integer is wanted, got {shown(item)}")
            if (integer and item < minimum) or item < 0 or (minimum and item == 0):
                raise fault(f"must be {f'at least {minimum}' if integer else 'greater than 0'}, got {shown(item)}")
        return quantity

    return AfterValidator(check)


Count = Annotated[Quantity, _expect("", integer=True)]
"""How many there are: an integer of at least 1."""
Bytes = Annotated[Quantity, _expect("B", integer=True)]
"""A size in bytes: an integer of at least 1."""
BytesOrNone = Annotated[Quantity, _expect("B", integer=True, minimum=0)]
"""A size in bytes that may be 0."""
BytesPerSecond = Annotated[Quantity, _expect("B/s")]
"""A bandwidth."""
OperationsPerSecond = Annotated[Quantity, _expect("FLOP/s")]
"""A rate of arithmetic, one multiply-add being two operations; integer operations count in the same unit."""
Hertz = Annotated[Quantity, _expect("Hz")]
"""A clock frequency."""
Counts = Annotated[Quantities, _expect("", integer=True)]
"""Several counts."""
Sizes = Annotated[Quantities, _expect("B", integer=True, minimum=0)]
"""Several sizes in bytes."""
