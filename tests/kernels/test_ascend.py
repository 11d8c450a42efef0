"""The ascend language: capacities, alignments, periods in closed form, ranking by cycles."""

import random
import re
from pathlib import Path

import pytest

import tilesearch as ts
from tilesearch.api.schedule import schedule
from tilesearch.errors import InputError, UnknownLimitError
from tilesearch.rules.ascend.relations import square_edge
from tilesearch.specs.devices import load_device
from tilesearch.specs.dtypes import dtype

PROBLEM = ts.load_problem("problems/ascend_gemm_relu.toml")
OFFICIAL = {"block_m": 256, "block_n": 224, "block_k": 128, "num_stages": 2}
PLAIN = ts.Gemm(m=512, n=2048, k=1024, dtype="fp16")


def check(tile, op=PROBLEM, **more):
    extra = {} if op is PROBLEM else {"device": "ascend950", "kernel": "ascend"}
    return ts.check(op, tile=tile, **extra, **more)


def rule(answer, name):
    return next(r for r in answer.rules if r.id == name)


def test_the_official_tile():
    answer = check(OFFICIAL)
    m = answer.metrics
    assert answer.verdict == "fits"
    assert (m.l1_bytes, m.l0a_bytes, m.l0b_bytes, m.l0c_bytes, m.ub_bytes) == (245760, 65536, 57344, 229376, 114688)
    assert (m.ii, m.stages_needed, m.grid, m.waves) == (1800, 2, 32, 2)
    assert m.cycles == 33909 + 30220
    assert rule(answer, "C1.ub").limit == 221184
    assert rule(check(OFFICIAL, kernel={"language": "ascend", "variant": "simd"}), "C1.ub").limit == 253952


@pytest.mark.parametrize(
    ("changes", "broken", "bytes_wanted"),
    [
        ({"num_stages": 5}, "C1.l1", (614400, 524288)),
        ({"block_k": 256}, "C1.l0a", (131072, 65536)),
        ({"block_m": 512, "block_n": 256, "block_k": 64}, "C1.l0c", (524288, 262144)),
        ({"block_m": 512, "block_n": 256, "block_k": 64}, "C1.ub", (262144, 221184)),
        ({"block_n": 200}, "C3.align_l1", (400, 32)),
        ({"block_n": 200}, "C3.fractal", None),
        ({"num_stages": 9, "block_k": 16}, "C4.event_ids", (9, 8)),
    ],
)
def test_what_does_not_fit_is_named_with_its_bytes(changes, broken, bytes_wanted):
    answer = check({**OFFICIAL, **changes})
    assert broken in answer.violations
    if bytes_wanted:
        assert (rule(answer, broken).value, rule(answer, broken).limit) == bytes_wanted
        assert str(bytes_wanted[0]) in rule(answer, broken).detail
    assert answer.nearest


def test_the_nearest_fix_of_a_misaligned_tile():
    fixes = [n.changes for n in check({**OFFICIAL, "block_n": 200}).nearest]
    assert fixes[:2] == [{"block_n": [200, 208]}, {"block_n": [200, 192]}]


def test_bias_and_requantisation_have_buffers_of_their_own():
    bias = ts.Gemm(m=4096, n=4096, k=4096, dtype="bf16", bias=True)
    wide = {"block_m": 16, "block_n": 1024, "block_k": 16, "num_stages": 1}
    assert rule(check(wide, bias), "C1.bt").ok
    too_wide = check({**wide, "block_n": 1040}, bias)
    assert "C1.bt" in too_wide.violations
    older = ts.check(bias, "ascend910b1", {**wide, "block_n": 272}, kernel="ascend")
    assert rule(older, "C1.bt").limit == 1024
    assert "C1.bt" in older.violations
    quantised = ts.Gemm(m=4096, n=4096, k=4096, dtype="int8", out="int8")
    assert rule(check({**wide, "block_k": 32}, quantised), "C1.fixpipe").value == 8192


def test_solve_proves_the_cube_bound_tiles():
    answer = ts.solve(PROBLEM, top=5000)
    assert answer.complete
    assert answer.counts.rejected["II.cube_covers_mte2"] > 0
    assert all(c.metrics.l0c_bytes <= 262144 for c in answer.candidates)
    tiles = [c.tile.as_dict() for c in answer.candidates]
    assert OFFICIAL in tiles
    keys = [c.metrics.cycles for c in answer.candidates]
    assert keys == sorted(keys)
    one_round = next(c for c in answer.candidates if c.tile.as_dict() == {**OFFICIAL, "block_n": 256})
    official = next(c for c in answer.candidates if c.tile.as_dict() == OFFICIAL)
    assert (one_round.metrics.waves, official.metrics.waves) == (1, 2)
    assert one_round.metrics.cycles < official.metrics.cycles
    assert any("no tile takes less than 38929 cycles" in note for note in answer.notes)


def test_engines_agree():
    space = {"block_m": [64, 128, 160, 256], "block_n": [96, 200, 224], "block_k": [32, 128], "num_stages": [1, 2, 4]}
    lists = [
        [(c.tile, c.metrics.cycles) for c in ts.solve(PROBLEM, space=space, engine=engine, top=100).candidates]
        for engine in ("vector", "cpsat", "z3")
    ]
    assert lists[0] == lists[1] == lists[2] != []


def test_square_edges():
    device, fp16 = load_device("ascend950"), dtype("fp16")
    assert square_edge(device, fp16, exact=True) == 164
    assert [square_edge(device, fp16, k=k, step=16) for k in (16, 32, 64, 128, 256)] == [192, 176, 176, 176, 176]


@pytest.mark.parametrize(("edge", "holds"), [(160, False), (176, True)])
def test_the_cube_covers_mte2_from_the_edge_on(edge, holds):
    tile = {"block_m": edge, "block_n": edge, "block_k": 64}
    required = {
        "require": ["II.cube_covers_mte2", "II.cube_covers_mte1", "II.cube_covers_fixpipe", "II.cube_covers_vector"]
    }
    answer = check(tile, rules=required)
    assert ("II.cube_covers_mte2" in answer.violations) is not holds
    assert rule(answer, "II.cube_covers_mte1").ok
    loop_only = {"require": required["require"][:2]}
    exact = check({"block_m": 164, "block_n": 164, "block_k": 64}, rules=loop_only, model={"latency": "seed"})
    assert rule(exact, "II.cube_covers_mte2").ok


def test_optional_rules_are_known_by_name():
    with pytest.raises(InputError, match=r"did you mean 'II\.cube_covers_mte2'"):
        check(OFFICIAL, rules={"require": ["II.cube_covers_mte"]})
    with pytest.raises(InputError, match="unknown variant"):
        check(OFFICIAL, kernel={"language": "ascend", "variant": "smt"})


@pytest.mark.parametrize("mode", ["intended", "shipped"])
@pytest.mark.parametrize(
    "op",
    [
        PLAIN,
        ts.Gemm(m=256, n=7168, k=2048, dtype="bf16", out="fp32", activation="relu"),
        ts.Gemm(m=512, n=2048, k=1024, dtype="fp8", out="bf16", activation="gelu"),
    ],
    ids=["plain", "relu", "gelu"],
)
def test_closed_forms_are_what_the_scheduler_proves(op, mode):
    rng = random.Random(11)
    seen = 0
    while seen < 8:
        tile = {
            "block_m": rng.randrange(16, 513, 16),
            "block_n": rng.randrange(32, 513, 32),
            "block_k": rng.choice([32, 64, 128, 256]),
            "num_stages": rng.randint(1, 4),
        }
        answer = check(tile, op, model={"latency": mode})
        if not answer.feasible:
            continue
        seen += 1
        found = schedule(op, "ascend950", tile, model={"latency": mode})
        assert found.status == "optimal"
        assert found.ii == answer.metrics.ii
        bound = int(next(n for n in answer.notes if "main memory" in n).split()[-2])
        assert answer.metrics.cycles == max(found.tiles.cycles, bound)
        needed = answer.metrics.stages_needed
        if needed <= 4:
            more = check({**tile, "num_stages": needed}, op, model={"latency": mode}).metrics.ii
            assert more == check({**tile, "num_stages": needed + 1}, op, model={"latency": mode}).metrics.ii


def test_modes():
    by_mode = {mode: check(OFFICIAL, model={"latency": mode}).metrics for mode in ("seed", "shipped", "intended")}
    assert {mode: m.stages_needed for mode, m in by_mode.items()} == {"seed": 3, "shipped": 2, "intended": 2}
    assert {m.ii for m in by_mode.values()} == {1800}


def test_what_is_not_known_of_the_910b():
    answer = ts.check(PLAIN, "ascend910b1", OFFICIAL, kernel="ascend")
    assert "C1.l0c" in answer.violations
    assert answer.metrics.ii is None
    assert any("gm_l1 is not known" in note for note in answer.notes)
    assert ts.solve(PLAIN, "ascend910b1", kernel="ascend", rank="traffic").best.metrics.l0c_bytes <= 131072
    with pytest.raises(
        InputError, match="cannot rank by time: ascend910b1: the latency of the path gm_l1 is not known"
    ):
        ts.solve(PLAIN, "ascend910b1", kernel="ascend", rank="time")
    with pytest.raises(UnknownLimitError, match=r"II\.cube_covers_mte2 cannot be judged: ascend910b1: the latency"):
        ts.solve(PROBLEM.replace(device=load_device("ascend910b1")))
    relu = ts.Gemm(m=256, n=7168, k=2048, dtype="bf16", activation="relu")
    notes = ts.check(relu, "ascend910b1", OFFICIAL, kernel="ascend").notes
    assert any("no path from L0C to UB" in note and "traffic_bytes leaves out" in note for note in notes)
    assert not any("no path" in note for note in answer.notes)
    with pytest.raises(UnknownLimitError, match="ascend910b1"):
        schedule(PLAIN, "ascend910b1", {**OFFICIAL, "block_m": 128})
    with pytest.raises(InputError, match="h200 is nvidia"):
        ts.check(PLAIN, "h200", OFFICIAL, kernel="ascend")
    with pytest.raises(InputError, match="no rules for ascend devices"):
        ts.check(PLAIN, "ascend950", OFFICIAL)


@pytest.mark.parametrize(
    ("problem", "tile"),
    [
        ("qk_norm_rope_quant", "tokens_per_block=8,rows_per_block=8"),
        ("rmsnorm", "block_m=4"),
        ("softmax", "block_m=4"),
        ("elementwise", "block_m=8192"),
        ("attention_prefill", "block_m=128,block_n=128"),
        ("attention_decode", "block_m=16,block_n=128"),
        ("gemm_batched", "block_m=128,block_n=256,block_k=64"),
        ("grouped_gemm_moe", "block_m=128,block_n=256,block_k=64"),
        ("block_scaled_fp8", "block_m=128,block_n=256,block_k=64"),
    ],
)
def test_other_operators(problem, tile):
    loaded = ts.load_problem(problem, {"kernel.language": "ascend", "space": {}}, "ascend950")
    answer = ts.check(loaded, tile=tile)
    assert answer.verdict == "fits", answer.violations
    found = schedule(loaded, tile=tile)
    assert found.status == "optimal"
    assert found.violations == []
    assert answer.metrics.ii <= found.ii
    assert ts.solve(loaded, rank="time").candidates


def test_operators_that_are_not_lowered_say_so():
    conv = ts.load_problem("conv2d", {"kernel.language": "ascend", "space": {}}, "ascend950")
    with pytest.raises(InputError, match="does not lower conv2d yet"):
        ts.solve(conv, rank="traffic")
    with pytest.raises(InputError, match="operands of one type"):
        ts.check(ts.Gemm(m=64, n=64, k=64, a="fp16", b="bf16"), "ascend950", OFFICIAL, kernel="ascend")


@pytest.mark.parametrize(
    ("mode", "times"),
    [
        ("seed", {"cube_ii": 1792, "mte1_ii": 256, "mte2_ii": 1229, "fixpipe_tile": 0}),
        ("shipped", {"cube_ii": 1792, "mte1_ii": 0, "mte2_ii": 1230, "fixpipe_tile": 898, "vector_tile": 563}),
        ("intended", {"mte1_ii": 486, "cube_tile": 16 * 1792, "fixpipe_ii": 0, "mte3_tile": 1995}),
    ],
)
def test_rules_of_the_user_may_name_what_holds_a_pipe(mode, times):
    answer = check(OFFICIAL, rules=[f"{name} == {value}" for name, value in times.items()], model={"latency": mode})
    assert answer.verdict == "fits", answer.violations


def device_file(tmp_path, *changes):
    """The 950 as one file, with lines changed."""
    folder = Path("hardware")
    shared, product = (folder.joinpath(f"{name}.toml").read_text() for name in ("dav3510", "ascend950"))
    keys = ("name", "vendor", "inherits", "aliases", "limits_only")
    kept = [line for line in product.splitlines() if line.partition(" ")[0] not in keys]
    where = kept.index("[clocks]")
    top, tables = shared.split("# Copies.", 1)
    head = [line for line in top.splitlines() if line.partition(" ")[0] not in ("limits_only", "aliases")]
    text = "\n".join([*head, *kept[:where], "#" + tables, *kept[where:]]).replace('"dav3510"', '"mine"')
    for old, new in changes:
        text, count = re.subn(old, new, text, flags=re.MULTILINE)
        assert count, old
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("key", "rule_id"), [("l1_bytes", "C1.l1"), ("l0c_bytes", "C1.l0c"), ("l1_alignment", "C3.align_l1")]
)
def test_a_schedule_says_which_limit_is_not_known(tmp_path, key, rule_id):
    path = device_file(tmp_path, (f"^{key} = .*$", f'{key} = "unknown"'))
    answer = schedule(PROBLEM, str(path), OFFICIAL)
    assert answer.notes == [f"{rule_id} is not judged: mine: {key} is not known"]


def test_how_many_vector_cores_share_a_tile_is_read_from_the_device(tmp_path):
    path = device_file(
        tmp_path, ("^vector_per_cube = .*$", "vector_per_cube = 4"), ("^vector_cores = .*$", "vector_cores = 112")
    )
    assert check(OFFICIAL, device=str(path)).metrics.ub_bytes == 64 * 224 * 4


@pytest.mark.parametrize(
    "bands",
    [
        "[]",
        "[{ from_bytes = 1, bandwidth = 9 }]",
        "[{ from_bytes = 0, bandwidth = 9 }, { from_bytes = 0, bandwidth = 8 }]",
    ],
)
def test_bands_that_leave_a_row_without_a_rate_are_refused(tmp_path, bands):
    path = device_file(tmp_path, (r"^bands = \[\{ from_bytes = 0, per_byte = \[2, 1\] \}\]$", f"bands = {bands}"))
    with pytest.raises(InputError, match=r"paths\.l0c_ub_dual\.strided\.bands: bands begin at 0 bytes and rise"):
        load_device(str(path))


def test_block_scales_go_to_l0_with_their_operands():
    mx = ts.BlockScaledGemm(m=4096, n=4096, k=4096, dtype="mxfp8")
    tile = {"block_m": 128, "block_n": 256, "block_k": 128, "num_stages": 2}
    operands = (3 + 128 * 128 // 256) + (3 + 256 * 128 // 256)
    scales = (1 + 128 * 4 // 32) + (1 + 256 * 4 // 32)
    for mode, held in (("shipped", 0), ("intended", operands + scales)):
        rules = {"extra": [f"mte1_ii == {held}"], "require": ["II.cube_covers_mte1"]}
        answer = check(tile, mx, rules=rules, model={"latency": mode})
        assert answer.verdict == "fits", answer.violations
        assert rule(answer, "II.cube_covers_mte1").limit == operands + scales


def test_cycles_with_a_bias_or_an_added_matrix_are_called_an_estimate():
    tile = {"block_m": 128, "block_n": 128, "block_k": 64, "num_stages": 2}
    for extra, said in (({}, False), ({"activation": "relu"}, False), ({"bias": True}, True), ({"c_in": True}, True)):
        op = ts.Gemm(m=512, n=2048, k=1024, dtype="fp16", **extra)
        answer = check(tile, op)
        assert any("cycles are an estimate" in note for note in answer.notes) == said
        assert schedule(op, "ascend950", tile).ii == answer.metrics.ii


@pytest.mark.parametrize("mode", ["intended", "shipped"])
@pytest.mark.parametrize(
    ("block_m", "block_n", "block_k", "stages"),
    [(240, 64, 128, 1), (80, 352, 64, 3), (16, 192, 32, 4), (144, 64, 64, 1)],
)
def test_the_period_of_tiles_with_a_bias_is_what_the_scheduler_proves(mode, block_m, block_n, block_k, stages):
    tile = {"block_m": block_m, "block_n": block_n, "block_k": block_k, "num_stages": stages}
    few, many = (ts.Gemm(m=m, n=7168, k=2048, dtype="bf16", bias=True) for m in (8192, 65536))
    short, long = (check(tile, op, model={"latency": mode}).metrics for op in (few, many))
    found = schedule(few, "ascend950", tile, model={"latency": mode})
    assert found.tiles.status == "optimal"
    assert long.cycles - short.cycles == found.tiles.ii * (long.waves - short.waves)
