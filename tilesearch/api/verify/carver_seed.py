"""Replay of the seed text's own recomputation of carver (format ``carver-seed/1``) by the preset seed-carver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr

from tilesearch.answers import SolveAnswer
from tilesearch.api.solve import solve
from tilesearch.api.verify.replay import Tally
from tilesearch.specs.devices import NvidiaDevice, list_devices, load_device
from tilesearch.specs.ops import Gemm
from tilesearch.specs.validation import validate

SEED_SCHEMA = "carver-seed/1"

_TILE = {"block_M": "block_m", "block_N": "block_n", "block_K": "block_k"}
_METRICS = {
    "smem": "shared_bytes",
    "regs": "registers_per_block",
    "traffic": "traffic_bytes",
    "grid": "grid",
    "block_per_SM": "blocks_per_sm",
    "num_wave": "waves",
    "priority": "priority",
}
_COUNTS = {"rejected_smem": "C1.shared_memory", "rejected_reg": "C2.register_file"}
_HALF = 2

Count = Annotated[StrictInt, Field(gt=0)]


class Setting(BaseModel):
    """The product and the device."""

    model_config = ConfigDict(extra="ignore")

    m: Count = Field(alias="M")
    n: Count = Field(alias="N")
    k: Count = Field(alias="K")
    in_bytes: Count
    out_bytes: Count
    sms: Count
    smem_cap: Count
    reg_cap: Count
    sm_partition: Count

    def fits(self, device: object) -> bool:
        """Whether a device file holds the same numbers."""
        if not isinstance(device, NvidiaDevice):
            return False
        held = (device.sm_count, device.shared_per_block_optin, device.registers_per_sm, device.sub_partitions)
        return [h.value for h in held] == [self.sms, self.smem_cap, self.reg_cap, self.sm_partition]


class SeedFile(BaseModel):
    """A full product of tiles with the verdict on each."""

    model_config = ConfigDict(extra="ignore")

    schema_name: Literal["carver-seed/1"] = Field(alias="schema")
    setting: Setting
    counts: dict[str, StrictInt]
    columns: list[StrictStr]
    rows: Annotated[list[list[StrictInt | StrictStr | None]], Field(min_length=1)]


def replay_seed(tally: Tally, place: str, data: Mapping[str, Any], source: str) -> None:
    """Compare the table: the tiles that fit with all their metrics, and how many the two rules reject."""
    file = validate(SeedFile, data, source)
    device = next((name for name in list_devices() if file.setting.fits(load_device(name))), None)
    if device is None or {file.setting.in_bytes, file.setting.out_bytes} != {_HALF}:
        tally.skip(place, "no device file holds this setting, or the elements are not two bytes wide")
        return
    rows = [dict(zip(file.columns, row, strict=False)) for row in file.rows]
    answer = _solve(file.setting, device, rows)
    tally.compare(place, *_both(file, rows, answer))


def _solve(setting: Setting, device: str, rows: list[dict[str, Any]]) -> SolveAnswer:
    op = Gemm(m=setting.m, n=setting.n, k=setting.k, dtype="fp16", acc="fp32")
    space: dict[str, Any] = {ours: sorted({row[theirs] for row in rows}) for theirs, ours in _TILE.items()}
    space |= {"num_stages": 1, "num_warps": 8}
    return solve(op, device, space=space, rules={"preset": "seed-carver"}, rank="carver", top=len(rows))


def _both(file: SeedFile, rows: list[dict[str, Any]], answer: SolveAnswer) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is recorded and what is computed, under the same keys."""
    metrics = {
        tuple(c.tile[name] for name in _TILE.values()): {n: getattr(c.metrics, m) for n, m in _METRICS.items()}
        for c in answer.candidates
    }
    expected: dict[str, Any] = {f"counts.{name}": value for name, value in file.counts.items()}
    keys = [c.metrics.priority for c in answer.candidates]
    rejected = answer.counts.rejected or {}
    got: dict[str, Any] = {
        "counts.visited": answer.counts.candidates,
        "counts.valid": answer.counts.feasible,
        "counts.distinct_priority": len(set(keys)),
        "counts.ties_at_top": keys.count(keys[0]) if keys else 0,
        **{f"counts.{name}": rejected.get(rule, 0) for name, rule in _COUNTS.items()},
    }
    for number, row in enumerate(rows):
        fits = row.get("status") == "ok"
        expected[f"rows[{number}]"] = {name: row.get(name) for name in _METRICS} if fits else None
        got[f"rows[{number}]"] = metrics.get(tuple(row[name] for name in _TILE))
    return expected, got
