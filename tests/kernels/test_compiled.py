"""Shared bytes against Triton's own compiler: 461 builds of seven versions for nine targets, made without a GPU."""

import csv
import gzip
from pathlib import Path

import tilesearch as ts

PACKED = (Path(__file__).parents[1] / "data/triton_compiled.csv.gz").read_bytes()
ROWS = list(csv.DictReader(gzip.decompress(PACKED).decode().splitlines()))

# What the rules do not say, and how far off they are. A row that starts to agree must leave this list.
KNOWN = {
    ("3.3", "pointer", "100"): "tcgen05 in 3.3: epilogue scratch of a one-stage kernel",
    ("3.3", "attention", "100"): "tcgen05 in 3.3: the score tile is staged",
    ("3.1", "attention", "90"): "two bytes of reduction crumbs with unequal head dims",
    ("3.1", "block_scaled", "89"): "the padded tile on mma",
    ("3.1", "pointer", "90"): "tf32 without hints is read transposed in place",
}
PERSISTENT_N_MAJOR = "persistent_pointer with an N-major B: the compiler keeps one buffer of it"


def device(target):
    return {"gfx942": "mi300x", "gfx950": "mi355x"}.get(target, f"cc{target}")


def operator(row):
    d = {name: row[name] for name in ("dtype",)}
    if row["kernel"] == "attention":
        return ts.Attention(
            heads=16, q_len=4096, head_dim=int(row["block_k"]), v_head_dim=int(row["value_dim"]), dtype=row["dtype"]
        )
    if row["kernel"] == "block_scaled":
        return ts.BlockScaledGemm(m=4096, n=4096, k=4096)
    hints = row["hints"]
    n = 4096 if hints == "all" or "N" in hints else 515
    k = 4096 if hints == "all" or "K" in hints else 263
    return ts.Gemm(m=4096, n=n, k=k, out=row["out"], trans_b=row["b_k_major"] == "1", **d)


def predicted(row):
    tile = {name: int(row[name]) for name in ("block_m", "block_n", "num_stages", "num_warps")}
    if row["kernel"] != "attention":
        tile["block_k"] = int(row["block_k"])
    variant = row["kernel"] if row["kernel"] in ("tma", "persistent", "persistent_pointer") else "pointer"
    kernel = {"language": "triton", "version": row["version"], "variant": variant}
    return ts.check(operator(row), device(row["target"]), tile, kernel=kernel).metrics.shared_bytes


def test_bytes_are_the_compilers():
    wrong = [row for row in ROWS if predicted(row) != int(row["shared"])]
    for row in wrong:
        n_major = row["kernel"] == "persistent_pointer" and row["b_k_major"] == "0"
        place = (row["version"], row["kernel"], row["target"])
        assert n_major or place in KNOWN, (row, predicted(row))
    assert len(wrong) <= 9
    assert len(ROWS) == 461


def test_versions_differ_on_the_same_tile():
    """The same A100 tile takes S buffers in 2.0 and S - 1 from 3.0 on (public case tut-mm-a100-s4)."""
    tile = {"block_m": 128, "block_n": 256, "block_k": 64, "num_stages": 4, "num_warps": 8}
    op = ts.Gemm(m=4096, n=4096, k=4096)
    old, new = (
        ts.check(op, "a100_80gb", tile, kernel={"language": "triton", "version": v}).metrics.shared_bytes
        for v in ("2.0", "3.1")
    )
    assert (old, new) == (196608, 147456)
