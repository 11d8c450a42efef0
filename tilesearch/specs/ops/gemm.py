"""Matrix multiplication."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from tilesearch.specs.dtypes import dtype
from tilesearch.specs.ops.base import DTypeName, Extent, OpSpec, accumulator_of
from tilesearch.specs.validation import fault


class Gemm(OpSpec):
    """``out[b, m, n] = activation(sum over k of a[b, m, k] * b[b, k, n] + c_in + bias)``.

    `dtype` stands for a, b and out, each of which can be set alone. The accumulator defaults to fp32, fp64
    for fp64 inputs and int32 for integers. `trans_a` and `trans_b` say how the operands lie in memory: a is
    (m, k) row-major, or (k, m) with trans_a; b is (k, n), or (n, k) with trans_b. The default roof is the
    tensor core of the input's type, or the CUDA core for fp32 and for fp64 where there is no such instruction.
    """

    kind: Literal["gemm"] = "gemm"
    batch: Extent = 1
    m: Extent
    n: Extent
    k: Extent
    a: DTypeName | None = None
    b: DTypeName | None = None
    acc: DTypeName | None = None
    out: DTypeName | None = None
    trans_a: bool = False
    trans_b: bool = False
    bias: bool = False
    activation: Literal["none", "relu", "gelu", "silu", "sigmoid", "tanh"] = "none"
    c_in: bool = False

    @model_validator(mode="after")
    def _fill_dtypes(self) -> Self:
        self.fill(a=self.dtype, b=self.dtype, out=self.dtype)
        self.fill(acc=accumulator_of(self.operand("a")))
        widest = max((dtype(self.operand(name)) for name in ("a", "b")), key=lambda kind: kind.bits)
        acc = dtype(self.operand("acc"))
        if acc.bits < widest.bits:
            raise fault(f"{acc} is narrower than the inputs, {widest}", "leave acc out for the default", key="acc")
        return self
