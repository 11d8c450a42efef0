"""Matrix-vector products."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from tilesearch.specs.ops.base import DTypeName, Extent, OpSpec, accumulator_of


class Gemv(OpSpec):
    """``out[batch, n] = sum over k of a[batch, k] * b[n, k]``: `batch` vectors against one matrix.

    A block streams block_n rows of the matrix once for all the vectors, by dot products on CUDA cores. Eight
    vectors or more fill a matrix instruction: that is a skinny `gemm` with m = batch. The default roof is
    ``cuda_core.fp32`` (fp64 and int32 for such accumulators).
    """

    kind: Literal["gemv"] = "gemv"
    batch: Extent = 1
    n: Extent
    k: Extent
    a: DTypeName | None = None
    b: DTypeName | None = None
    acc: DTypeName | None = None
    out: DTypeName | None = None

    @model_validator(mode="after")
    def _fill_dtypes(self) -> Self:
        self.fill(a=self.dtype, b=self.dtype, out=self.dtype)
        self.fill(acc=accumulator_of(self.operand("a")))
        return self
