"""The shared plan: tables, ranges, linear forms, divisions, narrowing, diagrams, keys."""

import subprocess
import sys
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines.solver_cases import (
    ARITHMETIC,
    INTEGERS,
    TRUTHS,
    Domains,
    brute,
    domains,
    endless,
    gemm_100_million,
    grid,
    model_of,
)
from tilesearch.engines.diagram import build
from tilesearch.engines.keys import Key
from tilesearch.engines.lowering import Grid, Limits, Plan, points, tabulate
from tilesearch.engines.narrowing import components, narrow, pose
from tilesearch.rules.evaluate import evaluate
from tilesearch.rules.expr import (
    FALSE,
    TRUE,
    Const,
    Expr,
    Named,
    Table,
    Var,
    all_of,
    any_of,
    ceildiv,
    member,
    select,
    walk,
)

A, B, C = Var("a"), Var("b"), Var("c")
HUGE = 2**31


def value_at(table: Grid, values: Domains, tile: dict[str, int]) -> int:
    return int(table.values[tuple(values[name].index(tile[name]) for name in table.names)])


@settings(max_examples=60, deadline=None)
@given(values=domains(), tree=st.one_of(INTEGERS, TRUTHS))
def test_a_table_holds_what_evaluate_says(values: Domains, tree: Expr) -> None:
    table = tabulate(tree, values)
    assert set(table.names) <= tree.variables
    for tile in grid(model_of(values)):
        assert value_at(table, values, tile) == evaluate(tree, tile)


@settings(max_examples=60, deadline=None)
@given(values=domains(), tree=INTEGERS)
def test_linear_forms_and_ranges(values: Domains, tree: Expr) -> None:
    for limits in (Limits(), ARITHMETIC):
        plan = Plan(values, limits)
        linear = plan.linear(tree)
        low, high = plan.range(tree)
        for tile in grid(model_of(values)):
            value = evaluate(tree, tile)
            assert low <= value <= high
            assert sum(w * evaluate(atom, tile) for w, atom in linear.terms) + linear.constant == value


@settings(max_examples=30, deadline=None)
@given(values=domains(), a=INTEGERS, b=INTEGERS)
def test_divisions_are_rewritten_to_positive_divisors(values: Domains, a: Expr, b: Expr) -> None:
    plan = Plan(values, ARITHMETIC)
    for op in ("floordiv", "ceildiv", "mod"):
        node = Expr(op, (a, b))
        plain = plan.division(node)
        added = set(walk(plain)) - set(walk(node)) | {plain}
        divisors = [n.args[1] for n in added if n.op in ("floordiv", "ceildiv", "mod")]
        for tile in grid(model_of(values)):
            if evaluate(b, tile) != 0:
                assert evaluate(plain, tile) == evaluate(node, tile)
            assert all(evaluate(divisor, tile) > 0 for divisor in divisors if divisor is not b)


def test_sums_of_variables_stay_sums_and_other_small_nodes_become_tables() -> None:
    plan = Plan({"a": (1, 2, 5), "b": (0, 3), "c": tuple(range(500))}, Limits(function=10))
    assert {atom: w for w, atom in plan.linear(3 * A - 2 * B + C + 7).terms} == {A: 3, B: -2, C: 1}
    small, large = A * B * 4, B * C
    linear = plan.linear(small + 5 * large + C + C - 1)
    assert {atom: w for w, atom in linear.terms} == {small: 1, large: 5, C: 2}
    assert linear.constant == -1
    assert plan.grid(A * C) is None
    assert plan.grid(Table("t", abs, C)) is not None, "nothing else can say a table"
    assert plan.range(A * B) == (0, 15)
    assert plan.linear(select(A > 1, Const(9), Const(4))).constant == 4
    assert plan.linear(C - C).terms == ()


def test_tables_are_exact_beyond_64_bits() -> None:
    m, n, k = Const(HUGE, "m"), Const(HUGE, "n"), Const(HUGE, "k")
    values = {"a": (1, 2), "b": (-3, 0)}
    assert tabulate(m * n * k, values).values.item() == 2**93
    assert tabulate(m * n * k // Const(2**40, "z") + A, values).values.tolist() == [2**53 + 1, 2**53 + 2]
    assert tabulate(m * Const(2**32, "w") + 1, values).values.item() == 2**63 + 1
    assert tabulate(member(m * Const(2**32, "w"), [-1, 2**63]), values).values.item() is True
    assert tabulate(member(A, [2, -1, 2**63]), values).values.tolist() == [False, True]
    guarded = select(B.ne(0), (m * n * k) // (B * 2**60), 5)
    assert tabulate(guarded, values).values.tolist() == [(2**93) // (-3 * 2**60), 5]
    assert tabulate(select(B.ne(0), (m * n * k) // (B * 0), 5), values).values.tolist()[1] == 5


def test_many_variables_with_one_value_need_no_axes() -> None:
    values = {f"x{i}": (i,) for i in range(70)} | {"a": (1, 2)}
    table = tabulate(sum((Var(f"x{i}") for i in range(70)), A), values)
    assert table.names == ("a",)
    assert table.values.tolist() == [2416, 2417]


@settings(max_examples=60, deadline=None)
@given(values=domains(), trees=st.lists(TRUTHS, min_size=1, max_size=4))
def test_narrowing_keeps_the_solutions(values: Domains, trees: list[Expr]) -> None:
    model = model_of(values, *trees)
    expected = brute(model)
    for limits in (Limits(), Limits(relation=8), ARITHMETIC):
        problem = narrow(pose(values), limits, trees)
        if problem is None:
            assert not expected
            continue
        kept = set()
        for row in product(*problem.domains.values()):
            tile = dict(zip(problem.domains, row, strict=True))
            tables = all(value_at(relation, problem.domains, tile) for relation in problem.relations)
            if tables and all(evaluate(node, tile) for node in problem.rest):
                kept.add(row)
        assert kept == expected
        parts = components(problem)
        assert sorted(name for part in parts for name in part.names) == sorted(problem.names)
        assert sum(len(part.relations) for part in parts) == len(problem.relations)


def test_narrowing_drops_unsupported_values_and_settled_rules() -> None:
    values = {"a": tuple(range(10)), "b": tuple(range(10)), "c": (1, 2)}
    rules = [all_of(A + B <= 3, A >= 1), Named("metric", A.ne(5)), C > 0, any_of(C > 5, B.ne(1))]
    problem = narrow(pose(values), Limits(), rules)
    assert problem is not None
    assert problem.domains == {"a": (1, 2, 3), "b": (0, 2), "c": (1, 2)}
    assert [relation.names for relation in problem.relations] == [("a", "b")]
    assert [part.names for part in components(problem)] == [("c",), ("a", "b")]
    assert [part.names for part in components(problem, ["b", "c"])] == [("a", "b", "c")]
    assert narrow(problem, Limits(), [A > 3]) is None
    assert narrow(pose(values), Limits(), [FALSE]) is None
    assert narrow(pose(values), Limits(), [TRUE]) == pose(values)


def test_a_rule_that_is_too_large_is_settled_by_its_bounds_or_stays() -> None:
    values = {name: tuple(range(1, 100)) for name in "abc"}
    small = Limits(relation=1000)
    problem = narrow(pose(values), small, [A * B * C >= 1, A * B * C <= 500])
    assert problem is not None
    assert [points(node, values) for node in problem.rest] == [99**3]
    assert narrow(pose(values), small, [A * B * C <= 0]) is None


@settings(max_examples=50, deadline=None)
@given(data=st.data(), shape=st.lists(st.integers(1, 4), max_size=4))
def test_a_diagram_leads_to_the_value(data: st.DataObject, shape: list[int]) -> None:
    size = int(np.prod(shape, dtype=int))
    flat = data.draw(st.lists(st.integers(-2, 2), min_size=size, max_size=size))
    values = np.array(flat, dtype=np.int64).reshape(shape)
    diagram = build(Grid(tuple("abcd"[: len(shape)]), values))
    for place in np.ndindex(*shape):
        node = 0
        for layer, position in zip(diagram.layers, place, strict=True):
            node = int(layer[node, position])
        assert diagram.terminals[node] == values[place]


def test_a_diagram_shares_what_is_equal() -> None:
    model, _ = gemm_100_million()
    problem = narrow(pose(model.domains), Limits(), [rule.holds for rule in model.rules])
    assert problem is not None
    assert not problem.rest
    assert sum(relation.values.size for relation in problem.relations) > 80_000
    assert sum(build(relation).edges for relation in problem.relations) < 5_000


@settings(max_examples=50, deadline=None)
@given(values=domains(), tree=INTEGERS, data=st.data())
def test_scores_order_tiles_as_the_key_does(values: Domains, tree: Expr, data: st.DataObject) -> None:
    tiles = list(grid(model_of(values)))
    rows = np.array([list(tile.values()) for tile in tiles], dtype=np.int64)
    truth = [evaluate(tree, tile) for tile in tiles]
    for ranked in (False, True):
        key = Key(tree, values, Limits(), ranked)
        scores = key.scores(rows)
        assert [a < b for a, b in pairwise(scores)] == [a < b for a, b in pairwise(truth)]
        assert len(set(zip(scores, truth, strict=True))) == len(set(truth))
        assert all(key.low <= score <= key.high for score in scores)
        low = data.draw(st.integers(key.low, key.high))
        high = data.draw(st.integers(low, key.high))
        relations, rules = key.window(low, high)
        for tile, score in zip(tiles, scores, strict=True):
            inside = all(evaluate(rule, tile) for rule in rules)
            inside = inside and all(value_at(relation, values, tile) for relation in relations)
            assert inside == (low <= score <= high)


def test_what_changes_no_order_is_taken_off_a_key() -> None:
    key = Key(Named("key", (ceildiv(A, 2) - B) * 2**80 + 5), {"a": (1, 2, 9), "b": (0, 4)}, Limits(), False)
    assert (key.low, key.high) == (-3, 5)


def test_the_product_of_components_is_written_out_in_any_size() -> None:
    model = endless()
    problem = narrow(pose(model.domains), Limits(), [rule.holds for rule in model.rules[:1]])
    assert problem is not None
    parts = components(problem)
    assert [part.size for part in parts] == [10] * 8 + [100]
    assert all(part.free for part in parts[:-1])


def test_the_solvers_are_imported_only_when_used() -> None:
    code = "import sys, tilesearch.engines.cpsat, tilesearch.engines.z3; print({'z3', 'ortools'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("count", [0, 1])
def test_an_empty_or_single_grid(count: int) -> None:
    problem = narrow(pose({"a": (3,) * count, "b": (1, 2)}), Limits(), [B > 0])
    assert (problem is None) == (count == 0)
