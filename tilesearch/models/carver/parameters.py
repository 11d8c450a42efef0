"""The parameters of carver's templates, under its own names, and with its defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr

from tilesearch.errors import InputError, Issue, suggest
from tilesearch.models.carver.device import bits_of
from tilesearch.specs.validation import fault, validate

Extent = Annotated[StrictInt, Field(ge=1, le=2**31 - 1)]
Shape = Annotated[tuple[Extent, ...], Field(min_length=1, max_length=16)]


def _known_dtype(name: str) -> str:
    try:
        bits_of(name)
    except InputError as error:
        raise fault(error.issues[0].message, error.issues[0].hint) from None
    return name


Dtype = Annotated[StrictStr, AfterValidator(_known_dtype)]


class _Parameters(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Product(_Parameters):
    in_dtype: Dtype = "float16"
    out_dtype: Dtype = "float16"
    accum_dtype: Dtype = "float16"


class Matmul(_Product):
    """C[M, N] = A[M, K] * B[K, N]; `trans_A` stores A as [K, M], `trans_B` stores B as [N, K]."""

    m: Extent = Field(alias="M")
    n: Extent = Field(alias="N")
    k: Extent = Field(alias="K")
    trans_a: StrictBool = Field(False, alias="trans_A")
    trans_b: StrictBool = Field(True, alias="trans_B")
    with_bias: StrictBool = False


class Gemv(_Product):
    """C[1, N] = A[1, K] * B[K, N], B stored as [N, K] with `trans_B`."""

    n: Extent = Field(alias="N")
    k: Extent = Field(alias="K")
    trans_b: StrictBool = Field(True, alias="trans_B")
    with_bias: StrictBool = False


class Conv(_Product):
    """An NHWC convolution with K x K windows: stride S, dilation D, padding P on every side.

    The template asserts a padding of at least one: a plain 1x1 convolution cannot be described.
    """

    n: Extent = Field(alias="N")
    c: Extent = Field(alias="C")
    h: Extent = Field(alias="H")
    w: Extent = Field(alias="W")
    f: Extent = Field(alias="F")
    window: Extent = Field(alias="K")
    stride: Extent = Field(alias="S")
    dilation: Extent = Field(alias="D")
    padding: Extent = Field(alias="P")
    with_bias: StrictBool = False

    def out_extent(self, extent: int) -> int:
        """Output positions along an image axis."""
        return (extent + 2 * self.padding - self.dilation * (self.window - 1) - 1) // self.stride + 1


class FlashAttention(_Product):
    """Two batched products in a chain, without a softmax between them: [BH, q, d] x [BH, kv, d], x [BH, d, kv].

    `is_causal` is accepted and ignored, as carver does.
    """

    batch_size: Extent = 1
    num_heads: Extent = 1
    head_dim: Extent = 1
    seq_length: Extent = 1
    seq_kv_length: Extent = 1
    is_causal: StrictBool = False


class Elementwise(_Parameters):
    """B = A + 1."""

    shape: Shape
    dtype: Dtype = "float16"


class GeneralReduction(_Parameters):
    """A sum over the axes marked R in `structure`; S marks those that stay."""

    structure: Annotated[StrictStr, Field(pattern="^[SRsr]+$"), AfterValidator(str.upper)]
    shape: Shape
    dtype: Dtype = "float16"


TEMPLATES: dict[str, type[_Parameters]] = {
    "Matmul": Matmul,
    "GEMV": Gemv,
    "Conv": Conv,
    "FlashAttention": FlashAttention,
    "Elementwise": Elementwise,
    "GeneralReduction": GeneralReduction,
}
"""Template name to its parameters."""


def read_parameters(template: str, params: Mapping[str, Any]) -> BaseModel:
    """The parameters of `template`, checked. Raises `InputError` with every fault."""
    names = {name.lower(): name for name in TEMPLATES}
    if template.lower() not in names:
        raise InputError(
            Issue(f"carver has no template {template!r}", "template", hint=suggest(template, list(TEMPLATES)))
        )
    found = validate(TEMPLATES[names[template.lower()]], params, prefix="params")
    if isinstance(found, Conv) and min(found.out_extent(found.h), found.out_extent(found.w)) < 1:
        raise InputError(Issue("the window does not fit in the padded image", "params.K"))
    if isinstance(found, GeneralReduction) and len(found.structure) != len(found.shape):
        raise InputError(Issue("structure and shape must have the same length", "params.structure"))
    return found
