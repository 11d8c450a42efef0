"""Matrix products of operands that carry a scale for each block of elements."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import model_validator

from tilesearch.specs.ops.base import DTypeName, Extent, OpSpec

_RECIPES: dict[str, dict[str, Any]] = {
    "mxfp8": {"dtype": "fp8_e4m3", "scale_block_a": [1, 32], "scale_block_b": [1, 32], "scale_dtype": "e8m0"},
    "mxfp6": {"dtype": "fp6", "scale_block_a": [1, 32], "scale_block_b": [1, 32], "scale_dtype": "e8m0"},
    "mxfp4": {"dtype": "fp4_e2m1", "scale_block_a": [1, 32], "scale_block_b": [1, 32], "scale_dtype": "e8m0"},
    "nvfp4": {"dtype": "fp4_e2m1", "scale_block_a": [1, 16], "scale_block_b": [1, 16], "scale_dtype": "fp8_e4m3"},
}
"""The OCP microscaling formats and NVIDIA's fp4: blocks along k, scales of 8 bits."""


class BlockScaledGemm(OpSpec):
    """``out[m, n] = sum over k of a[m, k] * sa[m / ra, k / ca] * b[n, k] * sb[n / rb, k / cb]``.

    `scale_block_a` = [ra, ca] and `scale_block_b` = [rb, cb] are the rows and the k of one scale. The default
    is DeepSeek's fp8: [1, 128] for activations, [128, 128] for weights, fp32 scales. ``dtype = "mxfp8"``,
    ``"mxfp4"`` and ``"nvfp4"`` stand for those formats: 8-bit scales for 32, 32 and 16 elements along k, applied
    by matrix instructions of their own (Blackwell; an error elsewhere). Wider scales are applied on CUDA cores,
    by adding each k block's partial sums into a second accumulator. `dtype` stands for a and b; out is bf16.
    The default roof is the tensor core of a's type.
    """

    kind: Literal["block_scaled_gemm"] = "block_scaled_gemm"
    dtype: DTypeName = "fp8_e4m3"
    m: Extent
    n: Extent
    k: Extent
    scale_block_a: tuple[Extent, Extent] = (1, 128)
    scale_block_b: tuple[Extent, Extent] = (128, 128)
    scale_dtype: DTypeName = "fp32"
    a: DTypeName | None = None
    b: DTypeName | None = None
    acc: DTypeName = "fp32"
    out: DTypeName = "bf16"

    @model_validator(mode="before")
    @classmethod
    def _expand_recipe(cls, data: Any) -> Any:
        name = data.get("dtype") if isinstance(data, dict) else None
        return {**_RECIPES[name], **{k: v for k, v in data.items() if k != "dtype"}} if name in _RECIPES else data

    @model_validator(mode="after")
    def _fill_dtypes(self) -> Self:
        self.fill(a=self.dtype, b=self.dtype)
        return self
