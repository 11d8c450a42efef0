"""The vector engine against brute force: the set, the counts, the stops."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rules.strategies import VARIABLES, conditions, domains, integers
from tilesearch.engines import product as product_module
from tilesearch.engines.base import Deadline, Request, Status
from tilesearch.engines.vector import VectorEngine
from tilesearch.errors import UnsupportedError
from tilesearch.rules.evaluate import evaluate
from tilesearch.rules.expr import TRUE, Var, const
from tilesearch.rules.model import Model, Rule, Variable


def make_model(box, rules, soft=()):
    made = [Rule(f"r{i}", "", tree, TRUE, hard=i not in soft) for i, tree in enumerate(rules)]
    return Model(tuple(Variable(n, box[n]) for n in sorted(box)), {}, tuple(made), {})


def brute(model, rules):
    points = product(*(v.domain for v in model.variables))
    return {p for p in points if all(evaluate(r.holds, dict(zip(model.names, p, strict=True))) for r in rules)}


@settings(max_examples=120, deadline=None)
@given(domains(), st.lists(conditions(), min_size=1, max_size=4), st.sets(st.integers(0, 3)), st.booleans())
def test_set_and_counts(box, rules, soft, allow_soft):
    model = make_model(box, rules, soft)
    request = Request(model, allow_soft=allow_soft)
    outcome = VectorEngine().enumerate(request)
    assert set(map(tuple, outcome.tiles.tolist())) == brute(model, request.enforced())
    hard_only, all_rules = len(brute(model, model.hard)), len(brute(model, model.rules))
    assert (outcome.feasible, outcome.soft, outcome.unknown) == (all_rules, hard_only - all_rules, 0)
    remaining = len(brute(model, ()))
    for i, rule in enumerate(model.hard):
        after = len(brute(model, model.hard[: i + 1]))
        assert outcome.rejected[rule.id] == remaining - after
        remaining = after


@settings(max_examples=60, deadline=None)
@given(domains(), conditions(), integers(), st.integers(1, 8))
def test_best_keeps_everything_up_to_the_kth_key(box, rule, key, k):
    model = make_model(box, [rule])
    outcome = VectorEngine().best(Request(model), key, k)
    tiles = brute(model, model.rules)
    keys = sorted(evaluate(key, dict(zip(VARIABLES, t, strict=True))) for t in tiles)
    bound = keys[min(k, len(keys)) - 1] if keys else None
    expected = {t for t in tiles if evaluate(key, dict(zip(VARIABLES, t, strict=True))) <= bound} if keys else set()
    assert set(map(tuple, outcome.tiles.tolist())) == expected


def test_a_rule_with_an_unknown_limit_counts_apart():
    known = Rule("a", "", Var("x"), const(3))
    unknown = Rule("b", "", Var("x"), None, unknown="not said", when=Var("x") >= 2)
    model = Model((Variable("x", (1, 2, 3, 4)),), {}, (known, unknown), {})
    outcome = VectorEngine().enumerate(Request(model))
    assert outcome.tiles.tolist() == [[1]]
    assert (outcome.unknown, outcome.rejected) == (2, {"a": 1})


def test_a_time_limit_gives_what_is_in_hand():
    model = make_model({"x": tuple(range(100)), "y": tuple(range(100))}, [Var("x") <= Var("y")])
    deadline = Deadline(1000)
    deadline.interrupted = True
    outcome = VectorEngine().enumerate(Request(model, deadline=deadline))
    assert outcome.status is Status.FEASIBLE
    assert not outcome.listed
    assert all(x <= y for x, y in outcome.tiles.tolist())


def test_too_many_tiles_are_refused_not_truncated(monkeypatch):
    monkeypatch.setattr(product_module, "MAX_ROWS", 50)
    model = make_model({"x": tuple(range(10)), "y": tuple(range(10))}, [])
    with pytest.raises(UnsupportedError, match="100 tiles"):
        VectorEngine().enumerate(Request(model))
