"""verify times, ncu and collectives on files that are not what they should be: named, and never half an answer."""

import csv
import gzip
import json
from pathlib import Path

import pytest

import tilesearch as ts
from tilesearch.api import verify

DATA = Path(__file__).resolve().parents[1] / "data"

TUNED = {
    "kind": "tune_gemm_tma",
    "shape": "4096x4096x4096",
    "config": "one",
    "op": {"kind": "gemm", "m": 4096, "n": 4096, "k": 4096, "dtype": "fp16"},
    "kernel": {"language": "triton", "variant": "tma"},
    "tile": {"block_m": 128, "block_n": 256, "block_k": 64, "num_stages": 3, "num_warps": 8},
    "time_us": 187.0,
    "cool": 1,
    "device": "h200",
}


def head(name, changes=(), count=3):
    """The first rows of a shipped table, the first of them changed."""
    with gzip.open(DATA / name, "rt") as file:
        rows = [row for row, _ in zip(csv.DictReader(file), range(count), strict=False)]
    rows[0].update(changes)
    return rows


def table(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def tuned(path, **changes):
    row = {**TUNED, **changes}
    return table(path, [{k: v if isinstance(v, str) else json.dumps(v) for k, v in row.items()}])


def refused(kind, path, *words):
    with pytest.raises(ts.InputError) as caught:
        verify(kind, [path])
    for word in (str(path), *words):
        assert word in str(caught.value)


@pytest.mark.parametrize("value", ["nan", "inf", "1e400", "0", "-5", "abc", "1e-320"])
def test_a_time_that_is_none(tmp_path, value):
    path = table(tmp_path / "a.csv", head("times_gemm.csv.gz", {"cool_med_us": value}))
    refused("times", path, "row 0", value)
    refused("times", tuned(tmp_path / "b.csv", time_us=value), "row 0", value)


@pytest.mark.parametrize(
    "changes",
    [
        {"M": "0"},
        {"K": "99999999999999"},
        {"config": "zzz"},
        {"config": "gemm_foo.d16.128x256x64.w8.s3"},
        {"config": "gemm_tma.d16.0x256x64.w8.s3"},
        {"config": "gemm_tma.d16.99999999999999999999x256x64.w8.s3"},
    ],
)
def test_a_row_that_is_no_launch(tmp_path, changes):
    refused("times", table(tmp_path / "a.csv", head("times_gemm.csv.gz", changes)), "row 0")


@pytest.mark.parametrize(
    "changes",
    [
        {"kernel": [1]},
        {"kernel": {}},
        {"op": []},
        {"op": {"kind": "gemm", "m": 0, "n": 1, "k": 1}},
        {"tile": [1, 2]},
        {"tile": {"block_zz": 3}},
        {"tile": {"block_m": 10**21, "block_n": 128, "block_k": 64}},
    ],
)
def test_a_tuned_row_that_is_no_launch(tmp_path, changes):
    refused("times", tuned(tmp_path / "a.csv", **changes), "row 0")


def test_a_row_with_too_few_cells(tmp_path):
    path = table(tmp_path / "a.csv", head("times_gemm.csv.gz"))
    path.write_text(path.read_text() + "1,2\n")
    refused("times", path, "row 3", "cells")


def test_a_tuned_table_is_judged_by_its_own_device(tmp_path):
    here = verify("times", [tuned(tmp_path / "a.csv")]).stats["mape"]
    there = verify("times", [tuned(tmp_path / "b.csv", device="h100_sxm")]).stats
    assert there["mape"] > 1.1 * here
    assert list(there["kinds"]) == ["tune_gemm_tma on h100_sxm"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [({"device": "mycard"}, "mycard is not known"), ({"kernel": {"language": "generic"}}, "no time model")],
)
def test_rows_without_a_model_are_skipped_for_a_reason(tmp_path, changes, reason):
    path = tuned(tmp_path / "a.csv", **changes)
    refused("times", path, reason)
    answer = verify("times", [path, DATA / "times_splitk.csv.gz"])
    assert answer.skipped
    assert any(reason in note for note in answer.notes)


@pytest.mark.parametrize(
    "changes",
    [
        {"dram_bytes_read_sum": "0"},
        {"dram_bytes_read_sum": "nan"},
        {"l1tex_m_xbar2l1tex_read_bytes_sum": "-1"},
        {"l1tex_m_xbar2l1tex_read_bytes_sum": ""},
        {"config": "q"},
        {"M": "nan"},
    ],
)
def test_counters_that_are_none(tmp_path, changes):
    refused("ncu", table(tmp_path / "a.csv", head("ncu_gemm.csv.gz", changes)), "row 0")


@pytest.mark.parametrize("value", ["0", "-3", "x", "9" * 20])
def test_an_order_of_blocks_that_is_none(tmp_path, value):
    refused("ncu", table(tmp_path / "a.csv", head("ncu_group_order.csv.gz", {"GM": value})), "row 0")


@pytest.mark.parametrize(
    ("part", "changes"),
    [
        ("tp_gemm", {"overlap0_us": 5.0}),
        ("tp_gemm", {"overlap99999_us": 5.0}),
        ("tp_gemm", {"overlap2_us": "x"}),
        ("tp_gemm", {"overlap2_us": -1}),
        ("tp_gemm", {"sequential_us": 1e300}),
        ("collectives", {"bytes": 10**40}),
    ],
)
def test_collectives_that_are_none(tmp_path, part, changes):
    data = json.loads((DATA / "collectives.json").read_text())
    data[part][0].update(changes)
    path = tmp_path / "a.json"
    path.write_text(json.dumps(data))
    refused("collectives", path, f"{part}[0].{next(iter(changes))}")


@pytest.mark.parametrize("changes", [{"gpus": 10**9}, {"device": "zzz"}, {"p2p_copy": 5}])
def test_a_run_that_is_none(tmp_path, changes):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(json.loads((DATA / "collectives.json").read_text()) | changes))
    refused("collectives", path)
