"""Grouped matrix products: one per expert of a mixture, each with rows of its own."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from tilesearch.specs.ops.base import Count, DTypeName, Extent, OpSpec, accumulator_of
from tilesearch.specs.validation import fault


class GroupedGemm(OpSpec):
    """``out[r] = a[r] @ b[g]`` for the rows r of each group g: b is (groups, k, n), no tile straddles two groups.

    The groups are said as `groups`, the rows of each (a is then their rows one after the other), or as
    `experts`, `tokens` and `top_k` of a mixture of experts: tokens * top_k rows, spread over the experts as
    evenly as whole rows allow (real routings are less even and have more tiles: give `groups` for those); a
    is then the tokens themselves, gathered through an int32 row table. A group without rows reads nothing.
    `dtype` stands for a, b and out. The default roof is the tensor core of a's type.
    """

    kind: Literal["grouped_gemm"] = "grouped_gemm"
    groups: tuple[Count, ...] | None = Field(default=None, min_length=1)
    experts: Extent | None = None
    tokens: Extent | None = None
    top_k: Extent | None = None
    n: Extent
    k: Extent
    a: DTypeName | None = None
    b: DTypeName | None = None
    acc: DTypeName | None = None
    out: DTypeName | None = None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        routing = {"experts": self.experts, "tokens": self.tokens, "top_k": self.top_k}
        absent = [name for name, value in routing.items() if value is None]
        if self.groups is not None and len(absent) < len(routing):
            raise fault("groups says the rows already; experts, tokens and top_k are the other way", key="groups")
        if self.groups is None and absent:
            hint = "give groups = [rows of each group], or experts, tokens and top_k"
            raise fault("is required and absent", hint, key="groups" if len(absent) == len(routing) else absent[0])
        if (self.top_k or 0) > (self.experts or 0):
            raise fault(f"a token has at most experts = {self.experts} experts, got {self.top_k}", key="top_k")
        if not sum(self.sizes):
            raise fault("no group has a row", key="groups")
        self.fill(a=self.dtype, b=self.dtype, out=self.dtype)
        self.fill(acc=accumulator_of(self.operand("a")))
        return self

    @property
    def sizes(self) -> tuple[int, ...]:
        """Rows of each group."""
        if self.groups is not None:
            return self.groups
        experts, rows = self.experts or 1, (self.tokens or 0) * (self.top_k or 0)
        return tuple(rows // experts + (expert < rows % experts) for expert in range(experts))
