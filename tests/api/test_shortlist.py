"""The short list that is measured: rank order, or a list that covers what the model cannot tell apart."""

import numpy as np
import pytest

import tilesearch as ts
from tilesearch.api.context import make
from tilesearch.api.shortlist import Guess, by_time, diverse, drawn_times, likeness, shortlist

GEMM = ts.Gemm(m=2048, n=1536, k=1024, dtype="fp16")


def problem(**search):
    return make(GEMM, "h200", kernel={"language": "triton", "version": "3.6"}, search={"rank": "time", **search})


def guess(times, low=0.9, high=1.1, **tiles):
    times = np.array(times, dtype=float)
    columns = {name: np.array(values, dtype=np.int64) for name, values in tiles.items()}
    return Guess(times, times * low, times * high, columns)


def test_the_plain_list_is_what_solve_lists():
    listed = shortlist(problem(), 7)
    assert [c.tile for c in listed] == [c.tile for c in ts.solve(problem(top=7)).candidates]


def test_a_diverse_list_is_in_rank_order_and_repeatable():
    listed = shortlist(problem(), 6, spread=True)
    assert len({str(c.tile) for c in listed}) == 6
    assert [c.rank for c in listed] == sorted(c.rank for c in listed)
    assert listed == shortlist(problem(), 6, spread=True)
    assert listed[0].rank == 1


def test_a_diverse_list_skips_a_neighbour_for_a_stranger():
    near = guess([100, 100.5, 101], block_m=[128, 128, 64], block_n=[256, 256, 64], num_stages=[3, 4, 5])
    assert diverse(near, 2)[0] == 0
    assert diverse(near, 2)[1] == 2


def test_a_hopeless_stranger_is_not_taken():
    far = guess([100, 100.5, 300], block_m=[128, 128, 16], block_n=[256, 256, 16], num_stages=[3, 4, 5])
    assert diverse(far, 2) == [0, 1]


def test_all_of_a_short_space():
    assert sorted(diverse(guess([3, 2, 1], block_m=[16, 32, 64]), 10)) == [0, 1, 2]
    assert diverse(guess([], block_m=[]), 3) == []


def test_a_longer_list_never_promises_less():
    few = guess(np.linspace(100, 130, 20), block_m=[16, 32, 64, 128] * 5, block_n=[32, 64, 128, 256, 512] * 4)
    chosen, times = diverse(few, 8), drawn_times(few, 1024)
    gains = [np.min(times[chosen[:k]], axis=0).mean() for k in range(1, 9)]
    assert gains == sorted(gains, reverse=True)
    assert diverse(few, 3) == chosen[:3]


def test_likeness():
    pair = guess([1, 1, 1], block_m=[64, 64, 128], num_warps=[4, 4, 8])
    found = likeness(pair)
    assert found[0, 1] == 1
    assert found[0, 2] == pytest.approx(np.exp(-0.46))
    assert np.allclose(found, found.T)


def test_drawn_times_keep_to_the_interval():
    times = drawn_times(guess([50.0, 80.0], block_m=[16, 256]), 4000) * 50
    held = ((times >= [[45.0], [72.0]]) & (times <= [[55.0], [88.0]])).mean(axis=1)
    assert np.all(np.abs(held - 0.8) < 0.03)


def test_a_diverse_list_needs_times():
    with pytest.raises(ts.InputError, match="predicted times"):
        shortlist(problem(rank="carver"), 5, spread=True)


def test_by_time():
    assert by_time(problem(rank="carver")).search.rank == "time"
    generic = make(GEMM, "h200", search={"rank": "carver"})
    assert by_time(generic) is generic
