"""Branch and bound by time: bounds are never above a time, and run to its end it finds what a list finds."""

import sys
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilesearch as ts
from tilesearch.api import branching
from tilesearch.api.context import make, model_of
from tilesearch.api.solve import solve_problem
from tilesearch.api.timing import timing_of
from tilesearch.engines.base import Deadline, Request
from tilesearch.rules.columns import read_rows

KERNELS = [
    {"language": "triton"},
    {"language": "triton", "variant": "tma"},
    {"language": "triton", "variant": "persistent_tma"},
    {"language": "triton", "variant": "split_k"},
    {"language": "triton", "variant": "stream_k"},
    {"language": "tilelang"},
]
SPACE = {
    "block_m": [16, 32, 64, 128, 256],
    "block_n": [16, 32, 64, 128, 256],
    "block_k": [16, 32, 64, 128],
    "num_stages": [1, 2, 3, 4, 5],
    "num_warps": [2, 4, 8],
}
MORE = {"group_m": [1, 2, 4, 8], "split_k": [1, 2, 3, 8]}

extents = st.sampled_from([16, 64, 200, 1000, 1024, 1536, 4096, 5000, 8192])
gemms = st.builds(
    lambda m, n, k, dtype: ts.Gemm(m=m, n=n, k=k, dtype=dtype),
    extents,
    extents,
    extents,
    st.sampled_from(["fp16", "int8"]),
)
attentions = st.builds(
    lambda length, causal: ts.Attention(
        batch=2, heads=8, q_len=length, kv_len=length, head_dim=64, dtype="fp16", causal=causal
    ),
    st.sampled_from([256, 1000, 4096]),
    st.booleans(),
)


@st.composite
def boxes(draw, space):
    """Some values of each variable."""
    return {
        name: sorted(draw(st.lists(st.sampled_from(values), min_size=1, max_size=3, unique=True)))
        for name, values in space.items()
    }


def problem_of(op, kernel, space):
    problem = make(op, "h200", kernel=kernel, space=None)
    names = model_of(problem).names
    problem = make(op, "h200", kernel=kernel, space={name: values for name, values in space.items() if name in names})
    return problem, model_of(problem)


def check_bound(op, kernel, box):
    problem, model = problem_of(op, kernel, box)
    timing = timing_of(problem, model)
    grids = np.meshgrid(*model.domains.values(), indexing="ij")
    columns = {name: grid.ravel() for name, grid in zip(model.names, grids, strict=True)}
    times = timing.of(model, columns).prediction.time_us
    fits = np.ones(len(times), dtype=bool)
    for rule in Request(model).enforced():
        fits &= read_rows(rule.holds, columns, model.domains, len(times)).astype(bool)
    least = branching._Search(Request(model), timing).least(model.domains)
    if least is None:
        assert not fits.any()
    elif fits.any():
        assert least <= times[fits].min()


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(gemms, st.sampled_from(KERNELS), boxes(SPACE | MORE))
def test_no_tile_of_a_box_is_faster_than_its_bound(op, kernel, box):
    check_bound(op, kernel, box)


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(attentions, boxes({name: SPACE[name] for name in ("block_m", "block_n", "num_stages", "num_warps")}))
def test_no_tile_of_attention_is_faster_than_its_bound(op, box):
    check_bound(op, {"language": "triton"}, box)


@contextmanager
def searched(leaf):
    """Every space is searched, with leaves of at most `leaf` candidates."""
    with ExitStack() as stack:
        stack.enter_context(patch.object(branching, "LEAF", leaf))
        stack.enter_context(patch.object(sys.modules["tilesearch.api.solve"], "LISTED", 0))
        yield


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(gemms, st.sampled_from(KERNELS), boxes(SPACE | MORE), st.sampled_from([1, 7, 100]), st.sampled_from([1, 5]))
def test_the_search_finds_what_the_list_finds(op, kernel, box, leaf, top):
    _, model = problem_of(op, kernel, box)
    asked = {"rank": "time", "top": top, "space": {name: list(values) for name, values in model.domains.items()}}
    listed = ts.solve(op, "h200", kernel=kernel, **asked)
    with searched(leaf):
        found = ts.solve(op, "h200", kernel=kernel, **asked)
    assert [c.tile for c in found.candidates] == [c.tile for c in listed.candidates]
    assert found.proved_optimal or found.status == "infeasible" == listed.status
    if listed.candidates:
        assert found.bound_us == pytest.approx(listed.candidates[0].metrics.time_us, abs=1e-6)
        assert found.gap == 0


def test_rules_on_times_hold_in_a_search():
    op, kernel = ts.Gemm(m=4096, n=4096, k=4096, dtype="fp16"), {"language": "triton", "variant": "tma"}
    asked = {"rank": "time", "rules": ["time_us >= 250", "num_stages >= 3"], "top": 3}
    listed = ts.solve(op, "h200", kernel=kernel, **asked)
    with searched(50):
        found = ts.solve(op, "h200", kernel=kernel, **asked)
    assert [c.tile for c in found.candidates] == [c.tile for c in listed.candidates]


POWERS = [16, 32, 64, 128, 256, 512]
LARGE = {
    "block_m": POWERS,
    "block_n": POWERS,
    "block_k": POWERS,
    "num_stages": list(range(1, 13)),
    "num_warps": [1, 2, 4, 8, 16, 32],
    "group_m": list(range(1, 2049)),
    "split_k": list(range(1, 65)),
}
"""The 2.0e9 candidates of docs/time.md."""


def solved_after(listings, **changed):
    """The answer for `LARGE` with a limit that comes after so many listings, and how many there were."""
    kernel = {"language": "triton", "variant": "split_k"}
    asked = {"kernel": kernel, "space": LARGE | changed, "search": {"rank": "time"}}
    problem = make(ts.Gemm(m=4096, n=4096, k=4096, dtype="fp16"), "h200", **asked)
    deadline, made, listed = Deadline(), [], branching._Search.listed

    def counted(search, domains):
        made.append(domains)
        found = listed(search, domains)
        deadline.interrupted = len(made) >= listings
        return found

    with patch.object(branching._Search, "listed", counted):
        return solve_problem(problem, deadline=deadline), len(made)


def check_open(answer):
    """Too many to list: a tile is there, and what the limit left open is said."""
    assert answer.space.cartesian > 2e9
    assert (answer.status, answer.complete, answer.proved_optimal) == ("feasible", False, False)
    assert answer.gap > 0
    assert answer.best.metrics.time_us == pytest.approx(answer.bound_us * (1 + answer.gap), rel=1e-6)
    assert any("branch and bound" in note for note in answer.notes)


def test_two_thousand_million_candidates():
    """The work of two seconds proves the best to a fifth, and none is done after the limit."""
    answer, listings = solved_after(100)
    assert listings == 100
    check_open(answer)
    assert answer.gap < 0.2


def test_one_listing_is_enough_for_a_tile():
    answer, listings = solved_after(1)
    assert listings == 1
    check_open(answer)
    assert answer.gap < 1


def test_a_limit_that_has_passed_leaves_a_tile():
    kernel = {"language": "triton", "variant": "split_k"}
    op = ts.Gemm(m=4096, n=4096, k=4096, dtype="fp16")
    check_open(ts.solve(op, "h200", kernel=kernel, space=LARGE, rank="time", time_limit_s=1e-9))


def test_a_tile_is_there_where_the_grid_holds_none():
    """No power of two among them: the grid's fitting candidates are left out by a rule."""
    _, model = problem_of(ts.Gemm(m=4096, n=4096, k=4096, dtype="fp16"), KERNELS[3], LARGE)
    grid = branching._thinned(model.domains, branching.LEAF)
    assert np.prod([len(values) for values in grid.values()]) <= branching.LEAF
    ruled = [f"{name} != {value}" for name in ("group_m", "split_k") for value in grid[name]]
    problem = make(ts.Gemm(m=4096, n=4096, k=4096, dtype="fp16"), "h200", kernel=KERNELS[3], space=LARGE, rules=ruled)
    request = Request(model_of(problem))
    tiles = branching._Search(request, timing_of(problem, request.model)).some()
    assert len(tiles) == 1


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=50, unique=True), st.integers(1, 60))
def test_thinned_values(values, number):
    found = branching._spread(values, number)
    assert set(found) <= set(values)
    assert 1 <= len(found) <= max(number, 1)
    if number > 1:
        assert {min(values), max(values)} <= set(found)
