"""rank = "time" in solve, check, prune and explain; users' rules on times; verify times and verify ncu."""

import json
import time
from pathlib import Path

import pytest

import tilesearch as ts
from tilesearch.api import verify
from tilesearch.api.verify.ncu import profiled
from tilesearch.api.verify.tables import table_rows
from tilesearch.models.time import constants_of, predict
from tilesearch.models.time.folds import constants_without
from tilesearch.specs.devices import load_device

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
    within = sum(c.metrics.time_us <= limit for c in whole.candidates)
    assert len(cut.candidates) == within >= 11
    counts = cut.counts
    assert counts.rejected["user.2"] == whole.counts.feasible + whole.counts.soft - within
    assert counts.candidates == counts.feasible + counts.soft + counts.unknown + sum(counts.rejected.values())
    assert ts.solve(OP, "h200", kernel=TRITON, rules=["time_us < 1"]).status == "infeasible"


@pytest.mark.parametrize("allow_soft", [False, True])
def test_a_rule_on_time_counts_tiles_that_break_soft_rules(allow_soft):
    every = ts.solve(OP, "h200", kernel=TRITON, rank="time", top=2000, allow_soft=True).candidates
    counts = ts.solve(OP, "h200", kernel=TRITON, rank="time", allow_soft=allow_soft, rules=["time_us <= 700"]).counts
    quick = [c.verdict for c in every if c.metrics.time_us <= 700]
    assert (counts.feasible, counts.soft) == (quick.count("fits"), quick.count("spills"))
    assert counts.rejected["user.1"] == len(every) - len(quick)
    assert counts.soft
    assert counts.candidates == counts.feasible + counts.soft + counts.unknown + sum(counts.rejected.values())


@pytest.mark.parametrize("name", ["l2_bytes", "dram_bytes", "time_us", "time_sustained_us"])
def test_what_a_float_model_gives_is_no_key_and_no_constant(name):
    """The capacity of L2 has another name than a tile's bytes from L2."""
    for text in (name, f"{name} + 1"):
        with pytest.raises(ts.InputError, match="model of time"):
            ts.solve(OP, "h200", kernel=TRITON, rank=text)
    if name != "time_us":
        with pytest.raises(ts.InputError, match="model of time"):
            ts.solve(OP, "h200", kernel=TRITON, rules=[f"{name} < 10"])
    assert ts.solve(OP, "h200", kernel=TRITON, rules=["l2_capacity_bytes == 62914560"], top=1).candidates


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
    op = ts.Conv2d(n=8, c_in=64, h=56, w=56, c_out=64, kh=3, kw=3, dilation=2, dtype="fp16")
    answer = ts.solve(op, "h200", kernel="triton", rank="time")
    assert any("not validated" in note for note in answer.notes)


@pytest.mark.parametrize(
    ("op", "language", "known"),
    [
        (OP, "triton", True),
        (ts.Gemm(m=512, n=512, k=512, dtype="fp32"), "triton", False),
        (ts.Gemm(m=512, n=512, k=512, dtype="fp8_e4m3", out="fp16"), "triton", False),  # by pointers
        (ts.Gemm(m=512, n=512, k=512, dtype="fp8_e4m3", out="fp16"), "tilelang", False),
        (ts.Attention(batch=1, heads=8, q_len=128, kv_len=4096, head_dim=256, causal=True), "triton", False),
        (
            ts.Attention(batch=1, heads=8, q_len=4096, head_dim=128, causal=True, window=512, dtype="fp16"),
            "triton",
            True,
        ),
        (ts.Reduction(shape=[512, 4096], axes=[1], function="rmsnorm"), "triton", True),
    ],
)
def test_only_kinds_that_were_measured_are_called_calibrated(op, language, known):
    notes = ts.solve(op, "h200", kernel=language, rank="time", top=1).notes
    said = next(note for note in notes if note.startswith("time_us:"))
    assert ("calibrated" in said) == known
    assert ("not validated" in said) != known
    assert ts.solve(op, "h200", kernel=language, top=1).rank == "time"


def test_the_breakdown_names_a_loop_only_where_there_is_one():
    def story(op):
        return ts.solve(op, "h200", kernel="triton", rank="time", top=1).notes[-1]

    assert "in the k loop" in story(OP)
    assert story(ts.Attention(batch=1, heads=8, q_len=4096, head_dim=128)).endswith("in the loop over keys")
    assert story(ts.Reduction(shape=[32768, 4096], axes=[1], function="softmax")).endswith("bound by DRAM")
    assert story(ts.Gemm(m=64, n=64, k=64, dtype="fp16")).endswith("bound by launch")


def device_with(tmp_path, constant):
    path = tmp_path / "mine.toml"
    path.write_text(f'name = "mine"\nvendor = "nvidia"\ninherits = "h200"\n[time]\n{constant}\n')
    return path


@pytest.mark.parametrize(
    ("constant", "message"),
    [
        ('l2_latency = { value = -1.0, unit = "s" }', "at least 0"),
        ('launch_floor = { value = 1e300, unit = "s" }', "at most 1"),
        ('l2_to_sm = { value = 0, unit = "B/clk/SM" }', "above 0"),
        ('l2_latency = { value = 273, unit = "cycles" }', "wanted in s"),
        ("mma_share = 0", "zero"),
    ],
)
def test_a_constant_that_no_time_follows_from(tmp_path, constant, message):
    with pytest.raises(ts.InputError, match=message):
        ts.solve(OP, device_with(tmp_path, constant), kernel=TRITON, rank="time")


def test_a_constant_that_is_not_known_leaves_no_measured_interval(tmp_path):
    answer = ts.solve(OP, device_with(tmp_path, 'l2_latency = "unknown"'), kernel=TRITON, rank="time", top=1)
    metrics = answer.candidates[0].metrics
    assert metrics.time_high_us > 2 * metrics.time_low_us
    assert metrics.time_sustained_us is None
    assert any("not calibrated" in note for note in answer.notes)


def test_times_of_months_are_in_order():
    """They pass what whole picoseconds in 64 bits can hold."""
    most = 2**31 - 1
    op = ts.Attention(batch=1, heads=64, q_len=most, kv_len=most, head_dim=128, causal=True)
    times = [c.metrics.time_us for c in ts.solve(op, "h200", kernel="triton", rank="time", top=300).candidates]
    assert times[0] == min(times)
    assert not ts.solve(op, "h200", kernel="triton", rank="time", rules=["time_us < 1000"]).candidates


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
    assert kinds["tilelang"]["time"]["top1"] > 0.9
    assert answer.stats["sustained"]["mape"] < 0.05 < answer.stats["sustained"]["mape_of_the_cool_time"]
    assert 0.7 < answer.stats["coverage_80"] < answer.stats["coverage_90"] <= 1


def test_verify_times_of_fused_rows(tmp_path):
    """A of the seed's designs is bound by dispatch, B and C are alike."""
    figures = {
        "A w1": (1, 1, 1, 103.04),
        "A w4": (1, 1, 4, 181.98),
        "B w2": (8, 8, 2, 30.66),
        "C w2": (40, 8, 2, 29.38),
    }
    named = ("rows", "rows_at_once", "num_warps", "cold_med_us")
    path = tmp_path / "designs.json"
    path.write_text(json.dumps({name: dict(zip(named, row, strict=True)) for name, row in figures.items()}))
    stats = verify("times", [path]).stats["kinds"]["fused_rows"]
    assert stats["mape"] < 0.12
    assert stats["time"]["top5"] == 1


def test_fused_rows_are_ranked_in_triton():
    problem = ts.load_problem("qk_norm_rope_quant")
    space = {"rows_per_block": [1, 2, 4, 8], "num_warps": [1, 2, 4], "tokens_per_block": [1]}
    answer = ts.solve(problem.op, "h200", kernel="triton", space=space, rank="time", top=50)
    times = {(c.tile.rows_per_block, c.tile.num_warps): c.metrics.time_us for c in answer.candidates}
    assert times[1, 1] == pytest.approx(103.04, rel=0.05)  # measured
    assert times[8, 2] == pytest.approx(30.66, rel=0.1)
    assert times[1, 4] > 1.4 * times[1, 1]


def test_sustained_times():
    """Back to back a large product meets the power limit: 224 us were measured where the cool launch takes 186."""
    tile = {"block_m": 128, "block_n": 256, "block_k": 64, "num_stages": 3, "num_warps": 8}
    metrics = ts.check(OP, "h200", tile, kernel=TRITON).metrics
    assert metrics.time_sustained_us == pytest.approx(224, rel=0.1)
    small = ts.Gemm(m=1024, n=1024, k=1024, dtype="fp16")
    assert ts.check(small, "h200", tile, kernel=TRITON).metrics.time_sustained_us is None


def test_verify_ncu():
    stats = verify("ncu", [DATA / "ncu_gemm.csv.gz"]).stats
    assert stats["l2_to_sm"]["mean"] < 0.01
    assert stats["dram_reads"]["mean"] < 0.03


def test_reads_over_the_orders_of_blocks():
    """84 launches with group_m 1 to 64; where the two ways to walk K differ by less than a factor, 5 % off."""
    stats = verify("ncu", [DATA / "ncu_group_order.csv.gz"]).stats
    assert stats["dram_reads"]["mean"] < 0.07
    assert stats["dram_reads_settled"]["mean"] < 0.055
    assert stats["dram_reads_settled"]["rows"] > 60
    assert stats["dram_bounds_hold"] > 0.9


def test_the_order_of_blocks_is_chosen_as_well_as_a_constant_does():
    """Predicted against measured times of 12 kernels at seven group_m each."""
    rows = list(table_rows(DATA / "ncu_group_order.csv.gz"))
    constants = constants_of(load_device("h200"))
    kernels = {}
    for row, one in zip(rows, profiled(DATA / "ncu_group_order.csv.gz"), strict=True):
        fair = constants_without(constants, "h200", one.row.shape)
        measured, modelled = float(row["time_us"]), float(predict(one.launch, fair).time_us[0])
        kernels.setdefault((one.row.shape, one.row.config), {})[one.group] = (measured, modelled)
    chosen, eights = [], []
    for groups in kernels.values():
        best = min(measured for measured, _ in groups.values())
        chosen.append(min(groups.values(), key=lambda pair: pair[1])[0] / best)
        eights.append(groups[8][0] / best)
    assert len(kernels) == 12
    assert sum(chosen) <= sum(eights)


def test_reads_that_are_not_settled_are_said_to_be_so():
    """At group_m 1 on 8192^3 one kernel reads 3.4 GB, another 6.7 GB: the answer gives a span."""
    op = ts.Gemm(m=8192, n=8192, k=8192, dtype="fp16")
    tile = {"block_m": 128, "block_n": 128, "block_k": 64, "num_stages": 3, "num_warps": 4}
    wide = ts.check(op, "h200", tile | {"group_m": 1}, kernel=TRITON)
    assert wide.metrics.dram_low_bytes < 3.4e9 < 6.7e9 < wide.metrics.dram_high_bytes
    assert any("DRAM reads are" in note for note in wide.notes)
    near = ts.check(op, "h200", tile | {"group_m": 8}, kernel=TRITON)
    assert not any("DRAM reads are" in note for note in near.notes)


def test_other_tables_are_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n")
    for kind in ("times", "ncu"):
        with pytest.raises(ts.InputError):
            verify(kind, [path])
