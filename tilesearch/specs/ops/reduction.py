"""Reductions over axes: softmax, layernorm, rmsnorm, sum, argmax."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, StrictInt, model_validator

from tilesearch.specs.ops.base import DTypeName, Extent, OpSpec
from tilesearch.specs.validation import fault


class Reduction(OpSpec):
    """A function of whole rows: `axes` of `shape` are reduced, the others are flattened into rows.

    Tile: block_m, the rows of a block. softmax, layernorm and rmsnorm read a row once, keep it on chip and
    write a row; sum and argmax keep one value a row (argmax writes int32) and may be split over the row
    (split_k). With `affine`, layernorm has a weight and a bias and rmsnorm a weight, tables that every block
    reads. Work for each element: softmax max, subtract, add, divide and one exponential; layernorm 5 (7 with
    affine); rmsnorm 3 (4); sum and argmax 1; a norm's row adds 3 (2) and one rsqrt. Default roof
    ``cuda_core.fp32``; special functions run on ``sfu.fp32``.
    """

    kind: Literal["reduction"] = "reduction"
    shape: tuple[Extent, ...] = Field(min_length=1)
    axes: tuple[StrictInt, ...] = Field(default=(-1,), min_length=1)
    function: Literal["softmax", "layernorm", "rmsnorm", "sum", "argmax"]
    affine: bool = True
    out: DTypeName | None = None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        rank = len(self.shape)
        for place, axis in enumerate(self.axes):
            if not -rank <= axis < rank:
                raise fault(f"shape has {rank} axes, numbered 0 to {rank - 1}, got {axis}", key=f"axes[{place}]")
        axes = tuple(sorted({axis % rank for axis in self.axes}))
        if len(axes) != len(self.axes):
            raise fault(f"an axis is named twice: {list(self.axes)}", key="axes")
        object.__setattr__(self, "axes", axes)
        self.fill(out="int32" if self.function == "argmax" else self.dtype)
        return self
