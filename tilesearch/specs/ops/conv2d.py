"""Two-dimensional convolution."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, StrictInt, model_validator

from tilesearch.specs.ops.base import MAX_EXTENT, DTypeName, Extent, OpSpec, accumulator_of
from tilesearch.specs.validation import fault


def _pair(value: Any) -> Any:
    return [value, value] if isinstance(value, int) else value


Steps = Annotated[tuple[Extent, Extent], BeforeValidator(_pair)]
"""A number for each of height and width, or one for both."""

Padding = Annotated[
    tuple[Annotated[StrictInt, Field(ge=0, le=MAX_EXTENT)], Annotated[StrictInt, Field(ge=0, le=MAX_EXTENT)]],
    BeforeValidator(_pair),
]


class Conv2d(OpSpec):
    """Forward convolution of n images of (h, w, c_in) with c_out filters of (kh, kw, c_in / groups).

    As an implicit GEMM: block_m tiles the flattened output pixels n x oh x ow, block_n the output channels of
    a group, block_k the input channels of a group; the loop goes over kh, kw and steps of block_k. `stride`,
    `pad` (zeros on both sides) and `dilation` are one number or [height, width].

    flops count padding as the frameworks do: ``2 n oh ow c_out kh kw c_in / groups``. `dtype` stands for a
    (images), b (filters) and out. The default roof is the tensor core of a's type.
    """

    kind: Literal["conv2d"] = "conv2d"
    n: Extent = 1
    h: Extent
    w: Extent
    c_in: Extent
    c_out: Extent
    kh: Extent
    kw: Extent
    stride: Steps = (1, 1)
    pad: Padding = (0, 0)
    dilation: Steps = (1, 1)
    groups: Extent = 1
    a: DTypeName | None = None
    b: DTypeName | None = None
    acc: DTypeName | None = None
    out: DTypeName | None = None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        for name in ("c_in", "c_out"):
            if getattr(self, name) % self.groups:
                raise fault(f"must be a multiple of groups = {self.groups}, got {getattr(self, name)}", key=name)
        for name, size in zip(("kh", "kw"), self.output_size, strict=True):
            if size < 1:
                raise fault("the dilated filter is larger than the padded image", key=name)
        self.fill(a=self.dtype, b=self.dtype, out=self.dtype)
        self.fill(acc=accumulator_of(self.operand("a")))
        return self

    @property
    def output_size(self) -> tuple[int, int]:
        """Height and width of the output: ``(size + 2 pad - dilation (k - 1) - 1) // stride + 1``."""
        sizes = zip((self.h, self.w), (self.kh, self.kw), self.stride, self.pad, self.dilation, strict=True)
        oh, ow = ((size + 2 * pad - dilation * (k - 1) - 1) // stride + 1 for size, k, stride, pad, dilation in sizes)
        return oh, ow
