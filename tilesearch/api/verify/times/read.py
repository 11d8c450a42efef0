"""Reading files of measured times: the comma-separated tables of facts/, or a user's own in the same format."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tilesearch.api.verify.feasibility.rows import Build, Skipped
from tilesearch.api.verify.feasibility.triton import second_set_build
from tilesearch.api.verify.tables import Known, positive, read_tables, table_rows
from tilesearch.api.verify.times.rows import Timed
from tilesearch.api.verify.times.tuned import WANTED, tuned_row
from tilesearch.specs.ops import Attention, Gemm, Rows
from tilesearch.specs.problems import parse_tile
from tilesearch.specs.validation import load_json

_TRITON = {"language": "triton", "version": "3.6"}
_TILELANG = {"language": "tilelang", "version": "0.1.15"}

# A build without divisibility hints is one of extents that 16 does not divide, whatever shape it then ran on.
_UNHINTED = {"m": 301, "n": 515, "k": 263}

_FUSED = Rows.model_validate(
    {
        "tokens": 4096,
        "heads": (32, 8),
        "head_dim": 128,
        "dtype": "bf16",
        "steps": ("rmsnorm", "rope", "quant"),
        "tables": (
            {"name": "cos_sin", "bytes": 1024, "index": ("token",), "staged": True},
            {"name": "norm_weights", "bytes": 512, "index": (), "staged": False},
        ),
    }
)

_POWER_LIMITED_FLOPS = 1e11
"""Products above this many operations heat the card when they run back to back (notes on the H200)."""


def read_times(files: list[Path]) -> Iterator[Timed | Skipped]:
    """Every measured row of `files`. Raises `InputError` for a file whose columns are those of no known kind."""
    rows = read_tables(files, lambda _: _READERS, "times", lambda path: _designs(path) or list(table_rows(path)))
    return (row for row in rows if row is not None)


def _designs(path: Path) -> list[dict[str, Any]]:
    """The rows of a file that names designs of one fused kernel, each with its figures; none for other files."""
    if path.suffix != ".json":
        return []
    found = load_json(path)
    named = found.items() if isinstance(found, dict) else ()
    return [{"design": name, **row} for name, row in named if isinstance(row, dict) and "rows_at_once" in row]


def _fused_rows(place: int | str, row: dict[str, Any]) -> Timed:
    """A design of the seed's worked example: rmsnorm, rope and quantisation of every head of 4096 tokens."""
    held = int(row["rows_at_once"])
    return Timed(
        place=place,
        kind="fused_rows",
        shape="x".join(str(extent) for extent in (_FUSED.tokens, sum(_FUSED.heads), _FUSED.head_dim)),
        op=_FUSED,
        kernel=_TRITON,
        tile={"tokens_per_block": 1, "rows_per_block": held, "num_warps": int(row["num_warps"])},
        config=str(row["design"]),
        time_us=positive(row, "cold_med_us"),
        cool=True,
        extra={"row_steps": int(row["rows"]) // held},
    )


def _shape(row: dict[str, Any]) -> dict[str, int]:
    return {name.lower(): int(row[name]) for name in ("M", "N", "K")}


def _first(row: dict[str, Any], *names: str) -> float | None:
    """The first of these figures that is there."""
    return next((positive(row, name) for name in names if row.get(name)), None)


_VARIANTS = {"gemm_tma": "tma", "gemm_ptr": "pointer"}


def _gemm_tile(config: str) -> tuple[str, str, dict[str, int]]:
    """Kernel, hints and tile of names such as ``gemm_tma.d16.128x256x64.w8.s3``."""
    found = re.fullmatch(r"(\w+)\.(\w+)\.(\d+)x(\d+)x(\d+)\.w(\d+)\.s(\d+)", config)
    if found is None:
        raise ValueError(f"no configuration: {config!r}")
    kernel, spec, *sizes = found.groups()
    names = ("block_m", "block_n", "block_k", "num_warps", "num_stages")
    return kernel, spec, parse_tile(dict(zip(names, map(int, sizes), strict=True)))


def _first_set(place: int | str, row: dict[str, Any]) -> Timed | None:
    time = _first(row, "cool_med_us", "sweep_med_us", "sweep_quick_us")
    return None if time is None else gemm_row(place, row, time, bool(row.get("cool_med_us")))


def gemm_row(place: int | str, row: dict[str, Any], time_us: float, cool: bool) -> Timed:
    """A row of the first set of GEMM kernels, given by M, N, K and the configuration's name."""
    kernel, spec, tile = _gemm_tile(row["config"])
    shape = _shape(row)
    return Timed(
        place=place,
        kind=kernel,
        shape="x".join(map(str, shape.values())),
        op=Gemm(**shape, dtype="fp16"),
        kernel={**_TRITON, "variant": _VARIANTS[kernel]},
        tile=tile,
        config=row["config"],
        time_us=time_us,
        cool=cool,
        hot_us=_first(row, "hot_med_us"),
        build_op=Gemm(**_UNHINTED, dtype="fp16") if spec == "gen" and kernel == "gemm_ptr" else None,
    )


def _fp8_and_attention(place: int | str, row: dict[str, Any]) -> Timed | None:
    time = _first(row, "med_us", "quick_us")
    if time is None or "torch" in row["config"] or "scaled_mm" in row["config"]:
        return None
    _, _, tile = _gemm_tile(row["config"])
    op: Gemm | Attention
    if row["what"] == "fp8":
        m, n, k = map(int, row["shape"].split("x"))
        op = Gemm(m=m, n=n, k=k, dtype="fp8_e4m3", out="fp16", trans_b=True)
    else:
        heads, length, dim, causal = map(int, re.findall(r"\d+", row["shape"]))
        op = Attention(batch=1, heads=heads, q_len=length, head_dim=dim, causal=bool(causal), dtype="fp16")
        tile.pop("block_k")
    return Timed(
        place=place,
        kind="fp8" if row["what"] == "fp8" else "attention",
        shape=row["shape"],
        op=op,
        kernel={**_TRITON, "variant": "tma"},
        tile=tile,
        config=row["config"],
        time_us=time,
        cool=row["n"] != "1",
    )


_TWO_KERNELS = ("splitk", "decode", "gemv")
_SHAPE_COLUMNS = ("op", "batch", "kv_len", "M", "C", "N", "K")


def _second_set(place: int | str, row: dict[str, Any]) -> Timed | Skipped | None:
    if not row["time_us"]:
        return None
    build = second_set_build(place, row)
    if isinstance(build, Skipped):
        return build
    assert isinstance(build, Build)
    tile, extra = dict(build.tile), dict[str, int]()
    if row.get("split"):
        tile["split_k"] = int(row["split"])
    if int(row.get("per_sm") or 0):
        extra = {"programs_per_sm": int(row["per_sm"]), "flat": int(row["flat"])}
    if row["kind"] in _TWO_KERNELS:
        extra["second"] = 1  # timed with the kernel that adds the parts, also where there is only one
    return Timed(
        place=place,
        kind=row["kind"],
        shape="x".join(row[name] for name in _SHAPE_COLUMNS if row.get(name)),
        op=build.op,
        kernel=build.kernel,
        tile=tile,
        config=".".join([row["config"], *(f"{name}{row[name]}" for name in ("split", "per_sm") if row.get(name))]),
        time_us=positive(row, "time_us"),
        cool=row["launches"] != "1",
        extra=extra,
    )


def _tilelang(place: int | str, row: dict[str, Any]) -> Timed | Skipped | None:
    time = _first(row, "paced_ms", "ms", "ms2")
    if time is None:
        return None
    if row.get("correct") == "0":
        return Skipped(place, "the kernel's result is wrong")
    shape = _shape(row)
    flops = 2 * shape["m"] * shape["n"] * shape["k"]
    panel = int(row["swizzle"] or 0)
    sizes = {f"block_{axis}": int(row[f"block_{axis.upper()}"]) for axis in "mnk"}
    tile = {**sizes, "num_stages": int(row["num_stages"]), "num_warps": int(row["threads"]) // 32}
    return Timed(
        place=place,
        kind="tilelang",
        shape="x".join(map(str, shape.values())),
        op=Gemm(**shape, dtype="fp16"),
        kernel=_TILELANG,
        tile=tile,
        config=".".join(f"{name}{value}" for name, value in {**tile, "panel": panel}.items()),
        time_us=time * 1e3,
        cool=bool(row["paced_ms"]) or flops < _POWER_LIMITED_FLOPS,
        extra={"group_m": max(1, panel)},
    )


_READERS: Known[Timed | Skipped | None] = (
    ({"M", "N", "K", "config", "sweep_quick_us"}, _first_set),
    ({"what", "shape", "config", "med_us"}, _fp8_and_attention),
    (WANTED, tuned_row),
    ({"kind", "config", "time_us"}, _second_set),
    ({"block_M", "threads", "swizzle", "ms"}, _tilelang),
    ({"design", "rows_at_once", "cold_med_us"}, _fused_rows),
)
