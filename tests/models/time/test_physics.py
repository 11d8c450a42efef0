"""The time model: what must hold whatever the constants are."""

from dataclasses import fields

import numpy as np
import pytest

import tilesearch as ts
from tilesearch.api.context import make, model_of
from tilesearch.api.timing import timing_of
from tilesearch.models.time import CLASSES, Constants, constants_of
from tilesearch.models.time.block import norm
from tilesearch.models.time.coverage import own_classes
from tilesearch.rules.columns import value_columns
from tilesearch.specs.devices import load_device

TILE = {
    "block_m": 128,
    "block_n": 256,
    "block_k": 64,
    "num_stages": 3,
    "num_warps": 8,
    "split_k": 1,
    "group_m": 8,
}


def times(op, kernel, *tiles):
    problem = make(op, "h200", kernel=kernel)
    model = model_of(problem)
    found = timing_of(problem, model).of(model, value_columns(model.names, tiles))
    return found.prediction.time_us


def gemm(m=4096, n=4096, k=4096, variant="tma", **changes):
    return float(
        times(ts.Gemm(m=m, n=n, k=k, dtype="fp16"), {"language": "triton", "variant": variant}, TILE | changes)[0]
    )


def test_the_known_winner_is_predicted_within_a_tenth():
    assert gemm() == pytest.approx(186.4, rel=0.1)  # measured: 186.4 us


def test_time_grows_with_each_extent():
    assert gemm(m=8192) > gemm()
    assert gemm(n=8192) > gemm()
    assert gemm(k=8192) > gemm()


def test_a_wave_is_a_step():
    """132 blocks against 133 on 132 SMs: measured 59.8 and 103.1 us."""
    assert gemm(m=133 * 128, n=256) > 1.4 * gemm(m=132 * 128, n=256)


def test_one_stage_is_slower_and_spills_are_much_slower():
    assert gemm(num_stages=1) > 1.3 * gemm()
    assert gemm(num_warps=4) > 3 * gemm()  # 256 accumulators a thread


def test_loads_without_hints_are_slow():
    assert gemm(n=4095, k=4095, variant="pointer") > 3 * gemm(variant="pointer")


def test_rows_outside_the_tensor_cost_the_tma():
    """64 rows in tiles of 256: measured 230 us against 72 in tiles of 64."""
    narrow = {"block_n": 32, "num_stages": 4, "num_warps": 4}
    assert gemm(m=64, k=14336, block_m=256, **narrow) > 2 * gemm(m=64, k=14336, block_m=64, **narrow)


def test_split_k_helps_where_the_grid_is_small():
    skinny = {"m": 64, "n": 4096, "k": 14336, "variant": "pointer", "block_m": 64, "block_n": 128, "num_warps": 4}
    assert gemm(**skinny, split_k=4) < gemm(**skinny)


def test_stream_k_has_no_waves():
    """133 tiles take little more than 132, which no share's end cuts; where tiles are whole it is a plain kernel."""
    wide = {"n": 256, "variant": "stream_k"}
    assert gemm(m=133 * 128, **wide) < 1.3 * gemm(m=132 * 128, **wide)
    assert gemm(m=133 * 128, **wide) < 0.8 * gemm(m=133 * 128, n=256, variant="pointer")
    assert gemm(m=132 * 128, **wide) == pytest.approx(gemm(m=132 * 128, n=256, variant="pointer"), rel=0.25)


def test_stream_k_helps_where_the_grid_is_small():
    skinny = {"m": 64, "n": 4096, "k": 14336, "block_m": 64, "block_n": 128, "num_warps": 4}
    assert gemm(**skinny, variant="stream_k") < gemm(**skinny, variant="pointer")


def test_elements_are_bound_by_memory_or_by_their_blocks():
    op, kernel = ts.Elementwise(shape=(2**28,), dtype="bf16", inputs=1), {"language": "triton"}
    wide, narrow = times(op, kernel, {"block_m": 2048, "num_warps": 4}, {"block_m": 128, "num_warps": 4})
    moved = 2 * 2**28 * 2 / 4.7e12 * 1e6
    assert moved < wide < 1.5 * moved
    assert narrow > 2**28 / 128 * 0.61e-3  # block dispatch


def test_a_convolution_walks_its_filter():
    tile = {"block_m": 128, "block_n": 64, "block_k": 64, "num_stages": 3, "num_warps": 4, "split_k": 1, "group_m": 8}
    image = {"n": 32, "c_in": 256, "h": 56, "w": 56, "c_out": 256, "dtype": "fp16"}
    one, nine = (times(ts.Conv2d(**image, kh=f, kw=f, pad=f // 2), {"language": "triton"}, tile)[0] for f in (1, 3))
    assert 5 < nine / one < 9.5


def test_groups_read_a_matrix_each():
    answers = [
        ts.solve(ts.GroupedGemm(groups=sizes, n=4096, k=4096, dtype="fp16"), "h200", kernel="triton", top=1)
        for sizes in ((64,) * 16, (1024,))
    ]
    many, one = (a.candidates[0].metrics for a in answers)
    assert many.dram_bytes > 16 * 4096 * 4096 * 2 > one.dram_bytes
    assert many.time_us > 16 * 4096 * 4096 * 2 / 4.7e12 * 1e6


def test_a_window_shortens_the_longest_block():
    tile = {"block_m": 128, "block_n": 64, "num_stages": 3, "num_warps": 8, "split_k": 1}
    heads = {"batch": 1, "heads": 32, "q_len": 16384, "head_dim": 128, "dtype": "fp16", "causal": True}
    kernel = {"language": "triton"}
    whole, window = (times(ts.Attention(**heads, window=w), kernel, tile)[0] for w in (None, 1024))
    assert 4 < whole / window < 16  # 8 times the keys and more


def test_columns_agree_with_single_tiles():
    tiles = [TILE | {"block_m": m, "num_stages": s} for m in (16, 64, 128) for s in (1, 3)]
    op, kernel = ts.Gemm(m=1000, n=1000, k=1000, dtype="fp16"), {"language": "triton"}
    together = times(op, kernel, *tiles)
    alone = [times(op, kernel, tile)[0] for tile in tiles]
    assert together == pytest.approx(alone, rel=1e-12)


def test_norm_is_between_the_largest_and_the_sum():
    a, b = np.array([3.0, 1.0]), np.array([4.0, 0.0])
    assert np.all(norm(4, a, b) >= np.maximum(a, b))
    assert np.all(norm(4, a, b) <= a + b)


def test_constants_are_few_and_said_to_be_what_they_are():
    table = load_device("h200").time
    names = [f.name for f in fields(Constants) if f.name in table]
    assert len(names) == len(fields(Constants)) - 3  # sms, clock and strength are no entries of [time]
    assert all(table[name].kind in ("measured", "fitted", "pinned") and table[name].source for name in names)
    traffic = ("l2_reach", "l2_sharpness", "drift_alone", "drift_shared")
    assert all(table[n].spread is not None for n in names if table[n].kind == "fitted" and n not in traffic)
    assert set(load_device("h200").time_errors) == {*CLASSES, *own_classes()}


@pytest.mark.parametrize("name", ["a100_80gb", "rtx4090", "h100_sxm"])
def test_a_device_without_measurements_is_marked_so(name):
    assert constants_of(load_device(name)).strength == "datasheet only"
    answer = ts.solve(ts.Gemm(m=2048, n=2048, k=2048, dtype="fp16"), name, kernel="triton", rank="time")
    first = answer.candidates[0].metrics
    assert first.time_low_us == pytest.approx(0.6 * first.time_us)
    assert any("datasheet" in note for note in answer.notes)


@pytest.mark.parametrize("name", ["mi300x", "cc90", "ascend950"])
def test_where_there_is_no_model_there_is_a_reason(name):
    assert "no time model" in constants_of(load_device(name))


def test_a_batch_moves_the_bytes_of_all_its_planes():
    tile = {"block_m": 128, "block_n": 128, "block_k": 64, "num_stages": 3, "num_warps": 4}
    one, four = (
        ts.check(ts.Gemm(batch=b, m=1024, n=1024, k=512, dtype="fp16"), "h200", tile, kernel="triton").metrics
        for b in (1, 4)
    )
    assert (four.dram_bytes, four.l2_bytes) == (4 * one.dram_bytes, 4 * one.l2_bytes)
    assert four.dram_bytes == 4 * 2 * 1024 * 512 * 2


@pytest.mark.parametrize("name", ["a100_80gb", "rtx4090"])
def test_mma_reaches_the_roof_where_there_is_nothing_wider(name):
    op = ts.Gemm(m=4096, n=4096, k=4096, dtype="fp16")
    best = ts.solve(op, name, kernel="triton", rank="time", top=1).best.metrics.time_us
    bound = 2 * 4096**3 / load_device(name).roofs["tensor_core.fp16"].theoretical.value * 1e6
    assert bound < best < 1.6 * bound


@pytest.mark.parametrize(("name", "lanes"), [("h200", 128), ("a100_80gb", 64), ("rtx4090", 128), ("b200", 128)])
def test_lanes_follow_from_the_device(name, lanes):
    assert constants_of(load_device(name)).fp32_lanes == lanes
