"""What measurements stand behind, operator by operator: everything else says that it is not validated."""

import pytest

import tilesearch as ts
from tilesearch.models.time.coverage import covered
from tilesearch.specs.devices import load_device

GEMM = {"m": 1024, "n": 1024, "k": 1024}
HEADS = {"heads": 8, "q_len": 1024, "head_dim": 128, "dtype": "fp16"}
ROWS = {"shape": (4096, 4096), "dtype": "bf16"}
FUSED = {"tokens": 64, "heads": (8,), "head_dim": 128, "dtype": "bf16"}

MEASURED = [
    (ts.Gemm(**GEMM, dtype="fp16"), None),
    (ts.Gemm(**GEMM, dtype="bf16"), "tma"),
    (ts.Gemm(**GEMM, dtype="fp16", trans_b=True), "persistent"),
    (ts.Gemm(**GEMM, dtype="fp16", out="fp32"), "split_k"),
    (ts.Gemm(**GEMM, dtype="fp8_e4m3", out="fp16"), "tma"),
    (ts.Gemm(**GEMM, dtype="int8", acc="int32", out="int32"), "tma"),
    (ts.Attention(**HEADS), "tma"),
    (ts.Attention(**HEADS, causal=True), "tma"),
    (ts.Attention(batch=4, heads=32, kv_heads=8, q_len=1, kv_len=4096, head_dim=128, dtype="fp16"), None),
    (ts.Reduction(**ROWS, function="rmsnorm"), None),
    (ts.Reduction(**ROWS, function="softmax"), None),
    (ts.Gemv(n=4096, k=4096, batch=4, dtype="fp16"), None),
    (ts.Rows(**FUSED, steps=("rmsnorm", "rope", "quant")), None),
    (ts.Gemm(**GEMM, dtype="fp16"), "stream_k"),
    (ts.Gemm(**GEMM, dtype="fp16", batch=4), None),
    (ts.Gemm(**GEMM, dtype="fp16", bias=True), None),
    (ts.Gemm(**GEMM, dtype="fp16", activation="gelu"), None),
    (ts.Attention(**HEADS), "pointer"),
    (ts.Attention(batch=4, heads=32, kv_heads=8, q_len=1, kv_len=4096, head_dim=128, page_size=16, dtype="fp16"), None),
    (ts.Reduction(**ROWS, function="layernorm"), None),
    (ts.Elementwise(shape=(4096,), dtype="fp16"), None),
    (ts.Conv2d(n=8, c_in=64, h=56, w=56, c_out=64, kh=3, kw=3, dtype="fp16"), None),
    (ts.GroupedGemm(groups=(512, 512), n=1024, k=1024, dtype="fp16"), None),
]

UNMEASURED = [
    (ts.Gemm(**GEMM, dtype="fp16"), "persistent_pointer"),
    (ts.Gemm(**GEMM, dtype="fp32"), None),
    (ts.Gemm(**GEMM, dtype="fp16", batch=4, bias=True), None),
    (ts.Conv2d(n=8, c_in=64, h=56, w=56, c_out=64, kh=3, kw=3, dilation=2, dtype="fp16"), None),
    (ts.Elementwise(shape=(4096,), dtype="fp32"), None),
    (ts.Gemm(**GEMM, dtype="int8", acc="int32", out="int32"), "pointer"),
    (ts.Attention(**HEADS, causal=True, window=256), "tma"),
    (ts.Attention(**HEADS | {"head_dim": 256}), "tma"),
    (ts.Attention(**HEADS, page_size=16), "tma"),
    (ts.Attention(heads=8, q_len=16, kv_len=64, latent_dim=512, rope_dim=64, head_dim=128, dtype="bf16"), None),
    (ts.Reduction(**ROWS, function="sum"), None),
    (ts.Reduction(**ROWS, function="argmax"), None),
    (ts.Reduction(shape=(4096, 4096), dtype="fp32", function="softmax"), None),
    (ts.Gemv(n=4096, k=4096, batch=32, dtype="fp16"), None),
    (ts.Rows(**FUSED, steps=("rmsnorm",)), None),
]


@pytest.mark.parametrize(("op", "variant"), MEASURED)
def test_measured(op, variant):
    assert covered(op, "triton", variant)


@pytest.mark.parametrize(("op", "variant"), UNMEASURED)
def test_not_measured(op, variant):
    assert not covered(op, "triton", variant)


def test_other_languages():
    assert covered(ts.Gemm(**GEMM, dtype="fp16"), "tilelang", None)
    assert not covered(ts.Attention(**HEADS), "tilelang", None)
    assert not covered(ts.Gemm(**GEMM, dtype="fp16"), "generic", None)


@pytest.mark.parametrize("name", ["block_scaled_fp8"])
def test_the_answer_says_so(name):
    answer = ts.solve(ts.load_problem(name).op, "h200", kernel="triton", top=1)
    assert answer.rank == "time"
    assert any("not validated" in note for note in answer.notes)


def test_a_kind_to_which_nothing_was_fitted_has_an_interval_of_its_own():
    errors = load_device("h200").time_errors["stream-K"]
    kernel = {"language": "triton", "version": "3.6", "variant": "stream_k"}
    best = ts.solve(ts.Gemm(**GEMM, dtype="fp16"), "h200", kernel=kernel, top=1).best.metrics
    assert best.time_low_us == pytest.approx(best.time_us * errors.low_80)
    assert best.time_high_us == pytest.approx(best.time_us * errors.high_80)
