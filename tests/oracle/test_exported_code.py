"""Exported kernels, compiled for sm_90 without a GPU: they take the shared memory that their tile was judged by."""

import pytest

import tilesearch as ts
from tilesearch.measure.program import inputs_of, load

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton", reason="the triton extra is not installed")


VERSION = ".".join(triton.__version__.split(".")[:2])
GEMM = ts.Gemm(m=4096, n=4096, k=4096, dtype="fp16")
BYTES = ts.Gemm(m=4096, n=4096, k=4096, dtype="int8", acc="int32", out="int32", trans_b=True)
PROMPT = ts.Attention(batch=2, heads=8, kv_heads=2, q_len=2048, head_dim=128, causal=True, dtype="fp16")

WINDOW = ts.Attention(heads=8, q_len=2048, head_dim=128, causal=True, window=512, dtype="fp16")


def tile(m, n, k, warps, stages, **more):
    return {"block_m": m, "block_n": n, "block_k": k, "num_warps": warps, "num_stages": stages, **more}


CASES = [
    (GEMM, "pointer", tile(128, 256, 64, 8, 3)),
    (GEMM, "pointer", tile(64, 64, 64, 4, 4)),
    (GEMM, "tma", tile(128, 256, 64, 8, 4)),
    (GEMM, "tma", tile(128, 128, 128, 4, 1)),
    (GEMM, "tma", tile(64, 32, 32, 4, 2)),
    (BYTES, "tma", tile(128, 128, 128, 8, 3)),
    (GEMM, "persistent_tma", tile(128, 256, 64, 8, 3)),
    (GEMM, "persistent_tma", tile(128, 128, 64, 4, 3)),
    (GEMM, "split_k", tile(128, 128, 64, 8, 3, split_k=4)),
    (GEMM, "stream_k", tile(128, 256, 64, 8, 3)),
    (GEMM, "stream_k", tile(128, 256, 64, 8, 1)),  # the sums of a shared tile take more than the loop
    (GEMM, "stream_k", tile(16, 128, 128, 4, 4)),
    (WINDOW, "pointer", {"block_m": 64, "block_n": 64, "num_warps": 4, "num_stages": 3}),
    (PROMPT, "pointer", {"block_m": 128, "block_n": 64, "num_warps": 8, "num_stages": 3}),
]


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize(("op", "variant", "sizes"), CASES)
def test_bytes_are_those_of_the_verdict(op, variant, sizes, tmp_path):
    kernel = {"language": "triton", "version": VERSION, "variant": variant}
    exported = ts.export(op, "h200", to="triton", kernel=kernel, tile=sizes)
    path = tmp_path / "exported.py"
    path.write_text(exported.code)
    program = load(path, launches=False)
    program(*inputs_of(torch, op, "TensorDescriptor" not in exported.code, "meta").arguments)
    assert program.compiled().shared == ts.check(op, "h200", sizes, kernel=kernel).metrics.shared_bytes
