"""The [kernel], [model] and [rules] tables, and the names that tile variables go by."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr

TILE_VARIABLES = (
    "tokens_per_block",
    "rows_per_block",
    "block_m",
    "block_n",
    "block_k",
    "num_stages",
    "num_warps",
    "split_k",
    "group_m",
    "cluster_m",
    "cluster_n",
)
"""Every decision variable, in the order in which tiles list them."""

ALIASES: dict[str, str] = {
    "block_q": "block_m",
    "block_kv": "block_n",
    "block_size_m": "block_m",
    "block_size_n": "block_n",
    "block_size_k": "block_k",
    "block_m_size": "block_m",
    "bm": "block_m",
    "bn": "block_n",
    "bk": "block_k",
    "stages": "num_stages",
    "warps": "num_warps",
    "splitk": "split_k",
    "split_kv": "split_k",
    "group_size_m": "group_m",
}
"""Other names of the variables, in lower case: the languages' own and attention's."""


class KernelSpec(BaseModel):
    """How the kernel is written: its language, the compiler's version and the variant of the kernel.

    `maxnreg` is Triton's option of that name: the most registers that the assembler may give a thread.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    language: Literal["generic", "triton", "tilelang", "cutlass", "ascend"] = "generic"
    version: StrictStr | None = None
    variant: StrictStr | None = None
    maxnreg: Annotated[StrictInt, Field(ge=1, le=1024)] | None = None


class ModelSpec(BaseModel):
    """Which models answer: occupancy arithmetic, calibration policy, an assumed residency."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    occupancy: Literal["exact", "seed"] = "exact"
    roofs: Literal["seed", "ceiling", "predict", "datasheet"] = "ceiling"
    latency: Literal["intended", "shipped", "seed"] = "intended"
    blocks_per_sm: Annotated[StrictInt, Field(ge=1, le=1024)] | None = None


class FuseSpec(BaseModel):
    """How `fuse` counts: all bytes of each version, or only those of outputs and partials."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    count: Literal["all", "outputs"] = "all"


class RulesSpec(BaseModel):
    """Which rules apply: a preset, the user's own, and ids to drop or to require."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    preset: Literal["default", "seed-carver"] = "default"
    extra: tuple[StrictStr, ...] = ()
    off: tuple[StrictStr, ...] = ()
    require: tuple[StrictStr, ...] = ()
