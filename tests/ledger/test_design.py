"""design: the seed's worked example, every operator on three devices, the review, the skeletons."""

import ast
import json

import pytest

import tilesearch as ts
from tilesearch.cli.run import run
from tilesearch.specs.data import data_dir

PROBLEMS = sorted(p.stem for p in data_dir("problems").glob("*.toml") if not p.stem.startswith(("too_big", "ascend")))
KEYS = "op device ledger class advice tile pipeline special_paths diagnosis review skeleton"
NO_FP8 = {("block_scaled_fp8", "a100_80gb")}


@pytest.fixture(scope="module")
def example():
    return ts.design(ts.load_problem("qk_norm_rope_quant"), policy="seed")


@pytest.fixture(scope="module")
def gemm():
    return ts.design(ts.load_problem("gemm4096"))


def decided(answer):
    return {p.path: p.decision for p in answer.special_paths}


def test_contract(capsys):
    assert run(["design", "qk_norm_rope_quant", "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert list(answer)[:11] == KEYS.split()
    assert answer["class"] == answer["ledger"]["class"] == "memory"
    assert [item["id"] for item in answer["review"]] == list(range(1, 17))
    assert {item["verdict"] for item in answer["review"]} <= {"pass", "fail", "not applicable"}


@pytest.mark.parametrize(
    ("rows", "grid", "waves", "chip", "lookup", "total", "ratio"),
    [
        (1, 163840, 156, 1924, 251658240, 315228160, 4.65),
        (8, 20480, 20, 8224, 31457280, 95027200, 1.40),
        (40, 4096, 4, 37024, 6291456, 69861376, 1.03),
    ],
)
def test_the_three_designs_of_the_text(example, rows, grid, waves, chip, lookup, total, ratio):
    row = next(r for r in example.tile.candidates if r.rows == rows)
    assert (row.grid, row.waves, row.onchip_bytes) == (grid, waves, chip)
    assert (row.payload_bytes, row.lookup_bytes, row.total_bytes) == (63569920, lookup, total)
    assert row.vs_ideal == pytest.approx(ratio, abs=0.005)


def test_the_chosen_design(example):
    chosen = example.tile.chosen
    assert (chosen.rows, chosen.waves, chosen.blocks_per_sm, chosen.waves_resident) == (40, 4, 6, 6)
    assert chosen.tail_fill == pytest.approx(0.88, rel=5e-3)
    assert example.tile.criterion.verdict == "by re-reads"
    assert not [item for item in example.review if item.verdict == "fail"]
    worth = {item.what: item.worth for item in example.advice.items}
    assert worth == {"bytes": True, "matrix unit": False, "tile": True, "stages": False, "launches": False}
    assert "use" not in decided(example).values()  # no signal, no path


def test_the_diagnosis_of_the_naive_design(example):
    naive = example.diagnosis.naive
    assert naive.excess_bytes == 315228160 - 67764736
    assert naive.lookup_share == pytest.approx(0.798, rel=1e-3)
    assert naive.memory_us == pytest.approx(70.01, rel=1e-3)
    assert naive.dispatch_us == pytest.approx(99.9, rel=1e-3)  # what the H200 measured for as many empty blocks
    assert any("payload is right" in finding for finding in naive.findings)
    assert any("too many blocks" in finding for finding in naive.findings)
    assert "should catch" in example.diagnosis.verify  # and did
    assert any("6 waves instead of 4" in risk for risk in example.diagnosis.risks)


def test_the_largest_bound_is_named(example):
    """The H200 took 103 us for A, which dispatch explains (99.9), not the traffic (70); C is bound by memory."""
    naive, chosen = example.diagnosis.naive, example.diagnosis.chosen
    assert any(f.startswith("the largest bound is block dispatch: block dispatch 99.9 us") for f in naive.findings)
    assert any(f.startswith("the largest bound is DRAM") for f in chosen.findings)


def test_rows_of_eight_and_of_a_token_are_alike(example):
    """B and C differ by 4 % on the H200 where their traffic differs by 36 %: L2 holds the tables for both."""
    problem = ts.load_problem("qk_norm_rope_quant")
    for count in (8, 40):
        space = {"rows_per_block": [count], "tokens_per_block": [1], "num_warps": [4]}
        findings = ts.design(problem, space=space).diagnosis.chosen.findings
        assert any(f.startswith("the largest bound is DRAM: DRAM 14.4 us") for f in findings)


def test_diminishing_return_with_tokens_free():
    sheet = ts.design(ts.load_problem("qk_norm_rope_quant_tokens")).tile
    rows = {row.rows: row for row in sheet.candidates}
    assert rows[80].total_bytes / 1e6 == pytest.approx(68.8, abs=0.05)
    assert (rows[80].saves, rows[80].grid) == (pytest.approx(0.015, abs=1e-3), 2048)
    assert sheet.enough.rows == 40
    assert [row.grid for row in sheet.candidates] == sorted((row.grid for row in sheet.candidates), reverse=True)


def test_the_naive_design_fails_the_review():
    answer = ts.design(ts.load_problem("qk_norm_rope_quant"), space={"rows_per_block": [1]})
    failed = {item.id for item in answer.review if item.verdict == "fail"}
    assert failed == {7, 12}  # tables re-read; blocks that move next to nothing


def test_stages_come_after_the_tile(gemm):
    found = gemm.pipeline
    assert (found.chosen, found.needed, found.covered) == (2, 2, True)
    assert found.changes == {"num_stages": [1, 2]}
    assert found.tile == {**gemm.tile.chosen.tile, "num_stages": 2}
    assert ts.check(ts.load_problem("gemm4096"), tile=found.tile).verdict == "fits"
    assert gemm.tile.criterion.verdict == "large"
    paths = decided(gemm)
    assert (paths["wgmma / tcgen05"], paths["L2 raster (group_m)"]) == ("use", "use")
    assert paths["split-K / split-KV / stream-K"] == "leave"


def test_a_grid_that_leaves_sms_idle():
    answer = ts.design(ts.load_problem("split_skinny_gemm"))
    assert answer.tile.criterion.verdict == "smaller or split"
    assert answer.tile.alternative.tile["split_k"] == 8
    assert decided(answer)["split-K / split-KV / stream-K"] == "use"


def test_special_paths_without_a_signal_fail_the_review():
    answer = ts.design(ts.load_problem("gemm4096"), space={"cluster_m": [2], "cluster_n": [1]})
    item = answer.review[15]
    assert (item.verdict, item.number) == ("fail", 1)
    assert "cluster multicast" in item.text


def test_two_orders_below_the_balance_there_is_nothing_to_tune():
    answer = ts.design(ts.load_problem("attention_decode"))
    assert answer.review[0].verdict == "fail"
    assert answer.review[0].number > 100


def test_a_short_operator_is_latency_bound():
    answer = ts.design(ts.Gemm(m=64, n=64, k=64), "h200")
    assert answer.ledger.latency_bound
    assert answer.tile.criterion.verdict == "neither"
    assert answer.review[7].verdict == "fail"


SPREAD = ts.Einsum(expression="mk,kn,m->mn", extents={"m": 256, "k": 65536, "n": 256}, dtype="fp32")


def test_a_measurement_is_judged():
    def judged(**measured):
        answer = ts.design(ts.load_problem("qk_norm_rope_quant"), policy="seed", **measured)
        return {item.id: item.verdict for item in answer.review if item.id in (5, 9, 14)}, answer

    verdicts, answer = judged()
    assert verdicts == {5: "pass", 9: "not applicable", 14: "not applicable"}
    verdicts, answer = judged(measured_us=16, measured_bytes=68e6)
    assert verdicts == {5: "pass", 9: "pass", 14: "pass"}
    assert answer.ledger.measured_bytes.followed == "either"  # the chosen tile re-reads next to nothing
    verdicts, answer = judged(measured_us=12, measured_bytes=152e6)  # what two kernels would move
    assert verdicts == {5: "fail", 9: "fail", 14: "fail"}
    assert next(m for m in answer.ledger.misreadings if m.id == "M8").holds
    assert judged(measured_us=60)[0][14] == "fail"
    assert "60 us" in next(m.says for m in judged(measured_us=60)[1].advice.models if m.model == "measurement")
    with pytest.raises(ts.InputError, match="microseconds"):
        judged(measured_us=float("nan"))


def test_what_an_index_expression_reads_is_on_chip():
    answer = ts.design(SPREAD, "h200")
    chosen = answer.pipeline.tile
    steps = (chosen["block_m"] * chosen["block_k"] + chosen["block_n"] * chosen["block_k"]) * 4
    kept = chosen["block_m"] * 4
    metrics = ts.check(SPREAD, "h200", tile=chosen).metrics
    assert metrics.shared_bytes == kept + chosen["num_stages"] * steps
    assert "sum_start in tl.range(" in answer.skeleton.triton
    assert "65536)" not in answer.skeleton.triton.replace("sum_start in tl.range(0, 65536", "")
    matrix = next(item for item in answer.advice.items if item.what == "matrix unit")
    assert answer.class_ == "compute"
    assert "%" not in matrix.text


def test_the_pitch_of_a_row_is_that_of_what_is_staged():
    # x is walked one by one: a step stages block_m x block_k of a, in rows of block_k.
    op = ts.Einsum(expression="mkx,kn->mn", extents={"m": 512, "k": 512, "x": 4, "n": 512}, dtype="fp16")
    answer = ts.design(op, "h200")
    path = next(p for p in answer.special_paths if p.path.startswith("swizzled"))
    tile = answer.pipeline.tile
    assert f"a {2 * tile['block_k']} B, b {2 * tile['block_n']} B" in path.signal


def test_a_sum_over_everything_can_be_split():
    dot = ts.Einsum(expression="i,i->", extents={"i": 2**26}, dtype="fp32")
    answer = ts.fuse(dot, "h200")
    assert answer.decision.startswith("split-SUM=")
    assert answer.criterion == "parallelism"
    assert ts.design(dot, "h200", rank="traffic").skeleton.triton


@pytest.mark.parametrize(
    "op",
    [
        ts.Einsum(expression="ab->ba", extents={"a": 8192, "b": 8192}, dtype="fp32"),
        ts.Elementwise(shape=(8192, 8192), arithmetic_per_element=0),
    ],
)
def test_no_arithmetic_at_all(op):
    answer = ts.design(op, "h200")
    assert "no arithmetic" in answer.advice.text
    assert (answer.review[0].id, answer.review[0].verdict) == (1, "pass")
    assert answer.ledger.compute_us == 0


@pytest.mark.parametrize("device", ["h200", "a100_80gb", "rtx4090"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_operator(name, device):
    problem = ts.load_problem(name, device=device)
    if (name, device) in NO_FP8:
        with pytest.raises(ts.InputError, match="does not support fp8"):
            ts.design(problem)
        return
    if ts.solve(problem).status == "infeasible":  # a kernel that this device cannot run (Triton's TMA before 9.0)
        with pytest.raises(ts.TilesearchError, match="no tile fits"):
            ts.design(problem)
        return
    answer = ts.design(problem)
    assert answer.tile.chosen.total_bytes >= answer.ledger.bytes
    assert answer.tile.chosen.tile in [row.tile for row in answer.tile.candidates]
    assert len(answer.review) == 16
    for source in (answer.skeleton.triton, answer.skeleton.tilelang):
        compile(source, name, "exec")
        names = unbound(ast.parse(source))
        assert not names, f"{names} are read and never set\n{source}"


def unbound(tree):
    """Names that a kernel's body reads and nothing sets."""
    known = {"tl", "T", "triton", "tilelang"}
    kernel = next(node for node in tree.body if isinstance(node, ast.FunctionDef))
    known |= {argument.arg for argument in kernel.args.args}
    known |= {n.id for n in ast.walk(kernel) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return {n.id for n in ast.walk(kernel) if isinstance(n, ast.Name)} - known


def test_nothing_to_design(capsys):
    assert run(["design", "too_big_256x256x64"]) == 1
    assert "explain" in capsys.readouterr().err
    with pytest.raises(ts.InputError, match="no rules for amd"):
        ts.design(ts.Gemm(m=64, n=64, k=64), "mi300x")
    with pytest.raises(ts.InputError, match="no roofs"):
        ts.design(ts.Gemm(m=64, n=64, k=64), "cc90")


@pytest.mark.parametrize("style", ["table", "md", "csv", "json"])
def test_every_format(style, capsys):
    assert run(["design", "qk_norm_rope_quant", "--roofs", "seed", "--format", style]) == 0
    out = capsys.readouterr().out
    assert "315.23" in out or "315228160" in out
