"""The three engines agree on Ascend's rules too: the same tiles in the same order."""

import pytest

import tilesearch as ts

SPACE = {"block_m": [16, 64, 200, 256], "block_n": [32, 100, 192, 256], "block_k": [16, 64, 128], "num_stages": [1, 2]}
CASES = [
    ("ascend950", (1000, 96, 1000), "bf16", ["II.cube_covers_mte2"], "traffic"),
    ("ascend950", (256, 7168, 2048), "bf16", ["II.cube_covers_mte1", "II.cube_covers_fixpipe"], "time"),
    ("ascend950", (64, 4096, 256), "int8", [], "mte2_ii - cube_ii"),
    ("ascend910b1", (4096, 64, 7168), "fp16", [], "traffic"),
]


@pytest.mark.parametrize(("device", "extents", "dtype", "require", "rank"), CASES)
def test_engines_agree(device, extents, dtype, require, rank):
    m, n, k = extents
    op = ts.Gemm(m=m, n=n, k=k, dtype=dtype, acc="int32" if dtype == "int8" else "fp32")
    answers = [
        ts.solve(
            op, device, kernel="ascend", space=SPACE, rules={"require": require}, rank=rank, engine=engine, top=500
        )
        for engine in ("vector", "cpsat", "z3")
    ]
    first, *others = [[c.model_dump() for c in answer.candidates] for answer in answers]
    assert first
    assert all(other == first for other in others)
