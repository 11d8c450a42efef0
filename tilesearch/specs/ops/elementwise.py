"""Chains of elementwise operations."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, StrictInt, model_validator

from tilesearch.specs.ops.base import Count, DTypeName, Extent, OpSpec


class Elementwise(OpSpec):
    """`outputs` tensors computed element by element from `inputs` tensors, all of one `shape`.

    Tile: block_m, the elements of a block. `arithmetic_per_element` and `special_per_element` (exp, sin, …)
    count the operations of the whole chain for one element. Default roof ``cuda_core.fp32``; special functions
    run on ``sfu.fp32``. `dtype` is that of the inputs and, unless `out` is said, of the outputs.
    """

    kind: Literal["elementwise"] = "elementwise"
    shape: tuple[Extent, ...] = Field(min_length=1)
    inputs: Annotated[StrictInt, Field(ge=0, le=64)] = 1
    outputs: Annotated[StrictInt, Field(ge=1, le=64)] = 1
    arithmetic_per_element: Count = 1
    special_per_element: Count = 0
    out: DTypeName | None = None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        self.fill(out=self.dtype)
        return self
