"""Numbers, tiles and operators in words."""

import pytest

from tilesearch.answers import Metrics, Nearest, Tile
from tilesearch.report import words
from tilesearch.report.operators import op_text
from tilesearch.specs.data import data_dir
from tilesearch.specs.ops import OP_KINDS
from tilesearch.specs.problems import load_problem

FULL = {"block_m": 256, "block_n": 128, "block_k": 64, "num_stages": 4, "num_warps": 8, "split_k": 1, "group_m": 1}


@pytest.mark.parametrize(
    ("tile", "varying", "text"),
    [
        (FULL, None, "256x128x64 s4 w8"),
        (FULL | {"split_k": 4, "cluster_m": 2, "cluster_n": 1}, None, "256x128x64 s4 w8 split4 cluster2x1"),
        (FULL, {"group_m"}, "256x128x64 s4 w8 group1"),
        (FULL | {"split_k": 4}, {"group_m"}, "256x128x64 s4 w8 group1"),
        ({"block_m": 64, "block_n": 32, "num_warps": 4}, None, "64x32 w4"),
        ({"tokens_per_block": 2, "rows_per_block": 8, "num_warps": 4}, None, "tokens2 rows8 w4"),
        ({"edge": 7}, None, "edge=7"),
    ],
)
def test_tiles(tile, varying, text):
    assert words.tile_text(tile, varying) == text
    assert words.tile_text(Tile(**tile), varying) == text


def test_changes():
    nearest = Nearest(tile=Tile(**FULL), changes={"num_stages": [5, 4], "block_n": [256, 128]})
    assert words.nearest_text(nearest) == "256x128x64 s4 w8  (num_stages 5 -> 4, block_n 256 -> 128)"


def test_units():
    assert words.megabytes(251_660_000) == "251.7"
    assert words.megabytes(1_644_167_168) == "1,644.2"
    assert words.kilobytes(232_448) == "227.0"
    assert words.amount(232_448, "B") == "227.0 KB"
    assert words.amount(255, "registers") == "255"
    assert words.percent(-0.12775) == "-12.8"
    for show in (words.megabytes, words.kilobytes, words.integer, words.percent):
        assert show(None) == "-"
    assert words.amount(None, "B") == "-"


def test_residency():
    both = Metrics(blocks_per_sm=2, blocks_by={"registers": 2, "shared_memory": 2, "threads": 8, "barriers": None})
    assert words.residency(both) == "2 regs+smem"
    assert words.residency_text(both) == "2 blocks/SM by registers and shared_memory"
    assert words.residency(Metrics()) == "-"
    assert words.residency_text(Metrics(blocks_per_sm=8)) == "8 blocks/SM"


def test_times():
    assert words.microseconds(Metrics()) == "-"
    assert words.microseconds(Metrics(time_us=41.26)) == "41.26"
    assert words.microseconds(Metrics(time_us=41.2, time_low_us=38.0, time_high_us=45.5)) == "41.2 (38-45.5)"


@pytest.mark.parametrize(
    ("extra", "text"),
    [
        ({}, "gemm 8x16x32 fp16"),
        ({"out": "fp32"}, "gemm 8x16x32 fp16 -> fp32"),
        ({"b": "int8", "out": "bf16", "acc": "fp32"}, "gemm 8x16x32 fp16 x int8 -> bf16, accumulated in fp32"),
        ({"batch": 4, "trans_b": True, "activation": "gelu"}, "gemm 4 x 8x16x32 fp16, trans b, gelu"),
    ],
)
def test_gemm(extra, text):
    assert op_text({"kind": "gemm", "m": 8, "n": 16, "k": 32, "dtype": "fp16", **extra}) == text


@pytest.mark.parametrize("path", sorted(data_dir("problems").glob("*.toml")), ids=lambda path: path.stem)
def test_every_shipped_operator_has_words(path):
    op = load_problem(path).op.model_dump(exclude_none=True)
    text = op_text(op)
    assert op["kind"] in OP_KINDS
    assert "None" not in text
    assert "?" not in text
    assert len(text) < 160


def test_an_operator_without_words_of_its_own():
    parts = [{"name": "x", "bytes": 4}]
    table = {"kind": "scan", "rows": 8, "flag": True, "off": False, "parts": parts, "dtype": "bf16"}
    assert op_text(table) == "scan rows=8 flag=true parts=[x] bf16"
    assert op_text({}) == "operator"


@pytest.mark.parametrize("kind", OP_KINDS)
def test_a_table_that_lacks_keys_still_has_words(kind):
    assert op_text({"kind": kind})
