"""solve and check through the Python API."""

import pytest

import tilesearch as ts
from tilesearch.errors import InputError

OP = ts.Gemm(m=4096, n=4096, k=4096, dtype="fp16")
POWERS = [16, 32, 64, 128, 256, 512, 1024, 2048, 4096]


def test_the_main_job():
    answer = ts.solve(ts.load_problem("problems/gemm4096.toml"))
    counts = answer.counts
    assert counts.candidates == 1200 == counts.feasible + counts.soft + counts.unknown + sum(counts.rejected.values())
    assert answer.complete
    assert answer.proved_optimal
    assert (answer.best.tile.block_m, answer.best.tile.block_n) == (256, 128)
    keys = [c.metrics.priority for c in answer.candidates]
    assert keys == sorted(keys)
    assert [c.rank for c in answer.candidates] == list(range(1, 21))


def test_ties_are_counted_and_ordered():
    answer = ts.solve(OP, "h200", top=100)
    top = [c for c in answer.candidates if c.metrics.priority == answer.best.metrics.priority]
    assert {c.tied for c in top} == {len(top)}
    order = [(-c.metrics.tail_fill, -_slack(c)) for c in top]
    assert order == sorted(order)


def _slack(candidate):
    verdict = ts.check(OP, "h200", candidate.tile.as_dict())
    return min(r.slack for r in verdict.rules if r.slack is not None and r.id[:2] in ("C1", "C2"))


def test_traffic_ranks_by_bytes():
    answer = ts.solve(OP, "h200", rank="traffic", top=500)
    traffic = [c.metrics.traffic_bytes for c in answer.candidates]
    assert traffic == sorted(traffic)


def test_a_limits_only_device_cannot_rank_by_waves():
    with pytest.raises(InputError, match="sm_count is not known"):
        ts.solve(OP, "cc90")
    answer = ts.solve(OP, "cc90", rank="traffic")
    assert answer.best.metrics.waves is None
    assert any("sm_count" in note for note in answer.notes)


def test_nothing_fits_is_an_answer():
    answer = ts.solve(OP, "h200", rules=["block_m >= 256", "block_m <= 128"])
    assert (answer.status, answer.candidates, answer.complete) == ("infeasible", [], True)
    with pytest.raises(LookupError, match="infeasible"):
        _ = answer.best


def test_split_k_counts_partials():
    op = ts.Gemm(m=1024, n=1024, k=16384, out="fp32")
    tile = {"block_m": 128, "block_n": 128, "block_k": 64, "num_stages": 3}
    one, eight = (ts.check(op, "h200", tile | {"split_k": s}).metrics for s in (1, 8))
    assert (one.grid, eight.grid) == (64, 512)
    assert eight.traffic_bytes - one.traffic_bytes == 2 * 8 * 1024 * 1024 * 4


def test_assumed_residency_changes_waves_not_rules():
    answer = ts.solve(OP, "h200", model={"blocks_per_sm": 2})
    best = answer.best.metrics
    assert best.waves == -(-best.grid // (2 * 132))
    assert any("assume 2 blocks" in note for note in answer.notes)


def test_big_extents_stay_exact():
    big = 2**31 - 1
    op = ts.Gemm(m=big, n=big, k=big, batch=big)
    tile = {"block_m": 128, "block_n": 128, "block_k": 64}
    verdict = ts.check(op, "h200", tile)
    blocks = -(-big // 128)
    assert verdict.metrics.grid == big * blocks * blocks
    assert "C4.grid" in verdict.violations
    assert verdict.metrics.traffic_bytes == 2 * big**3 * 2 * blocks + 2 * big**3


@pytest.mark.parametrize("engine", ["cpsat", "z3"])
def test_solver_engines_give_the_same_list(engine):
    space = {"block_m": [64, 128, 256], "block_n": [64, 128, 256], "block_k": [32, 64], "num_stages": [2, 3, 4]}
    expected = ts.solve(OP, "h200", space=space)
    got = ts.solve(OP, "h200", space=space, engine=engine)
    assert [c.tile for c in got.candidates] == [c.tile for c in expected.candidates]
    assert [c.tied for c in got.candidates] == [c.tied for c in expected.candidates]
    assert got.counts.feasible == expected.counts.feasible


def test_aliases_and_threads():
    verdict = ts.check(OP, "h200", {"BLOCK_SIZE_M": 128, "BLOCK_N": 256, "block_k": 64, "num_threads": 256})
    assert verdict.tile.num_warps == 8
    with pytest.raises(InputError, match="did you mean 'block_m'"):
        ts.check(OP, "h200", {"blok_m": 128})


def test_an_incomplete_tile_is_refused():
    with pytest.raises(InputError, match=r"tile.block_k: is required and absent"):
        ts.check(OP, "h200", {"block_m": 128, "block_n": 128})


def test_dtype_without_an_instruction():
    with pytest.raises(InputError, match="no matrix instruction"):
        ts.solve(ts.Gemm(m=512, n=512, k=512, dtype="fp8_e4m3"), "a100_80gb")
    assert ts.solve(ts.Gemm(m=512, n=512, k=512, dtype="fp32"), "v100").best


def test_the_mma_fallback_is_said():
    verdict = ts.check(OP, "h200", {"block_m": 32, "block_n": 128, "block_k": 64, "num_warps": 4})
    assert verdict.verdict == "fits"
    assert any("mma" in note for note in verdict.notes)


def test_a_ranking_may_be_written_out():
    answer = ts.solve(ts.Gemm(m=512, n=512, k=512, dtype="fp16"), "h200", rank="shared_bytes * waves", top=50)
    keys = [c.metrics.shared_bytes * c.metrics.waves for c in answer.candidates]
    assert keys == sorted(keys) == [c.key for c in answer.candidates]
    assert answer.rank == "shared_bytes * waves"
    for engine in ("cpsat", "z3"):
        other = ts.solve(
            ts.Gemm(m=512, n=512, k=512, dtype="fp16"), "h200", rank="shared_bytes * waves", top=50, engine=engine
        )
        assert other.candidates == answer.candidates


def test_an_ii_relation_ranks():
    problem = ts.load_problem("problems/ascend_gemm_relu.toml")
    answer = ts.solve(problem, rank="mte2_ii - cube_ii", top=5)
    assert answer.best.key == min(c.key for c in answer.candidates) < 0


@pytest.mark.parametrize("engine", ["vector", "cpsat", "z3"])
@pytest.mark.parametrize("groups", [1, 2000])
def test_no_engine_calls_what_is_not_known_infeasible(tmp_path, engine, groups):
    device = tmp_path / "unknown.toml"
    device.write_text('name = "unknown"\nvendor = "nvidia"\ninherits = "h200"\nshared_per_sm = "unknown"\n')
    space = {"block_m": [64, 128], "block_n": [128], "block_k": [64], "group_m": list(range(1, groups + 1))}
    op = ts.Gemm(m=4096, n=4096, k=4096, dtype="fp16")
    answer = ts.solve(op, device, kernel="triton", space=space, rank="traffic", engine=engine)
    assert (answer.status, answer.complete, answer.candidates) == ("unknown", False, [])
    assert answer.counts.unknown == answer.counts.candidates
    never = ts.solve(op, device, kernel="triton", space=space, rank="traffic", engine=engine, rules=["block_m > 999"])
    assert never.status == "infeasible"


def test_a_large_space_by_time_counts_what_is_not_known(tmp_path):
    device = tmp_path / "unknown.toml"
    device.write_text('name = "unknown"\nvendor = "nvidia"\ninherits = "h200"\nshared_per_sm = "unknown"\n')
    op = ts.Gemm(m=4096, n=4096, k=4096, dtype="fp16")
    answer = ts.solve(op, device, kernel="triton", space={"group_m": list(range(1, 2000))}, rank="time", top=1)
    assert answer.status == "unknown"
    assert answer.counts.unknown


def test_a_solver_that_cannot_list_for_times_ranks_by_carver_and_says_so():
    space = {"block_m": list(range(16, 513, 16)), "block_n": list(range(16, 513, 16)), "block_k": [32, 64]}
    space |= {"num_stages": list(range(1, 9)), "num_warps": [4, 8]}
    op = ts.Gemm(m=4096, n=4096, k=4096, dtype="fp16")
    answer = ts.solve(op, "h200", kernel="triton", engine="cpsat", space=space, top=3)
    assert (answer.rank, answer.status) == ("carver", "optimal")
    assert any("cpsat cannot list 32768 candidates" in note for note in answer.notes)
    assert ts.solve(op, "h200", kernel="triton", space=space, top=3).rank == "time"
    with pytest.raises(ts.TilesearchError, match="times need the list"):
        ts.solve(op, "h200", kernel="triton", engine="cpsat", space=space, rank="time")
