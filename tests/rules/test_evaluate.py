"""The three plain readings of a tree agree with each other and with Python."""

from itertools import product
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rules.strategies import VARIABLES, conditions, domains, integers
from tilesearch.rules import columns as columns_module
from tilesearch.rules import expr as e
from tilesearch.rules.columns import ColumnEvaluator, read_rows
from tilesearch.rules.evaluate import bounds, evaluate, undefined

X, Y = e.Var("x"), e.Var("y")


def grid(box):
    return [dict(zip(VARIABLES, point, strict=True)) for point in product(*(box[n] for n in VARIABLES))]


@settings(max_examples=150, deadline=None)
@given(st.one_of(integers(), conditions()), domains())
def test_columns_and_bounds_agree_with_scalar_evaluation(tree, box):
    points = grid(box)
    expected = [evaluate(tree, p) for p in points]
    axes = np.ix_(*(np.array(box[n]) for n in VARIABLES))
    got = ColumnEvaluator(dict(zip(VARIABLES, axes, strict=True)), box)(tree)
    shape = tuple(len(box[n]) for n in VARIABLES)
    assert np.broadcast_to(got, shape).ravel().tolist() == expected
    low, high = bounds(tree, box)
    assert low <= min(expected)
    assert max(expected) <= high


@pytest.mark.parametrize("op", ["floordiv", "ceildiv", "mod", "min"])
@pytest.mark.parametrize("wide", [e.const(2**70), e.Var("x") * 2**60])
def test_what_passes_64_bits_beside_a_column_that_does_not(op, wide):
    box = {"x": (1, 2**20), "y": (3, 7)}
    columns = {name: np.array(values) for name, values in box.items()}
    tree = e.Expr(op, (wide, Y)) if op in ("mod", "min") else e.Expr(op, (Y, wide))
    got = ColumnEvaluator(columns, box)(tree)
    assert got.tolist() == [evaluate(tree, {"x": x, "y": y}) for x, y in zip(*box.values(), strict=True)]


@settings(max_examples=80, deadline=None)
@given(st.lists(st.one_of(integers(), conditions()), min_size=2, max_size=5), domains(), st.integers(1, 50))
def test_shared_bounds_and_pieces_change_nothing(trees, box, piece):
    """Readers that share bounds, one of which reads several trees, and reading piece by piece."""
    trees += [trees[0] if trees[0].is_bool else trees[0] + 1]
    points = grid(box)
    columns = {n: np.array([p[n] for p in points], dtype=np.int64) for n in VARIABLES}
    ranges = {}
    one = ColumnEvaluator(columns, box, ranges)
    for tree in trees:
        expected = [evaluate(tree, p) for p in points]
        assert np.broadcast_to(one(tree), len(points)).tolist() == expected
        with patch.object(columns_module, "PIECE", piece):
            assert read_rows(tree, columns, box, len(points), ranges).tolist() == expected
        assert bounds(tree, box, ranges) == bounds(tree, box)


@given(st.integers(-50, 50), st.integers(-7, 7).filter(bool))
def test_division_is_pythons(a, b):
    tile = {"x": a, "y": b}
    assert evaluate(X // Y, tile) == a // b
    assert evaluate(X % Y, tile) == a % b
    assert evaluate(e.ceildiv(X, Y), tile) == -(-a // b)


def test_integers_do_not_wrap():
    box = {"x": (2**31 - 1,), "y": (2**31 - 1,)}
    tree = X * X * Y * Y + 1
    column = ColumnEvaluator({n: np.array(v) for n, v in box.items()}, box)(tree)
    assert int(column[0]) == (2**31 - 1) ** 4 + 1
    narrowed = ColumnEvaluator({n: np.array(v) for n, v in box.items()}, box)(tree // (X * X * Y))
    assert int(narrowed[0]) == ((2**31 - 1) ** 4 + 1) // (2**31 - 1) ** 3


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (e.any_of(X.eq(0), (10 % X).eq(0)), False),
        (e.all_of(X.ne(0), (10 // X) > 1), False),
        (e.select(X.eq(0), 1, 10 // X) > 0, False),
        ((10 // X) > 1, True),
        (e.any_of((10 % X).eq(0), X.eq(0)), True),
    ],
)
def test_undefined_honours_short_circuits(tree, expected):
    box = {"x": (0, 1, 2)}
    where = undefined(tree, box)
    assert any(evaluate(where, {"x": v}) for v in box["x"]) is expected


def test_an_expression_has_no_truth_value():
    with pytest.raises(TypeError, match="truth value"):
        bool(X <= 3)
