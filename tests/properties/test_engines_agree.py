"""Three engines, one answer: the same tiles, the same order, each re-checked by plain scalar evaluation.

TILESEARCH_EXAMPLES sets how many random problems are tried (default: a few hundred in all).
"""

import os
from importlib import import_module
from itertools import product
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilesearch as ts
from tests.properties.problems import questions
from tilesearch.api.context import make, model_of
from tilesearch.explanation.judge import verdict_of

SOLVE = import_module("tilesearch.api.solve")
EXAMPLES = int(os.environ.get("TILESEARCH_EXAMPLES", "150"))
RELAXED = {"deadline": None, "suppress_health_check": list(HealthCheck)}


def listed(answer):
    return [(c.tile.as_dict(), c.tied, c.verdict, c.binding, c.metrics) for c in answer.candidates]


@settings(max_examples=2 * EXAMPLES, **RELAXED)
@given(questions(), st.sampled_from(["carver", "traffic"]))
def test_vector_is_brute_force(question, rank):
    device, op, space, extra = question
    answer = ts.solve(op, device, space=space, rules=extra, rank=rank, top=1000)
    model = model_of(make(op, device, space=space, rules=extra))
    points = [dict(zip(model.names, p, strict=True)) for p in product(*model.domains.values())]
    fitting = [tile for tile in points if verdict_of(model, tile) == "fits"]
    got = [c.tile.as_dict() for c in answer.candidates]
    assert sorted(map(str, got)) == sorted(map(str, fitting))
    counts = answer.counts
    assert counts.candidates == len(points)
    assert counts.feasible + counts.soft + counts.unknown + sum(counts.rejected.values()) == counts.candidates
    keys = [getattr(c.metrics, "priority" if rank == "carver" else "traffic_bytes") for c in answer.candidates]
    assert keys == sorted(keys)
    assert [c.tied for c in answer.candidates] == [keys.count(k) for k in keys]


@pytest.mark.parametrize("engine", ["cpsat", "z3"])
@settings(max_examples=EXAMPLES, **RELAXED)
@given(question=questions(), rank=st.sampled_from(["carver", "traffic"]))
def test_solvers_list_what_vector_lists(engine, question, rank):
    device, op, space, extra = question
    given_ = {"space": space, "rules": extra, "rank": rank, "top": 1000}
    expected = ts.solve(op, device, **given_)
    got = ts.solve(op, device, engine=engine, **given_)
    assert listed(got) == listed(expected)
    assert (got.status, got.counts.feasible) == (expected.status, expected.counts.feasible)


@pytest.mark.parametrize("engine", ["cpsat", "z3"])
@settings(max_examples=EXAMPLES // 2, **RELAXED)
@given(question=questions(), top=st.integers(1, 5))
def test_the_best_k_are_proved(engine, question, top):
    """With listing switched off the solver engines prove the first k, in the same order."""
    device, op, space, extra = question
    expected = ts.solve(op, device, space=space, rules=extra, top=top)
    with patch.dict(SOLVE.LIST_LIMIT, {"cpsat": 0, "z3": 0}):
        got = ts.solve(op, device, space=space, rules=extra, top=top, engine=engine)
    assert [c.tile for c in got.candidates] == [c.tile for c in expected.candidates]
    assert got.proved_optimal is expected.proved_optimal
