"""Every language's model, read by the three engines: the same tiles."""

import pytest

import tilesearch as ts

GEMM = ts.Gemm(m=1000, n=1024, k=520, dtype="fp16")
SPACE = {
    "block_m": [16, 64, 96, 128], "block_n": [32, 104, 256], "block_k": [16, 64],
    "num_stages": [1, 2, 4], "num_warps": [3, 4, 8],
}  # fmt: skip
CASES = [
    ("h200", {"language": "triton", "variant": "tma"}, GEMM, SPACE),
    ("h200", {"language": "triton"}, GEMM, SPACE),
    ("rtx4090", {"language": "triton", "variant": "persistent"}, GEMM, SPACE),
    ("b200", {"language": "triton"}, GEMM, SPACE),
    ("h200", {"language": "tilelang"}, GEMM, SPACE),
    ("h100_sxm", {"language": "cutlass"}, GEMM, SPACE),
    ("h200", {"language": "triton"}, ts.Attention(heads=4, q_len=512, head_dim=80, causal=True),
     {"block_m": [16, 64, 128], "block_n": [32, 128], "num_stages": [1, 3], "num_warps": [4, 8]}),
    ("h200", {"language": "triton"}, ts.Reduction(shape=[512, 5000], function="rmsnorm"), {"block_m": [1, 4, 16]}),
    ("h200", {"language": "triton"}, ts.Gemv(n=4096, k=4096, batch=3), {"block_n": [1, 16], "block_k": [256, 1024]}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[1]['language']}-{c[0]}-{c[2].kind}")
def test_the_same_tiles(case):
    device, kernel, op, space = case
    listed = {}
    for engine in ("vector", "cpsat", "z3"):
        answer = ts.solve(op, device, kernel=kernel, space=space, engine=engine, top=1000, allow_soft=True)
        listed[engine] = [(c.tile.as_dict(), c.verdict) for c in answer.candidates]
    assert listed["vector"]
    assert listed["cpsat"] == listed["vector"]
    assert listed["z3"] == listed["vector"]
