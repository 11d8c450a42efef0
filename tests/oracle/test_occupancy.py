"""Occupancy against CUDA's own header, row by row."""

import json
from pathlib import Path

import pytest

import tilesearch as ts
from tilesearch.api import verify

FILE = Path(__file__).parents[1] / "data" / "occupancy_oracle.json"


def test_every_row_but_those_with_256_registers():
    answer = verify("occupancy", [FILE])
    assert answer.disagree == []
    assert (answer.rows, answer.agree, answer.skipped) == (575, 568, 7)
    (reason,) = answer.stats["skipped"]
    assert "256 registers" in reason
    rows = json.loads(FILE.read_text())["rows"]
    assert [i for i, row in enumerate(rows) if row["regs_per_thread"] == 256] == answer.stats["skipped"][reason]


@pytest.mark.parametrize("device", ["cc70", "cc80", "cc90", "cc120"])
def test_registers_stop_at_255(device):
    blocks = [ts.occupancy(device, registers_per_thread=r, threads_per_block=32).blocks_per_sm for r in (255, 256, 257)]
    assert blocks[0] > 0
    assert blocks[1:] == [0, 0]


def test_a_wrong_row_is_found(tmp_path):
    data = json.loads(FILE.read_text())
    data["rows"][3]["active_blocks_per_sm"] += 1
    data["rows"][5]["limiting_factors"] = ["barriers"]
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(data))
    answer = verify("occupancy", [changed])
    assert [d.row for d in answer.disagree] == [3, 5]
    assert set(answer.disagree[0].expected) == {"active_blocks_per_sm"}
    assert answer.agree == 566
