"""Builds of TileLang 0.1.15 GEMMs on an H200."""

from __future__ import annotations

from typing import Any

from tilesearch.api.verify.feasibility.rows import Build
from tilesearch.specs.ops import Gemm

_VERSION = "0.1.15"


def tilelang_build(transposed: bool, place: int | str, row: dict[str, Any]) -> Build:
    """A row of feasibility_nn.jsonl, or of feasibility_nt.jsonl, where B is given transposed."""
    dynamic = row.get("dyn_smem")
    return Build(
        place=place,
        op=Gemm(m=row["M"], n=row["N"], k=row["K"], dtype="fp16", trans_b=transposed),
        kernel={"language": "tilelang", "version": _VERSION},
        tile={
            "block_m": row["block_M"],
            "block_n": row["block_N"],
            "block_k": row["block_K"],
            "num_stages": row["num_stages"],
            "num_warps": row["threads"] // 32,
        },
        ran=row["status"] == "ok",
        shared_bytes=dynamic,
        spills=row["spill_st"] > 0 if "spill_st" in row else None,
        error=row.get("err", row["status"]),
    )
