"""Exports kernels and runs them on the GPU in front of us: each compares itself with torch.

    python -m benchmarks.live_export --out DIR [--device h200] [--workers 6] [--budget 110]

Each case is exported with the tile that tilesearch picks, written to DIR/exported, and run as a program of its own. The
table and DIR/live_export.json say which ran, the relative error it found against fp32, and the tile. Results are
written as they come. Kernels in TileLang are left out where it is not installed. On a CPU set TRITON_INTERPRET=1: the
programs then check small shapes in Triton's interpreter.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import tilesearch as ts
from benchmarks.live import Record, environment
from tilesearch.specs.ops import OpSpec

KERNELS: dict[str, dict[str, Any]] = {
    "triton": {"language": "triton", "version": "3.6"},
    "tilelang": {"language": "tilelang"},
}


@dataclass(frozen=True)
class Export:
    name: str
    op: OpSpec
    variant: str | None = "pointer"
    language: str = "triton"
    tile: dict[str, int] | None = None
    space: dict[str, Any] = field(default_factory=dict)


def cases() -> list[Export]:
    """The kernels that are exported: every template, data type and variant that has one."""
    gemm = ts.Gemm
    return [
        Export("pointer_fp16", gemm(m=1536, n=2560, k=2048, dtype="fp16")),
        Export("pointer_bf16_bias_gelu", gemm(m=768, n=3072, k=1024, dtype="bf16", bias=True, activation="gelu")),
        Export("pointer_odd_extents", gemm(m=1001, n=777, k=515, dtype="fp16")),
        Export("pointer_batched", gemm(batch=6, m=320, n=384, k=256, dtype="fp16")),
        Export("pointer_transposed", gemm(m=640, n=896, k=512, dtype="fp16", trans_a=True, trans_b=True)),
        Export("pointer_skinny", gemm(m=16, n=6144, k=4096, dtype="bf16")),
        Export("tma_fp16", gemm(m=2048, n=4096, k=1536, dtype="fp16"), "tma"),
        Export("tma_bf16_odd_m", gemm(m=1001, n=1280, k=1024, dtype="bf16"), "tma"),
        Export("tma_fp8", gemm(m=2048, n=2048, k=2048, dtype="fp8_e4m3", out="fp16", trans_b=True), "tma"),
        Export("tma_int8", gemm(m=1024, n=2048, k=1024, dtype="int8", out="int32", trans_b=True), "tma"),
        Export("persistent_fp16", gemm(m=3072, n=2816, k=1024, dtype="fp16"), "persistent"),
        Export("persistent_bf16", gemm(m=2048, n=5120, k=1024, dtype="bf16"), "persistent_tma"),
        Export("split_k_fp16", gemm(m=64, n=4096, k=8192, dtype="fp16", out="fp32"), "split_k", space={"split_k": [4]}),
        Export("attention_causal", ts.Attention(batch=2, heads=8, q_len=1024, head_dim=128, causal=True, dtype="bf16")),
        Export(
            "attention_grouped",
            ts.Attention(batch=1, heads=8, kv_heads=2, q_len=700, head_dim=64, causal=False, dtype="fp16"),
        ),
        Export("rmsnorm", ts.Reduction(shape=(4096, 4096), function="rmsnorm", dtype="bf16")),
        Export("softmax_odd", ts.Reduction(shape=(3001, 2500), function="softmax", dtype="fp16")),
        *(Export(f"tilelang_{name}", op, None, "tilelang") for name, op in tilelang_operators().items()),
    ]


def tilelang_operators() -> dict[str, OpSpec]:
    if find_spec("tilelang") is None:
        return {}
    gemm = ts.Gemm
    return {
        "fp16": gemm(m=2048, n=4096, k=1536, dtype="fp16"),
        "bf16_transposed": gemm(m=1024, n=2048, k=1024, dtype="bf16", trans_b=True),
        "odd_extents": gemm(m=1000, n=1500, k=520, dtype="fp16"),
        "skinny": gemm(m=64, n=6144, k=4096, dtype="fp16"),
        "int8": gemm(m=1024, n=2048, k=1024, dtype="int8", out="int32", trans_b=True),
        "fp8": gemm(m=1024, n=2048, k=1024, dtype="fp8_e4m3", out="fp16", trans_b=True),
    }


def write_all(wanted: list[Export], device: str, folder: Path, record: Record) -> dict[str, Path]:
    """Every case's program, in a file; what cannot be exported is recorded and left out."""
    folder.mkdir(parents=True, exist_ok=True)
    written = {}
    for case in wanted:
        try:
            answer = ts.export(
                case.op,
                device,
                to=case.language,
                tile=case.tile,
                kernel=KERNELS[case.language] | ({"variant": case.variant} if case.variant else {}),
                space=case.space or None,
            )
        except ts.TilesearchError as error:
            record.add({"name": case.name, "status": "not exported", "why": str(error)})
            continue
        path = folder / f"{case.name}.py"
        path.write_text(answer.code or "", encoding="utf-8")
        record.known[case.name] = {"variant": case.variant, "tile": answer.tile.as_dict(), "notes": answer.notes}
        written[case.name] = path
    return written


def run_one(path: Path, limit_s: float) -> dict[str, Any]:
    """One exported program: its status, relative error and seconds; the end of its output where it failed."""
    start = time.perf_counter()
    try:
        done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=limit_s)
    except subprocess.TimeoutExpired:
        return {"status": "timed out", "seconds": round(time.perf_counter() - start, 1)}
    found = re.search(r"relative error (\S+)", done.stdout)
    result: dict[str, Any] = {
        "status": "right" if done.returncode == 0 else "failed",
        "relative_error": float(found[1]) if found else None,
        "seconds": round(time.perf_counter() - start, 1),
    }
    if done.returncode:
        result["why"] = done.stderr.strip()[-1500:]
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="h200")
    parser.add_argument("--workers", type=int, default=6)
    parser.add_argument("--budget", type=float, default=110, help="seconds for all programs")
    parser.add_argument("--only", nargs="*")
    given = parser.parse_args()
    deadline = time.perf_counter() + given.budget
    record = Record(given.out / "live_export.json", environment())
    wanted = [case for case in cases() if not given.only or case.name in given.only]
    written = write_all(wanted, given.device, given.out / "exported", record)
    print(f"{len(written)} of {len(wanted)} exported", flush=True)
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    with ThreadPoolExecutor(given.workers) as pool:
        waiting = {
            pool.submit(lambda p: run_one(p, max(5.0, deadline - time.perf_counter())), path): name
            for name, path in written.items()
        }
        for future in as_completed(waiting):
            name = waiting[future]
            row = {"name": name, **record.known[name], **future.result()}
            record.add(row)
            shown = "-" if row.get("relative_error") is None else f"{row['relative_error']:.2e}"
            tile = "x".join(str(v) for v in row["tile"].values())
            print(f"{name:24} {row['status']:10} {shown:>9} {row['seconds']:6.1f} s  {tile}", flush=True)
            if row.get("why"):
                print("    " + row["why"].splitlines()[-1][:300], flush=True)
    right = sum(row["status"] == "right" for row in record.rows)
    record.finish({"right": right, "of": len(wanted)})
    print(f"{right} of {len(wanted)} right")


if __name__ == "__main__":
    main()
