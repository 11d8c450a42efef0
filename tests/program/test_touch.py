"""Counting what blocks touch, at sizes where blocks are grouped by congruence."""

from __future__ import annotations

import pytest

from tests.program import walks
from tests.program.interpreter import count
from tilesearch.program import lower
from tilesearch.program.touch import total
from tilesearch.rules.evaluate import evaluate
from tilesearch.rules.geometry import Geometry
from tilesearch.specs.ops import Attention, BlockScaledGemm, Conv2d

CONVOLUTIONS = [
    Conv2d(n=3, h=30, w=23, c_in=1, c_out=1, kh=3, kw=3, pad=1),
    Conv2d(n=2, h=31, w=40, c_in=1, c_out=1, kh=5, kw=3, pad=(2, 0), stride=2),
    Conv2d(n=2, h=24, w=36, c_in=1, c_out=1, kh=1, kw=1, stride=3),
    Conv2d(n=1, h=40, w=40, c_in=1, c_out=1, kh=3, kw=3, dilation=(4, 2), stride=(1, 5), pad=3),
]


@pytest.mark.parametrize("op", CONVOLUTIONS, ids=str)
@pytest.mark.parametrize("tile", [16, 24, 37, 64, 300])
def test_windows_of_many_blocks(op, tile):
    values = {"block_m": tile, "block_n": 1, "block_k": 1, "split_k": 1}
    geometry = Geometry(lower(op), frozenset(values))
    reads = count(walks.conv2d(op, values)).reads["a"]
    assert evaluate(geometry.reads(lower(op).tensor("a")), values) == 2 * reads


def test_a_large_convolution_is_counted_at_once():
    op = Conv2d(n=512, h=4096, w=4096, c_in=64, c_out=64, kh=3, kw=3, pad=1)
    part = next(p for p in lower(op).components(lower(op).tensor("a")) if len(p.axes) == 3)
    assert total(part, 4096) == 512 * (4096 * 3 - 2) * 4096  # a row of pixels reads three rows, two at the edges


def test_a_long_mask_is_counted_at_once():
    op = Attention(heads=1, q_len=2**30, head_dim=1, causal=True)
    part = next(p for p in lower(op).components(lower(op).tensor("k")) if p.band is not None)
    blocks = 2**30 // 128
    assert total(part, 128) == 128 * blocks * (blocks + 1) // 2


@pytest.mark.parametrize(("tile", "divisor"), [(1, 4), (3, 4), (4, 4), (6, 4), (8, 4), (9, 6), (10, 1), (16, 128)])
def test_entries_of_a_tile_are_the_most_that_any_tile_meets(tile, divisor):
    op = BlockScaledGemm(m=96, n=1, k=1, scale_block_a=(divisor, 1), scale_block_b=(1, 1))
    geometry = Geometry(lower(op), frozenset({"block_m"}))
    met = max(len({m // divisor for m in range(start, start + tile)}) for start in range(0, 96 * tile, tile))
    assert evaluate(geometry.region(lower(op).tensor("scale_a")), {"block_m": tile}) == met
