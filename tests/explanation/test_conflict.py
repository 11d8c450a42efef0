"""Conflicts are minimal, corrections restore satisfiability, and a second solver agrees."""

from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilesearch as ts
from tests.rules.strategies import conditions, domains
from tilesearch.engines.base import Deadline, Request
from tilesearch.engines.registry import engine
from tilesearch.explanation import conflict
from tilesearch.rules.evaluate import evaluate
from tilesearch.rules.expr import TRUE
from tilesearch.rules.model import Model, Rule, Variable

OP = ts.Gemm(m=4096, n=4096, k=4096)


def satisfiable(box, rules):
    names = list(box)
    return any(all(evaluate(r.holds, dict(zip(names, p, strict=True))) for r in rules) for p in product(*box.values()))


@settings(max_examples=80, deadline=None)
@given(domains(), st.lists(conditions(), min_size=1, max_size=5))
def test_core_and_corrections_are_minimal(box, trees):
    rules = [Rule(f"user.{i}", "", tree, TRUE) for i, tree in enumerate(trees)]
    model = Model(tuple(Variable(n, box[n]) for n in box), {}, tuple(rules), {})
    found = conflict.find_conflict(model, rules, Deadline(60), engine("cpsat"))
    assert found.feasible is satisfiable(box, rules)
    if found.feasible:
        return
    assert not satisfiable(box, found.core)
    for left_out in found.core:
        assert satisfiable(box, [r for r in found.core if r is not left_out])
    expected = []
    for size in range(1, len(rules) + 1):
        for dropped in combinations(range(len(rules)), size):
            if not any(set(e) <= set(dropped) for e in expected) and satisfiable(
                box, [r for i, r in enumerate(rules) if i not in dropped]
            ):
                expected.append(dropped)
    got = {tuple(rules.index(r) for r in correction) for correction in found.corrections}
    assert got == set(expected[: conflict.MAX_CORRECTIONS]) or len(expected) > conflict.MAX_CORRECTIONS


@pytest.mark.parametrize("name", ["cpsat", "z3"])
def test_a_solver_confirms_the_core(name):
    answer = ts.explain(OP, "h200", rules=["block_m >= 256", "block_n >= 256", "num_stages >= 4"])
    assert answer.core == ["C2.accumulators", "user.1", "user.2", "space.num_warps"]
    from tilesearch.api.context import make, model_of

    model = model_of(make(OP, "h200", rules=["block_m >= 256", "block_n >= 256", "num_stages >= 4"]))
    opened, rules = conflict.with_domain_rules(model, model.rules)
    core = [r for r in rules if r.id in answer.core]
    assert engine(name).core(Request(opened), core) is not None
    for left_out in core:
        rest = [r for r in core if r is not left_out]
        assert engine(name).core(Request(opened), rest) is None


def test_the_solver_path_gives_the_same_answer(monkeypatch):
    rules = ["block_m >= 256", "block_n >= 256", "block_k >= 64", "num_stages >= 4"]
    by_masks = ts.explain(OP, "h200", rules=rules)
    monkeypatch.setattr(conflict, "MAX_GRID", 0)
    by_solver = ts.explain(OP, "h200", rules=rules)
    assert by_solver.core == by_masks.core
    assert by_solver.corrections == [c for c in by_masks.corrections if len(c) <= 2]


def test_what_fits_needs_no_explanation():
    answer = ts.explain(OP, "h200")
    assert (answer.feasible, answer.core, answer.corrections) == (True, [], [])


def test_nearest_starts_from_what_was_asked():
    answer = ts.explain(OP, "h200", rules=["block_m == 256", "block_n == 256", "block_k == 64", "num_stages == 4"])
    changes = [n.changes for n in answer.nearest]
    assert changes[0] in ({"block_n": [256, 128]}, {"block_m": [256, 128]})
    assert len(changes) == 3
