"""Builds of TileLang 0.1.15 GEMMs on an H200."""

from __future__ import annotations

from typing import Any

from tilesearch.api.verify.feasibility.rows import Build
from tilesearch.specs.ops import Gemm

_VERSION = "0.1.15"


def tilelang_build(place: int | str, row: dict[str, Any]) -> Build:
    """A row of feasibility_*.jsonl: B is transposed where the file or the row says ``nt``."""
    transposed = str(row.get("layout", place)).startswith(("feasibility_nt", "nt"))
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
        shared_bytes=None if dynamic is None else dynamic + row.get("static_smem", 0),
        spills=row["spill_st"] > 0 if "spill_st" in row else None,
        error=row.get("err", row["status"]),
    )
