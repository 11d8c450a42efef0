"""Fused transformations of rows: norm, rotary embedding, quantisation."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictStr, model_validator

from tilesearch.specs.ops.base import Count, DTypeName, Extent, OpSpec
from tilesearch.specs.validation import fault


class RowTable(BaseModel):
    """A look-up table of a row operator.

    `bytes` is the size of one entry; there is an entry for each value of `index` (for each token, for each row
    of a token), or a single one. `staged` tables are kept in shared memory by the block that reads them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[StrictStr, Field(min_length=1)]
    bytes: Extent
    index: tuple[Literal["token", "row"], ...] = ()
    staged: StrictBool = False


class Rows(OpSpec):
    """`steps` applied to every row of head_dim elements: tokens x (sum of `heads`) rows, each transformed alone.

    Tile: a block takes rows_per_block rows of each of tokens_per_block tokens. Each table is read by every
    block that covers any of its indices. Shared memory: `onchip_bytes_per_row`, or by default a row of the
    input, an fp32 copy and what is written for it; plus the staged tables. ``quant`` writes fp8 with one scale
    a row.

    Operations default to those of the steps: an element costs rmsnorm 4 (square, add, scale, weight), rope 3
    (two products, one sum), quant 3 (abs, max, scale); a row costs rmsnorm 1 and an rsqrt, quant 1.
    `flops_per_element` and `flops_per_row` replace them. Default roof ``cuda_core.fp32``.
    """

    kind: Literal["rows"] = "rows"
    tokens: Extent
    heads: tuple[Extent, ...] = Field(default=(1,), min_length=1)
    head_dim: Extent
    steps: tuple[Literal["rmsnorm", "rope", "quant"], ...] = Field(min_length=1)
    flops_per_element: Count | None = None
    flops_per_row: Count | None = None
    onchip_bytes_per_row: Count | None = None
    tables: tuple[RowTable, ...] = ()
    out: DTypeName | None = None
    scale: DTypeName | None = None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        names = [table.name for table in self.tables]
        taken = {"in", "out", "scale", "row"}
        for place, name in enumerate(names):
            if name in names[:place] or name in taken:
                raise fault(f"the name {name!r} is taken", key=f"tables[{place}].name")
        quantised = "quant" in self.steps
        self.fill(out="fp8_e4m3" if quantised else self.dtype)
        if quantised:
            self.fill(scale="fp32")
        return self

    @property
    def rows(self) -> int:
        """Rows of one token."""
        return sum(self.heads)
