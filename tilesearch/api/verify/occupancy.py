"""Replay of the CUDA occupancy oracle: one row is one call of the toolkit's occupancy header."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr

from tilesearch.answers import OccupancyAnswer, VerifyAnswer
from tilesearch.api.check import occupancy
from tilesearch.api.verify.replay import Tally, read_rows
from tilesearch.errors import InputError, Issue

HEADER_ONLY_REGISTERS = 256
"""The header admits this many registers a thread, the hardware and the compilers stop one short of it."""

_SKIPPED = f"{HEADER_ONLY_REGISTERS} registers a thread: the header admits them, the hardware does not"

_RESOURCES = {
    "registers": "registers",
    "shared_memory": "shared_memory",
    "warps": "threads",
    "blocks": "blocks",
    "barriers": "barriers",
}
"""The header's names of what limits residency, and ours."""

Limit = Annotated[StrictInt, Field(ge=0)] | None


class OccupancyRow(BaseModel):
    """A call and its answer. What the answer lacks is not compared; null means that nothing limits."""

    model_config = ConfigDict(extra="ignore")

    cc: Annotated[StrictStr, Field(pattern=r"^[0-9]{1,2}\.[0-9]$")]
    regs_per_thread: StrictInt
    threads_per_block: StrictInt
    static_smem: Annotated[StrictInt, Field(ge=0)] = 0
    dynamic_smem: Annotated[StrictInt, Field(ge=0)] = 0
    carveout_percent: Annotated[StrictInt, Field(ge=-1, le=100)] = -1
    block_barriers: StrictInt = 1
    active_blocks_per_sm: Annotated[StrictInt, Field(ge=0)]
    limiting_factors: list[StrictStr] | None = None
    limit_registers: Limit = None
    limit_shared_memory: Limit = None
    limit_warps: Limit = None
    limit_blocks: Limit = None
    limit_barriers: Limit = None
    allocated_registers_per_block: Limit = None
    allocated_shared_per_block: Limit = None


_OUTPUTS = (
    "active_blocks_per_sm",
    "limiting_factors",
    *(f"limit_{name}" for name in _RESOURCES),
    "allocated_registers_per_block",
    "allocated_shared_per_block",
)


def verify_occupancy(files: list[Path]) -> VerifyAnswer:
    """Recompute every row of `files` from its inputs and compare all outputs that the row gives."""
    tally = Tally("occupancy")
    for place, row in read_rows(files, OccupancyRow, "rows"):
        if row.regs_per_thread == HEADER_ONLY_REGISTERS:
            tally.skip(place, _SKIPPED)
            continue
        given = {name: getattr(row, name) for name in _OUTPUTS if name in row.model_fields_set}
        if given.get("limiting_factors") is not None:
            given["limiting_factors"] = sorted(given["limiting_factors"])
        tally.compare(place, given, _as_header(_compute(place, row)))
    return tally.answer()


def _compute(place: int | str, row: OccupancyRow) -> OccupancyAnswer:
    try:
        return occupancy(
            f"cc{row.cc.replace('.', '')}",
            registers_per_thread=row.regs_per_thread,
            threads_per_block=row.threads_per_block,
            shared_bytes=row.static_smem + row.dynamic_smem,
            carveout_percent=None if row.carveout_percent < 0 else row.carveout_percent,
            barriers=row.block_barriers,
        )
    except InputError as error:
        raise InputError([Issue(str(issue), f"rows[{place}]") for issue in error.issues]) from None


def _as_header(answer: OccupancyAnswer) -> dict[str, Any]:
    """Our answer in the header's words."""
    limits = {name: answer.blocks_by.get(ours) for name, ours in _RESOURCES.items()}
    return {
        "active_blocks_per_sm": answer.blocks_per_sm,
        "limiting_factors": sorted(_limiting(limits)),
        **{f"limit_{name}": value for name, value in limits.items()},
        "allocated_registers_per_block": answer.allocated_registers,
        "allocated_shared_per_block": answer.allocated_shared_bytes,
    }


def _limiting(limits: dict[str, int | None]) -> list[str]:
    """What the header lists. It tests barriers last, and where they bind it keeps what it had found before."""
    known = {name: value for name, value in limits.items() if value is not None}
    others = {name: value for name, value in known.items() if name != "barriers"}
    found = [name for name, value in others.items() if value == min(others.values())]
    barriers_bind = "barriers" in known and known["barriers"] <= min(others.values())
    return [*found, "barriers"] if barriers_bind else found
