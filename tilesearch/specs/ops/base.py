"""What all operators share: extents, dtypes and how they are checked."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictInt,
    StrictStr,
    ValidationError,
)

from tilesearch.errors import InputError
from tilesearch.specs.devices.roofs import split_roof_name
from tilesearch.specs.dtypes import dtype
from tilesearch.specs.validation import fault, issues_of, shown

MAX_EXTENT = 2**31 - 1
"""The largest extent of a dimension; products of extents stay exact whatever their size."""


def _extent(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise fault(f"a whole number of elements is wanted, got {shown(value)}")
    if value < 1:
        raise fault(f"an extent must be at least 1, got {value}")
    if value > MAX_EXTENT:
        raise fault(f"an extent must be at most {MAX_EXTENT}, got {value}", "split the problem into parts")
    return value


def _dtype_name(name: str) -> str:
    try:
        return dtype(name).name
    except InputError as error:
        issue = error.issues[0]
        raise fault(issue.message, issue.hint) from None


def _roof_name(name: str) -> str:
    try:
        base, accumulator = split_roof_name(name)
    except InputError as error:
        issue = error.issues[0]
        raise fault(issue.message, issue.hint) from None
    return base if accumulator is None else f"{base}@{accumulator}"


Extent = Annotated[int, BeforeValidator(_extent)]
"""A positive number of elements, at most 2**31 - 1."""

DTypeName = Annotated[StrictStr, AfterValidator(_dtype_name)]
"""A data type in any common spelling, kept in this package's."""

RoofName = Annotated[StrictStr, AfterValidator(_roof_name)]
"""A roof, ``unit.dtype`` or ``unit.dtype@accumulator``, kept in the device files' spelling."""

Count = Annotated[StrictInt, Field(ge=0, le=MAX_EXTENT)]
"""A number of operations or of tensors, 0 included."""


def accumulator_of(name: str) -> str:
    """The type that sums of products of `name` are kept in by default: fp64, fp32 or int32."""
    kind = dtype(name)
    return "fp64" if kind.name == "fp64" else "fp32" if kind.is_float else "int32"


class OpSpec(BaseModel):
    """An operator. `dtype` is shorthand for its operands; `roof` declares the unit an optimal kernel uses.

    `roof` (``unit.dtype``, for example ``tensor_core.fp16``) is never inferred from a kernel; each kind
    documents its default.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    dtype: DTypeName = "fp16"
    roof: RoofName | None = None

    def __init__(self, **data: Any) -> None:
        """Raises `InputError` with every fault, as reading the same table from a file does."""
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise InputError(issues_of(error, type(self), prefix=type(self).__name__, data=data)) from None

    # Validation of a table, which collects faults from all over the file, must not go through here.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    def operand(self, name: str) -> str:
        """The data type of an operand (``a``, ``acc``, …), which the shorthand `dtype` stands for if unset."""
        return str(getattr(self, name, None) or self.dtype)

    def fill(self, **defaults: Any) -> None:
        """Give fields that were left out the values that other fields imply (in a validator of the model)."""
        for name, value in defaults.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)  # frozen to users

    @property
    def constants(self) -> dict[str, int]:
        """Names and values that a user's rule may use: every extent of the operator."""
        data = self.model_dump()
        return {k: v for k, v in data.items() if isinstance(v, int) and not isinstance(v, bool)}
