"""`tilesearch shard` and `tilesearch verify collectives`."""

import json
from pathlib import Path

DATA = Path(__file__).resolve().parents[1] / "data"


def test_table_says_the_best_and_why(cli):
    done = cli("shard", "gemm4096", "--ranks", "2", "--split", "row", "--collective", "all-reduce", "--chunks", "2")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("row split over 2, all-reduce:")
    for text in ("on each of 2 devices:", "launch floor 57.5 us", "2 chunks: at most", "link: calibrated on h200"):
        assert text in done.out


def test_several_chunk_counts(cli):
    done = cli("shard", "gemm4096", "--split", "column", "--chunks", "4", "--chunks", "2", "--format", "json")
    assert [option["chunks"] for option in json.loads(done.out)["options"]] == [1, 2, 4]


def test_faults_name_their_option(cli):
    for option, value in (("--ranks", "9"), ("--split", "x"), ("--collective", "x"), ("--chunks", "0")):
        done = cli("shard", "gemm4096", option, value)
        assert (done.status, done.out) == (2, "")
        assert done.err.startswith(f"error: {option}: ")


def test_another_operator_is_refused(cli):
    done = cli("shard", "layernorm")
    assert done.status == 2
    assert "op.kind: only a gemm is split over devices, got reduction" in done.err


def test_verify_refuses_other_files(cli, tmp_path):
    (tmp_path / "other.json").write_text('{"device": "h200"}')
    done = cli("verify", "collectives", "other.json")
    assert done.status == 2
    assert "no measured collectives" in done.err


def test_a_row_that_is_far_off_disagrees(cli, tmp_path):
    data = json.loads((DATA / "collectives.json").read_text())
    data["collectives"] = [row for row in data["collectives"] if row["bytes"] >= 1 << 24]
    data["collectives"][0]["single_us"] *= 2
    data["tp_gemm"] = []
    (tmp_path / "slow.json").write_text(json.dumps(data))
    done = cli("verify", "collectives", "slow.json", "--format", "json")
    assert done.status == 1
    assert [row["row"] for row in json.loads(done.out)["disagree"]] == ["all_reduce 16777216"]
