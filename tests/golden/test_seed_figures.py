"""The seed text's figures: each by its id through verify, and the numbers that the text prints, spelled out."""

import json
from pathlib import Path

import pytest

import tilesearch as ts
from tilesearch.api import verify
from tilesearch.api.verify.figures.registry import NOT_BUILT, find_figure, missing_part
from tilesearch.api.verify.replay import close

FILE = Path(__file__).parents[1] / "data" / "seed_figures.json"
ROWS = json.loads(FILE.read_text())
BUILT = [row for row in ROWS if find_figure(row["id"]) is not None]

OP = ts.Gemm(m=4096, n=4096, k=4096, dtype="fp16", acc="fp32")
WORKED = {"block_m": 128, "block_n": 256, "block_k": 64, "num_stages": 3, "num_warps": 8}
STAGE4 = {"block_m": 256, "block_n": 256, "block_k": 64, "num_stages": 4, "num_warps": 8}


@pytest.mark.parametrize("row", BUILT, ids=lambda row: row["id"])
def test_figure(row):
    got = find_figure(row["id"])()
    assert close(row["value"], got, row["rel_tol"]), f"{row['id']}: {row['value']} {row['unit']}, got {got}"


def test_the_rest_waits_for_a_part_that_is_named():
    waiting = [row["id"] for row in ROWS if row not in BUILT]
    assert all(missing_part(i).startswith("not built yet") for i in waiting), "an id that nobody answers for"
    assert not [i for i in NOT_BUILT if not any(w.startswith(i) for w in waiting)], "NOT_BUILT names what is built"


def test_through_verify():
    answer = verify("figures", [FILE])
    assert (answer.rows, answer.agree, answer.disagree) == (len(ROWS), len(BUILT), [])
    assert answer.skipped == len(ROWS) - len(BUILT)
    assert sum(len(ids) for ids in answer.stats.get("skipped", {}).values()) == answer.skipped


def test_carver_recomputation():
    answer = ts.solve(ts.load_problem("problems/seed_carver_4096.toml"), top=729)
    counts = answer.counts
    assert (counts.candidates, counts.feasible) == (729, 154)
    assert list(counts.rejected.items())[:2] == [("C1.shared_memory", 453), ("C2.register_file", 122)]
    assert sum(counts.rejected.values()) == 729 - 154
    priorities = [c.metrics.priority for c in answer.candidates]
    assert len(priorities) == 154
    assert len(set(priorities)) == 48
    top = [c for c in answer.candidates if c.metrics.priority == priorities[0]]
    assert (priorities[0], answer.best.tied, answer.best.metrics.waves) == (6576668676, 8, 4)
    tiles = {(c.tile.block_m, c.tile.block_n, c.tile.block_k) for c in top}
    assert tiles == {(m, n, k) for m, n in ((128, 256), (256, 128)) for k in (16, 32, 64, 128)}


@pytest.mark.parametrize(
    ("m", "n", "traffic"),
    [(256, 256, 1107296256), (128, 256, 1644167168), (256, 128, 1644167168), (128, 128, 2181038080)],
)
def test_traffic(m, n, traffic):
    assert ts.check(OP, "h200", {**WORKED, "block_m": m, "block_n": n}).metrics.traffic_bytes == traffic


def test_worked_tile():
    answer = ts.check(OP, "h200", WORKED, model={"occupancy": "seed"})
    metrics = answer.metrics
    assert ts.check(OP, "h200", {**WORKED, "num_stages": 1}).metrics.shared_bytes == 49152
    assert (metrics.shared_bytes, metrics.accumulators_per_thread, metrics.registers_per_block) == (147456, 128, 32768)
    assert metrics.blocks_by == {"registers": 2, "shared_memory": 1, "threads": 8}
    assert (answer.verdict, answer.binding, metrics.blocks_per_sm) == ("fits", "C1.shared_memory", 1)
    assert (metrics.grid, metrics.waves) == (512, 4)
    assert metrics.tail_fill == pytest.approx((512 - 3 * 132) / 132)
    assert round(100 * metrics.tail_fill, 1) == 87.9


def test_the_tile_that_does_not_fit():
    answer = ts.check(OP, "h200", STAGE4)
    assert (answer.verdict, answer.feasible) == ("infeasible", False)
    broken = {rule.id: (rule.value, rule.limit) for rule in answer.rules if rule.ok is False}
    assert broken == {"C1.shared_memory": (262144, 232448), "C2.accumulators": (256, 255)}
    assert answer.violations == ["C1.shared_memory", "C2.accumulators"]
