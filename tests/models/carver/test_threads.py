"""Thread counts, their factors over a tile, warp tiles, steps and vectors."""

from math import gcd, prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilesearch.models.carver import load_device
from tilesearch.models.carver.factors import divisors, prime_factors
from tilesearch.models.carver.parameters import read_parameters
from tilesearch.models.carver.templates import build
from tilesearch.models.carver.tensorize import tensorize
from tilesearch.models.carver.threads import (
    UnplacedFactorError,
    block_sizes,
    output_step,
    spread_threads,
    spread_warps,
    vector_widths,
)

H200 = load_device("h200")
SQUARE = {"M": 4096, "N": 4096, "K": 4096, "out_dtype": "float32", "accum_dtype": "float32"}
PLAIN = build(read_parameters("Matmul", SQUARE)).output
MATRIX = tensorize(read_parameters("Matmul", SQUARE), H200).output


@given(st.integers(1, 5000))
def test_divisors_and_factors(n):
    assert divisors(n) == tuple(d for d in range(1, n + 1) if n % d == 0)
    factors = prime_factors(n)
    assert prod(factors) == n
    assert list(factors) == sorted(factors)
    assert all(len(divisors(f)) == 2 for f in factors)


def test_large_primes_have_two_divisors():
    assert divisors(2**31 - 1) == (1, 2**31 - 1)


def test_four_warps_first():
    assert block_sizes([(128, 128)], [(32,)], H200)[:8] == (128, 64, 256, 32, 512, 16, 8, 4)
    assert block_sizes([(80, 60)], [(32,)], H200)[:4] == (120, 100, 160, 150)


def test_small_tiles_borrow_from_the_reduction():
    assert block_sizes([(8,)], [(64,)], H200) == (128, 64, 256, 32, 512, 16, 8)
    assert block_sizes([(8,)], [()], H200) == (8,)


@given(st.lists(st.tuples(st.integers(1, 64), st.integers(1, 64)), min_size=1, max_size=2), st.integers(1, 256))
def test_every_count_divides_the_work(tiles, rstep):
    counts = block_sizes(tiles, [(rstep,)] * len(tiles), H200)
    work = gcd(*(prod(tile) * rstep for tile in tiles))
    assert all(work % n == 0 and n <= 1024 for n in counts)
    assert len(set(counts)) == len(counts)


@settings(deadline=None)
@given(st.integers(1, 96), st.integers(1, 96), st.sampled_from([1, 2, 6, 16, 60]))
def test_all_threads_are_placed(rows, columns, rstep):
    tile = (rows, columns)
    for n in block_sizes([tile], [(rstep,)], H200):
        counts, reducers = spread_threads(PLAIN, tile, (rstep,), n, H200)
        assert prod(counts) * prod(reducers) == n
        assert all(t % c == 0 for t, c in zip(tile, counts, strict=True))
        assert rstep % reducers[0] == 0


def test_threads_that_fit_nowhere_end_the_call():
    with pytest.raises(UnplacedFactorError):
        spread_threads(PLAIN, (4, 4), (1,), 3, H200)


def test_warp_tiles():
    assert spread_warps(MATRIX, (128, 128), 128, H200) == (64, 64)
    assert spread_warps(MATRIX, (64, 128), 128, H200) == (64, 32)
    # The warp tile need not cover the tile: carver's fault.
    assert spread_warps(MATRIX, (28, 16), 32, H200) == (16, 16)


@pytest.mark.parametrize("threads", [48, 96, 1024])
def test_warps_that_do_not_divide_the_work(threads):
    assert spread_warps(MATRIX, (64, 64), threads, H200) is None


@given(st.integers(1, 8), st.integers(1, 8), st.sampled_from([32, 64, 128, 256]))
def test_warp_tiles_share_the_work(m, n, threads):
    tile = (16 * m, 16 * n)
    warp = spread_warps(MATRIX, tile, threads, H200)
    if warp is not None:
        assert prod(tile) == prod(warp) * threads // 32


def test_a_batch_tile_takes_part_in_the_warps():
    shape = {"batch_size": 8, "head_dim": 64, "seq_length": 64, "seq_kv_length": 128}
    node = tensorize(read_parameters("FlashAttention", shape), H200).nodes[0]
    assert spread_warps(node, (2, 16, 128), 128, H200) == (1, 16, 64)


@pytest.mark.parametrize(
    ("tile", "counts", "bits", "step"),
    [
        ((8, 8), (4, 4), 16, (1, 2)),
        ((8, 3), (4, 3), 16, (2, 1)),
        ((8, 8), (4, 4), 8, (1, 1)),
        ((8, 8), (1, 8), 8, (4, 1)),
        ((8, 8), (4, 4), 32, (1, 1)),
    ],
)
def test_steps_of_narrow_outputs(tile, counts, bits, step):
    assert output_step(tile, counts, bits) == step


def test_vector_widths():
    assert vector_widths(PLAIN, (64, 128), (64,), 128) == {"A": 8, "B": 8}
    assert vector_widths(PLAIN, (64, 128), (12,), 128) == {"A": 2, "B": 4}
    assert vector_widths(PLAIN, (3, 5), (64,), 128) == {}
    narrow = tensorize(read_parameters("Matmul", {**SQUARE, "trans_A": True, "trans_B": False}), H200).output
    assert vector_widths(narrow, (20, 36), (256,), 32) == {"A_reindex": 4, "B_reindex": 4}
