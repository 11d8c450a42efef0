"""What all operators share: extents, dtypes and how they are checked."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StrictStr

from tilesearch.errors import InputError
from tilesearch.specs.dtypes import dtype
from tilesearch.specs.validation import fault, shown

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


Extent = Annotated[int, BeforeValidator(_extent)]
"""A positive number of elements, at most 2**31 - 1."""

DTypeName = Annotated[StrictStr, AfterValidator(_dtype_name)]
"""A data type in any common spelling, kept in this package's."""


class OpSpec(BaseModel):
    """An operator. `dtype` is shorthand for its operands; `roof` declares the unit an optimal kernel uses.

    `roof` (``unit.dtype``, for example ``tensor_core.fp16``) is never inferred from a kernel; each kind
    documents its default.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    dtype: DTypeName = "fp16"
    roof: StrictStr | None = Field(default=None, min_length=3)

    def operand(self, name: str) -> str:
        """The data type of an operand (``a``, ``acc``, …), which the shorthand `dtype` stands for if unset."""
        return str(getattr(self, name, None) or self.dtype)

    @property
    def constants(self) -> dict[str, int]:
        """Names and values that a user's rule may use: every extent of the operator."""
        data = self.model_dump()
        return {k: v for k, v in data.items() if isinstance(v, int) and not isinstance(v, bool)}
