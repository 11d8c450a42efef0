"""Builds of Triton 3.6 kernels on an H200: two sets, each with its own columns."""

from __future__ import annotations

import re
from typing import Any

from tilesearch.api.verify.feasibility.rows import Build, Skipped
from tilesearch.specs.ops import Attention, Gemm, Gemv, OpSpec, Reduction

_VERSION = "3.6"

# A build does not depend on the shape but for its divisibility: any shape with the same hints stands for it.
_HINTED = {"m": 4096, "n": 4096, "k": 4096}
_UNHINTED = {"m": 301, "n": 515, "k": 263}


def first_set_build(place: int | str, row: dict[str, Any]) -> Build:
    """A row of the first set: GEMM by pointers, TMA and in fp8, and flash attention."""
    op, variant = _first_set_problem(row)
    tile = {"block_m": int(row["bm"]), "block_n": int(row["bn"])}
    if isinstance(op, Gemm):
        tile["block_k"] = int(row["bk"])
    return _build(place, row, op, variant, tile, int(row["num_warps"]), int(row["num_stages"]))


def _first_set_problem(row: dict[str, Any]) -> tuple[OpSpec, str]:
    name, spec = row["kernel"], row["spec"]
    if name == "attn_fwd":
        head_dim, causal = re.fullmatch(r"d(\d+)c([01])", spec).groups()  # type: ignore[union-attr]
        return (
            Attention(batch=4, heads=32, q_len=4096, head_dim=int(head_dim), causal=causal == "1", dtype="fp16"),
            "tma",
        )
    shape = _UNHINTED if spec == "gen" else _HINTED
    if name == "gemm_ptr":
        return Gemm(**shape, dtype="fp16"), "pointer"
    if name == "gemm_tma":
        return Gemm(**shape, dtype="fp16"), "tma"
    if name == "gemm_tma8":
        return Gemm(**shape, dtype="fp8_e4m3", out="fp16", trans_b=True), "tma"
    raise ValueError(f"no kernel is known by the name {name!r}")


def second_set_build(place: int | str, row: dict[str, Any]) -> Build | Skipped:
    """A row of the second set: split-K, decode, rows, GEMV, bf16 and int8 GEMM, persistent GEMM."""
    kernel, *parts = str(row["config"]).split(".")
    knobs = {m[1]: int(m[2]) for part in parts if (m := re.fullmatch(r"([a-z]+)(\d+)", part))}
    if kernel not in _SECOND_SET:
        return Skipped(place, f"{kernel} is a helper kernel, no operator with a tile")
    op, variant, names = _SECOND_SET[kernel](knobs, row)
    tile = {variable: knobs[knob] for variable, knob in names.items()}
    if kernel == "decode_split":
        tile["block_m"] = 16  # the group of heads, padded to the matrix instruction
    return _build(place, row, op, variant, tile, knobs["w"], knobs["s"])


def _build(
    place: int | str, row: dict[str, Any], op: OpSpec, variant: str, tile: dict[str, int], warps: int, stages: int
) -> Build:
    tile = {**tile, "num_warps": warps}
    if not isinstance(op, Reduction | Gemv):
        tile["num_stages"] = stages
    return Build(
        place=place,
        op=op,
        kernel={"language": "triton", "version": _VERSION, "variant": variant},
        tile=tile,
        ran=row["ok"] == "1",
        shared_bytes=int(row["shared"]) if row["shared"] else None,
        spills=int(row["stack"]) > 0 if row.get("stack") else None,
        error=row.get("err", ""),
    )


_Problem = tuple[OpSpec, str, dict[str, str]]
_GEMM_KNOBS = {"block_m": "bm", "block_n": "bn", "block_k": "bk"}


def _shape(row: dict[str, Any]) -> dict[str, int]:
    """The row's own extents; builds that were listed without a shape get one with the same hints."""
    given = {name.lower(): int(row[name]) for name in ("M", "N", "K") if row.get(name)}
    return {**_HINTED, **given}


def _splitk(knobs: dict[str, int], row: dict[str, Any]) -> _Problem:
    return Gemm(**_shape(row), dtype="fp16", out="fp32"), "pointer", _GEMM_KNOBS


def _fp16(knobs: dict[str, int], row: dict[str, Any]) -> _Problem:
    return Gemm(**_shape(row), dtype="fp16"), "tma", _GEMM_KNOBS


def _bf16(knobs: dict[str, int], row: dict[str, Any]) -> _Problem:
    return Gemm(**_shape(row), dtype="bf16"), "tma", _GEMM_KNOBS


def _int8(knobs: dict[str, int], row: dict[str, Any]) -> _Problem:
    return Gemm(**_shape(row), dtype="int8", out="int32", trans_b=True), "tma", _GEMM_KNOBS


def _persistent(knobs: dict[str, int], row: dict[str, Any]) -> _Problem:
    return Gemm(**_shape(row), dtype="fp16"), "persistent", _GEMM_KNOBS


def _decode(knobs: dict[str, int], row: dict[str, Any]) -> _Problem:
    batch, kv_len = int(row.get("batch") or 1), int(row.get("kv_len") or 8192)
    op = Attention(batch=batch, heads=32, kv_heads=8, q_len=1, kv_len=kv_len, head_dim=128, dtype="fp16")
    return op, "pointer", {"block_n": "bn"}


def _rows(function: str) -> Any:
    def problem(knobs: dict[str, int], row: dict[str, Any]) -> _Problem:
        op = Reduction.model_validate(
            {"shape": [int(row.get("M") or 8192), knobs["cols"]], "function": function, "dtype": "bf16"}
        )
        return op, "pointer", {"block_m": "rows"}

    return problem


def _gemv(knobs: dict[str, int], row: dict[str, Any]) -> _Problem:
    shape = _shape(row)
    op = Gemv(batch=knobs["batch"], n=shape["n"], k=shape["k"], dtype="fp16", out="fp32")
    return op, "pointer", {"block_n": "bn", "block_k": "bk"}


_SECOND_SET: dict[str, Any] = {
    "splitk_gemm": _splitk,
    "gemm_bf16": _bf16,
    "gemm_i8": _int8,
    "gemm_pers": _persistent,
    "gemm_tma": _fp16,
    "decode_split": _decode,
    "rmsnorm_rows": _rows("rmsnorm"),
    "softmax_rows": _rows("softmax"),
    "gemv_split": _gemv,
}
"""Kernel name to its problem and which knob of the file is which variable."""
