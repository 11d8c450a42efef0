"""Every shipped problem on three devices: solve, then check the tile that came first."""

from __future__ import annotations

import pytest

import tilesearch as ts
from tilesearch.specs.data import data_dir
from tilesearch.specs.ops import OP_KINDS

DEVICES = ["h200", "a100_80gb", "rtx4090"]
PROBLEMS = sorted(path.stem for path in data_dir("problems").glob("*.toml"))
NEVER_FITS = {"too_big_256x256x64"}
NEEDS_FP8 = {"block_scaled_fp8"}


def generic_problems():
    problems = [(name, ts.load_problem(f"problems/{name}.toml")) for name in PROBLEMS]
    return [name for name, p in problems if p.kernel.language == "generic" and p.device.vendor == "nvidia"]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", generic_problems())
def test_solve_and_check(name, device):
    problem = ts.load_problem(f"problems/{name}.toml", device=device)
    if name in NEEDS_FP8 and device == "a100_80gb":
        with pytest.raises(ts.InputError, match=r"op\.dtype: a100_80gb .* has no matrix instruction for fp8_e4m3"):
            ts.solve(problem)
        return
    answer = ts.solve(problem)
    counts = answer.counts
    assert counts.candidates == counts.feasible + counts.soft + counts.unknown + sum(counts.rejected.values())
    if name in NEVER_FITS:
        assert not answer.candidates
        return
    verdict = ts.check(problem, tile=answer.best.tile.as_dict())
    assert verdict.verdict == "fits"
    assert verdict.metrics == answer.best.metrics
    assert answer.best.metrics.grid >= 1
    assert answer.best.metrics.traffic_bytes > 0


def test_every_kind_has_a_problem():
    assert {ts.load_problem(f"problems/{name}.toml").op.kind for name in PROBLEMS} >= set(OP_KINDS) - {"space"}


def test_every_problem_says_its_rank():
    for name in PROBLEMS:
        assert "\nrank = " in data_dir("problems").joinpath(f"{name}.toml").read_text(), name


@pytest.mark.parametrize(
    "name", ["attention_prefill", "attention_decode_paged", "einsum_rope", "qk_norm_rope_quant_tokens"]
)
@pytest.mark.parametrize("engine", ["cpsat", "z3"])
def test_engines_agree_on_counts_without_a_closed_form(name, engine):
    problem = ts.load_problem(f"problems/{name}.toml")
    first, second = (ts.solve(problem, engine=e, top=50) for e in ("vector", engine))
    assert [c.tile for c in first.candidates] == [c.tile for c in second.candidates]
    assert [c.metrics for c in first.candidates] == [c.metrics for c in second.candidates]


def test_nothing_fits_is_explained():
    answer = ts.explain(ts.load_problem("problems/attention_prefill.toml"), rules=["block_m >= 256", "block_n >= 256"])
    assert not answer.feasible
    assert answer.core


@pytest.mark.parametrize(
    ("op", "device", "message"),
    [
        (ts.Attention(heads=8, q_len=64, head_dim=64, dtype="fp8_e4m3"), "a100_80gb", "no matrix instruction for fp8"),
        (
            ts.BlockScaledGemm(m=64, n=64, k=64, dtype="mxfp8"),
            "h200",
            "no matrix instruction that applies block scales",
        ),
        (ts.BlockScaledGemm(m=64, n=64, k=64, dtype="nvfp4"), "h200", "no matrix instruction for fp4"),
        (ts.Gemm(m=64, n=64, k=64, roof="npu.fp16"), "h200", "h200 has no unit 'npu'"),
        (ts.Elementwise(shape=[64], roof="sfu.fp32"), "a100_80gb", "a100_80gb has no unit 'sfu'"),
    ],
)
def test_what_a_device_lacks_is_an_error(op, device, message):
    with pytest.raises(ts.InputError, match=message):
        ts.solve(op, device)
