"""The two replays that judge compiled kernels, on copies of the reference data."""

import gzip
import json
from pathlib import Path

import pytest

from tilesearch.api.verify import verify

DATA = Path(__file__).parents[1] / "data"
FILES = ["h200.csv.gz", "h200_more.csv.gz", "tilelang_nn.jsonl.gz", "tilelang_nt.jsonl.gz"]


@pytest.mark.parametrize("name", FILES)
def test_feasibility(name):
    stats = verify("feasibility", [DATA / "feasibility" / name]).stats
    assert stats["false_fits"] == 0
    assert stats["false_reject_share"] <= 0.02
    assert stats["exact_bytes"] >= 0.99
    assert stats["spill_precision"] >= 0.95
    assert stats["spill_recall"] >= 0.90


def test_several_files_at_once_and_helpers_are_skipped():
    answer = verify("feasibility", [DATA / "feasibility" / name for name in FILES])
    assert answer.rows == 979 + 501 + 429 + 429
    assert answer.skipped == 13
    assert all("helper kernel" in reason for reason in answer.stats["skipped"])
    assert len(answer.disagree) <= 3


def test_a_wrong_row_is_found(tmp_path):
    lines = gzip.decompress((DATA / "feasibility" / "tilelang_nn.jsonl.gz").read_bytes()).decode().splitlines()
    row = next(json.loads(line) for line in lines if json.loads(line)["status"] == "ok")
    (tmp_path / "mine_nn.jsonl").write_text(json.dumps({**row, "dyn_smem": 1, "status": "run"}))
    answer = verify("feasibility", [tmp_path / "mine_nn.jsonl"])
    assert answer.disagree[0].expected == {"feasible": False, "shared_bytes": 1}
    assert answer.stats["false_fits"] == 1


def test_cases():
    answer = verify("cases", [DATA / "cases.json"])
    assert answer.rows == 67
    assert answer.disagree == []
    assert answer.skipped == 9
    assert all(answer.stats["skipped"])


def test_what_a_case_expects_is_no_input(tmp_path):
    """Turning every expectation round turns every agreement into a disagreement, but for those without a verdict."""
    data = json.loads((DATA / "cases.json").read_text())
    for case in data["cases"]:
        case["expected_verdict"] = {"feasible": "infeasible", "infeasible": "feasible"}.get(case["expected_verdict"])
        case["expected_verdict"] = case["expected_verdict"] or "unknown"
    (tmp_path / "cases.json").write_text(json.dumps(data))
    answer = verify("cases", [tmp_path / "cases.json"])
    assert answer.skipped == 9
    assert answer.agree == sum(case["expected_verdict"] == "unknown" for case in data["cases"]) - 1
