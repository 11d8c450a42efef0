"""roofline: the contract's JSON, the seed's numbers, the device's roofs, sweeps and measurements."""

import csv
import io
import json
from pathlib import Path

import pytest

import tilesearch as ts
from tilesearch.cli.run import run
from tilesearch.ledger.measured import judge_bytes

PROBLEMS = sorted(p.stem for p in (Path(__file__).parents[2] / "problems").glob("*.toml"))
QK = "qk_norm_rope_quant"
CONTRACT = ("flops", "bytes", "intensity", "terms", "roofs", "roof")
TIMES = ("memory_us", "compute_us", "sol_us", "class", "misreadings")


def misreading(answer, number):
    return next(m for m in answer.misreadings if m.id == f"M{number}")


def qk(**changes):
    return ts.roofline(ts.load_problem(QK), **{"policy": "seed", **changes})


def test_contract(capsys):
    assert run(["roofline", QK, "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert list(answer)[:11] == [*CONTRACT, *TIMES]
    assert set(answer["terms"][0]) == {"name", "flops", "bytes", "unit"}
    assert list(answer["roofs"][0])[:5] == ["name", "peak_flops", "balance", "class", "compute_us"]
    assert [m["id"] for m in answer["misreadings"]] == [f"M{n}" for n in range(1, 9)]
    assert all(set(m) == {"id", "holds", "factor", "text"} for m in answer["misreadings"])
    assert sum(t["flops"] for t in answer["terms"]) == answer["flops"]
    assert sum(t["bytes"] for t in answer["terms"]) == answer["bytes"] == 67764736


def test_the_seed_s_operator():
    answer = qk()
    assert (answer.flops, answer.bytes, answer.payload_bytes, answer.lookup_bytes) == (
        210206720,
        67764736,
        63569920,
        4194816,
    )
    assert (answer.class_, answer.roof, answer.latency_bound) == ("memory", "cuda_core.fp32", False)
    assert answer.sol_us == pytest.approx(15.051, rel=1e-4)
    assert answer.balance == pytest.approx(12.72, rel=1e-3)
    factors = {m.id: m.factor for m in answer.misreadings}
    assert factors["M2"] == pytest.approx(12.73, rel=1e-3)
    assert factors["M4"] == pytest.approx(151.65 / 67.76, rel=1e-3)  # all heads' intermediate, not the q heads' alone
    assert factors["M6"] == pytest.approx(4.65, rel=1e-3)
    assert "79.8 %" in misreading(answer, 6).text


def test_one_token_has_no_traction():
    answer = ts.roofline(
        ts.Rows(tokens=1, heads=(32, 8), head_dim=128, steps=("rmsnorm", "rope"), dtype="bf16"), "h200"
    )
    assert answer.latency_bound
    assert misreading(answer, 7).holds
    assert misreading(answer, 7).factor > 500
    assert any("no traction" in note for note in answer.notes)
    assert answer.class_ == "memory"  # by the balance, as on each roof


def test_the_class_depends_on_the_declared_roof():
    op = {"m": 128, "n": 128, "k": 128, "dtype": "fp16"}
    assert ts.roofline(ts.Gemm(**op), "h200", policy="seed").class_ == "memory"
    assert ts.roofline(ts.Gemm(**op, roof="cuda_core.fp32"), "h200", policy="seed").class_ == "compute"


def test_the_policy_chooses_the_calibration():
    op = ts.Gemm(m=4096, n=4096, k=4096)
    peaks = {p: ts.roofline(op, "h200", policy=p).policy.roof for p in ("seed", "ceiling", "predict", "datasheet")}
    assert {p: r.calibration for p, r in peaks.items()} == {
        "seed": "burst",
        "ceiling": "burst-D",
        "predict": "sustained-C",
        "datasheet": "datasheet",
    }
    assert peaks["seed"].value == pytest.approx(729.26e12, rel=1e-4)
    assert peaks["seed"].edition == "B"
    m1 = misreading(ts.roofline(op, "h200", policy="seed"), 1)
    assert (m1.holds, m1.factor) == (True, pytest.approx(1.36, rel=5e-3))


def test_the_accumulator_chooses_the_roof():
    half = ts.roofline(ts.Gemm(m=4096, n=4096, k=4096, acc="fp16"), "rtx4090")
    full = ts.roofline(ts.Gemm(m=4096, n=4096, k=4096), "rtx4090")
    assert (half.roof, full.roof) == ("tensor_core.fp16@fp16", "tensor_core.fp16")
    assert full.compute_us == pytest.approx(2 * half.compute_us, rel=1e-3)


@pytest.mark.parametrize("device", ["h200", "a100_80gb", "rtx4090"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_operator(name, device):
    problem = ts.load_problem(name, device=device)
    if device == "a100_80gb" and name == "block_scaled_fp8":
        with pytest.raises(ts.InputError, match="does not support fp8"):
            ts.roofline(problem)
        return
    answer = ts.roofline(problem)
    assert answer.sol_us == max(answer.memory_us, answer.compute_us) > 0
    assert answer.class_ == ("compute" if answer.compute_us >= answer.memory_us else "memory")
    assert [r.name for r in answer.roofs] == list(problem.device.roofs)
    assert all(m.factor is None or m.factor > 0 for m in answer.misreadings)


@pytest.mark.parametrize(
    ("op", "device", "words"),
    [
        (lambda: ts.Gemm(m=64, n=64, k=64, dtype="fp8_e4m3"), "a100_80gb", "does not support fp8"),
        (lambda: ts.Gemm(m=64, n=64, k=64, dtype="fp4"), "h200", "does not support fp4"),
        (lambda: ts.Gemm(m=64, n=64, k=64, dtype="int4"), "h200", "no roof 'tensor_core.int4'"),
        (lambda: ts.Gemm(m=64, n=64, k=64), "cc90", "no roofs"),
        (lambda: ts.BlockScaledGemm(m=64, n=64, k=64, dtype="mxfp8"), "h200", "applies block scales"),
    ],
)
def test_what_has_no_roof_is_an_error(op, device, words):
    with pytest.raises(ts.InputError, match=words):
        ts.roofline(op(), device)


def test_an_unknown_rate_is_unknown_not_zero():
    sfu = next(r for r in ts.roofline(ts.Elementwise(shape=(4096,)), "h200").roofs if r.name == "sfu.fp32")
    assert (sfu.class_, sfu.peak_flops, sfu.balance, sfu.compute_us) == ("unknown", None, None, None)
    assert "unknown" in sfu.note
    floor = ts.roofline(ts.Elementwise(shape=(4096,)), "a100_80gb")
    assert (floor.latency_bound, floor.launch_floor_us) == (None, None)


def test_sweep_finds_the_size_at_which_the_class_turns():
    answer = ts.roofline(ts.Gemm(m=64, n=64, k=64), "h200", policy="seed", sweep="m=n=k=64..8192")
    flip = next(f for f in answer.sweep.flips if f.what == "class")
    # Intensity of a square fp16 GEMM is M / 3: the balance of 161.97 is first passed at 486.
    assert (flip.size, flip.before, flip.after) == (486, "memory", "compute")
    assert [row.size for row in answer.sweep.rows] == [64 * 2**i for i in range(8)]
    assert {f.what for f in answer.sweep.flips} == {"class", "launch floor"}


def test_sweep_over_parts_of_the_operator():
    op = ts.Elementwise(shape=(128, 4096))
    assert [r.bytes for r in ts.roofline(op, "h200", sweep="shape.0=1,2").sweep.rows] == [16384, 32768]
    op = ts.Attention(heads=32, q_len=4096, head_dim=128)  # kv_len follows q_len, since nobody set it
    rows = ts.roofline(op, "h200", sweep={"q_len": [1024, 2048]}).sweep.rows
    assert rows[1].flops == pytest.approx(4 * rows[0].flops, rel=1e-3)


@pytest.mark.parametrize(
    "question",
    [
        {"measured_us": "long"},
        {"measured_us": float("nan")},
        {"measured_bytes": -1},
        {"measured_bytes": "many"},
        {"measured_us": 1e-320},
        {"measured_us": 10**400},
        {"measured_bytes": float("nan")},
        {"measured_bytes": float("inf")},
        {"measured_bytes": 10**400},
        {"measured_bytes": 1.5},
        {"tile": {"block_m": 100_000_000}, "analyzer": True},
        {"sweep": {"m": [10**5000]}},
        {"tile": {"block_m": 64}},
        {"tile": {"rows_per_block": 4}, "analyzer": True},
        {"policy": "hopeful"},
        {"sweep": 3},
        {"sweep": {}},
    ],
)
def test_bad_questions(question):
    with pytest.raises(ts.InputError):
        ts.roofline(ts.Gemm(m=64, n=64, k=64), "h200", **question)


@pytest.mark.parametrize(
    "sweep",
    [
        "m",
        "m=",
        "m=x",
        "m=8..2",
        "q=1,2",
        "m.0=4",
        "m=0",
        "=4",
        "m=99999999999",
        "kind=1,2",
        "roof=1",
        "m=m=1..4",
        f"m={'9' * 5000}",
        f"m=1..{'9' * 5000}",
    ],
)
def test_bad_sweeps(sweep):
    with pytest.raises(ts.InputError):
        ts.roofline(ts.Gemm(m=64, n=64, k=64), "h200", sweep=sweep)


def test_faults_name_what_was_asked(capsys):
    for option, value in (("--measured-bytes", "nan"), ("--measured-us", "1e-320"), ("--sweep", "kind=1,2")):
        assert run(["roofline", QK, option, value]) == 2
        assert f"error: {option}: " in capsys.readouterr().err
    assert run(["roofline", QK, "--measured-bytes", "1.5"]) == 2
    assert "whole number of bytes" in capsys.readouterr().err


def test_a_fault_of_the_policy_is_named_by_its_key():
    device = ts.load_device("h200")
    with pytest.raises(ts.InputError) as caught:
        device.effective_roof("tensor_core.fp16", "hopeful")
    assert [issue.where for issue in caught.value.issues] == ["model.roofs"]


def test_csv_holds_what_was_asked(capsys):
    asked = ["--sweep", "tokens=1..64", "--measured-us", "30", "--measured-bytes", "68e6", "--analyzer"]
    assert run(["roofline", QK, "--roofs", "seed", "--format", "csv", *asked]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    parts = {part: [row for row in rows if row["part"] == part] for part in {row["part"] for row in rows}}
    assert [row["name"] for row in parts["sweep"]] == [f"tokens={2**i}" for i in range(7)]
    assert float(parts["measured time"][0]["compute_us"]) == 30
    assert parts["measured bytes"][0]["bytes"] == "68000000"
    assert parts["analyzer"]


def test_bands_of_efficiency():
    bands = [(time, qk(measured_us=time).measured) for time in (100, 18, 15, 12)]
    assert [m.band for _, m in bands] == ["below", "at the top", "above the bound", "anomaly"]
    assert all(m.efficiency == pytest.approx(qk().sol_us / time) for time, m in bands)
    anomaly = bands[-1][1]
    assert anomaly.suspect == "write out"
    assert "beyond the datasheet" in anomaly.text
    assert misreading(qk(measured_us=12), 8).holds
    with pytest.raises(ts.InputError):
        qk(measured_us=0)


def test_an_overcounted_operand_is_suspected():
    # A mask that the ledger was not told of: half the flops, so twice the speed that the bound allows.
    op = ts.Attention(heads=32, q_len=8192, head_dim=128, dtype="bf16")
    bound = ts.roofline(op, "h200")
    suspect = ts.roofline(op, "h200", measured_us=bound.sol_us / 1.6).measured.suspect
    assert suspect in {"q k^T", "p v"}


def test_which_bound_reality_followed():
    # The H200 measured 46 + 10 to 12 MB for design A, whose blocks read and write 315 MB (seed 6.4's second branch).
    assert qk(measured_bytes=68_000_000).measured_bytes.followed == "compulsory"
    assert qk(measured_bytes=57_000_000).measured_bytes.followed == "below"
    assert qk(measured_bytes=310_000_000).measured_bytes.followed == "tile"
    assert qk(measured_bytes=190_000_000).measured_bytes.followed == "between"
    assert qk(measured_bytes=68_000_000, tile="rows_per_block=40").measured_bytes.tile_bytes == 69861376
    assert judge_bytes(100, 100, 102).followed == "either"
    assert judge_bytes(200, 100, 150).followed == "above"


def test_the_analyzer_s_sums():
    op = ts.Gemm(m=4096, n=4096, k=4096, dtype="fp16")
    tile = {"block_m": 128, "block_n": 256}
    found = ts.roofline(op, "h200", tile=tile, analyzer=True).analyzer
    assert found.gemm_flops == found.ledger_flops == 2 * 4096**3
    assert found.global_bytes == ts.check(op, "h200", {**tile, "block_k": 64}).metrics.traffic_bytes
    assert found.not_counted == []
    parts = {**tile, "split_k": 8}
    found = ts.roofline(op, "h200", tile=parts, analyzer=True).analyzer
    assert found.global_bytes == ts.check(op, "h200", {**parts, "block_k": 64}).metrics.traffic_bytes
    fused = ts.roofline(ts.Attention(heads=8, q_len=512, head_dim=64), "h200", analyzer=True).analyzer
    assert "softmax exponential" in fused.not_counted
    assert fused.gemm_flops < fused.ledger_flops
    with pytest.raises(ts.InputError, match="no roofs"):
        ts.roofline(op, "cc90", analyzer=True)


@pytest.mark.parametrize("style", ["table", "md", "csv", "json"])
def test_every_format(style, capsys):
    arguments = ["--roofs", "seed", "--measured-us", "30", "--measured-bytes", "68e6", "--sweep", "tokens=1..64"]
    assert run(["roofline", QK, "--format", style, "--analyzer", *arguments]) == 0
    assert "write scale" in capsys.readouterr().out
