"""rank = "time" in solve, check, prune and explain; users' rules on times; verify times and verify ncu."""

import time
from pathlib import Path

import pytest

import tilesearch as ts
from tilesearch.api import verify

DATA = Path(__file__).resolve().parents[2] / "data"

OP = ts.Gemm(m=4096, n=4096, k=4096, dtype="fp16")
TRITON = {"language": "triton", "variant": "tma"}


def test_time_is_the_default_where_it_is_calibrated():
    assert ts.solve(OP, "h200", kernel="triton").rank == "time"
    assert ts.solve(OP, "h200", kernel="tilelang").rank == "time"
    assert ts.solve(OP, "h200").rank == "carver"
    assert ts.solve(OP, "a100_80gb", kernel="triton").rank == "carver"
    assert ts.solve(OP, "h200", kernel="triton", rank="traffic").rank == "traffic"


def test_solve_orders_by_time_and_shows_ties():
    answer = ts.solve(OP, "h200", kernel=TRITON, top=2000)
    metrics = [c.metrics for c in answer.candidates]
    assert [m.time_us for m in metrics] == sorted(m.time_us for m in metrics)
    assert all(m.time_low_us < m.time_us < m.time_high_us and m.l2_bytes >= m.dram_bytes for m in metrics)
    overlapping = [m for m in metrics if m.time_low_us <= metrics[0].time_high_us]
    assert answer.candidates[0].tied == len(overlapping)
    assert answer.candidates[-1].tied == 1
    assert "bound by" in " ".join(answer.notes)


def test_engines_give_the_same_order():
    space = {"block_m": [64, 128], "block_n": [128, 256], "block_k": [64], "num_stages": [3, 4], "group_m": [8]}
    orders = [
        [c.tile for c in ts.solve(OP, "h200", kernel=TRITON, space=space, rank="time", engine=name).candidates]
        for name in ("vector", "cpsat", "z3")
    ]
    assert orders[0] == orders[1] == orders[2]


def test_a_rule_on_time_is_a_filter():
    whole = ts.solve(OP, "h200", kernel=TRITON, top=5000)
    limit = whole.candidates[10].metrics.time_us
    cut = ts.solve(OP, "h200", kernel=TRITON, rules=["num_warps >= 4", f"time_us <= {limit}"], top=5000)
    assert len(cut.candidates) == 11
    counts = cut.counts
    assert counts.rejected["user.2"] == whole.counts.feasible - 11
    assert counts.candidates == counts.feasible + counts.soft + counts.unknown + sum(counts.rejected.values())
    assert ts.solve(OP, "h200", kernel=TRITON, rules=["time_us < 1"]).status == "infeasible"


def test_check_and_prune_obey_it_and_explain_refuses_it():
    tile = {"block_m": 64, "block_n": 64, "block_k": 64, "num_stages": 3, "num_warps": 4}
    verdict = ts.check(OP, "h200", tile, kernel=TRITON, rules=["time_us <= 200"])
    assert verdict.violations == ["user.1"]
    assert not verdict.feasible
    assert ts.check(OP, "h200", tile, kernel=TRITON).metrics.time_us > 200
    config = {name.upper(): value for name, value in tile.items() if name.startswith("block")}
    config |= {"num_stages": 3, "num_warps": 4}
    pruned = ts.prune([config, config | {"BLOCK_N": 256, "BLOCK_M": 128, "num_warps": 8}], OP, "h200", kernel=TRITON)
    assert [kept.config["BLOCK_N"] for kept in pruned.kept] == [256, 64]
    assert all(kept.metrics.time_us for kept in pruned.kept)
    rejected = ts.prune([config], OP, "h200", kernel=TRITON, rules=["time_us <= 200"]).rejected
    assert rejected[0].violations == ["user.1"]
    with pytest.raises(ts.InputError, match="whole numbers"):
        ts.explain(OP, "h200", kernel=TRITON, rules=["time_us <= 1"])


def test_without_a_model_the_reason_is_said():
    with pytest.raises(ts.InputError, match="no time model"):
        ts.solve(OP, "mi300x", kernel="triton", rank="time")
    with pytest.raises(ts.InputError, match="no time model"):
        ts.solve(OP, "h200", rules=["time_us <= 100"])


def test_what_no_measurement_covers_is_not_validated():
    op = ts.Conv2d(n=8, c_in=64, h=56, w=56, c_out=64, kh=3, kw=3, dtype="fp16")
    answer = ts.solve(op, "h200", kernel="triton", rank="time")
    assert any("not validated" in note for note in answer.notes)


def test_ten_thousand_candidates_are_ranked_at_once():
    space = {"group_m": [1, 2, 4, 8, 16, 32, 64, 128]}
    ts.solve(OP, "h200", kernel="triton", space=space, rank="time")
    best = min(_timed(space) for _ in range(3))
    assert best < 0.15  # 0.02 s on the machine it was written on; the target is 0.05


def _timed(space):
    start = time.perf_counter()
    answer = ts.solve(OP, "h200", kernel="triton", space=space, rank="time")
    assert answer.counts.candidates == 10_000
    return time.perf_counter() - start


def test_verify_times():
    names = ("times_gemm", "times_splitk", "times_rows", "times_tilelang")
    answer = verify("times", [DATA / f"{name}.csv.gz" for name in names])
    assert not answer.disagree
    assert answer.rows > 1000
    kinds = answer.stats["kinds"]
    assert set(kinds) == {"gemm_ptr", "gemm_tma", "splitk", "rmsnorm", "softmax", "tilelang"}
    for kind in ("gemm_ptr", "gemm_tma"):
        stats = kinds[kind]
        assert stats["time"]["top5"] > 0.98
        assert stats["mape"] < 0.1
        assert stats["time"]["top1"] > max(stats[other]["top1"] for other in ("carver", "traffic", "random"))
    assert 0.7 < answer.stats["coverage_80"] < answer.stats["coverage_90"] <= 1


def test_verify_ncu():
    stats = verify("ncu", [DATA / "ncu_gemm.csv.gz"]).stats
    assert stats["l2_to_sm"]["mean"] < 0.01
    assert stats["dram_reads"]["mean"] < 0.05


def test_other_tables_are_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n")
    for kind in ("times", "ncu"):
        with pytest.raises(ts.InputError):
            verify(kind, [path])
