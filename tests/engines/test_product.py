"""Tiles as a product of tables: the same set by every way of joining, in any order of the rules."""

from collections import Counter
from contextlib import ExitStack, contextmanager
from math import prod
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines.test_vector import brute, make_model
from tests.rules.strategies import conditions, domains, integers
from tilesearch.engines import product as product_module
from tilesearch.engines import vector
from tilesearch.engines.base import Deadline, Request, Status
from tilesearch.engines.lowering import Limits, tabulate
from tilesearch.engines.product import Product, StoppedError
from tilesearch.engines.vector import VectorEngine
from tilesearch.rules.evaluate import evaluate
from tilesearch.rules.expr import Var, any_of

BOX = {"x": (1, 2, 3), "y": (1, 2, 3, 4), "z": (5, 6), "w": (0,)}
# Limits that send tiny grids down the ways that are meant for large ones.
TREES_ONLY = {"_SMALL_GRID": 0, "_GRID": 0}
UNSHARED = {"_SHARED_GRID": 0}


@contextmanager
def limited(constants, cells):
    with ExitStack() as stack:
        for name, value in constants.items():
            stack.enter_context(patch.object(vector, name, value))
        yield stack.enter_context(patch.object(product_module, "_CELLS", cells))


@pytest.mark.parametrize("cells", [1, 7, 1 << 22])
@pytest.mark.parametrize("constants", [{}, TREES_ONLY, UNSHARED], ids=["grids", "trees", "unshared"])
@settings(max_examples=40, deadline=None)
@given(box=domains(), rules=st.lists(conditions(), max_size=4))
def test_every_way_of_joining_gives_the_set(constants, cells, box, rules):
    model = make_model(box, rules)
    with limited(constants, cells):
        counted = VectorEngine().enumerate(Request(model))
        listed = VectorEngine().enumerate(Request(model, attribute=False))
        one = VectorEngine().first(Request(model))
    expected = brute(model, model.rules)
    for outcome in (counted, listed):
        rows = list(map(tuple, outcome.tiles.tolist()))
        assert len(rows) == len(set(rows))
        assert set(rows) == expected
        assert outcome.feasible == len(expected)
    assert counted.rejected is not None
    assert listed.rejected is None
    assert set(map(tuple, one.tiles.tolist())) <= expected
    assert len(one.tiles) == bool(expected)


@settings(max_examples=40, deadline=None)
@given(box=domains(), rules=st.lists(conditions(), min_size=1, max_size=4))
def test_no_tables_at_all(box, rules):
    model = make_model(box, rules)
    with patch.object(vector, "Limits", lambda: Limits(relation=1)):
        outcome = VectorEngine().enumerate(Request(model, attribute=False))
    assert set(map(tuple, outcome.tiles.tolist())) == brute(model, model.rules)


def test_untouched_variables_stay_apart():
    product = Product(BOX, Deadline())
    product.keep_grid(tabulate(Var("x") <= Var("y"), BOX))
    assert product.size == 9 * 2
    assert sorted(table.rows for table in product.tables) == [1, 2, 9]
    product.keep_tree(any_of(Var("y") > 1, Var("z").eq(5)))
    assert sorted(table.rows for table in product.tables) == [1, 17]
    assert product.size == len(product.tiles()) == prod(table.rows for table in product.tables)


@pytest.mark.parametrize("grid", [0, 1 << 20])
@settings(max_examples=60, deadline=None)
@given(box=domains(), rules=st.lists(conditions(), max_size=3), key=integers(), count=st.integers(0, 9))
def test_least_values_and_value_counts(grid, box, rules, key, count):
    model = make_model(box, rules)
    tiles = brute(model, model.rules)
    with patch.object(product_module, "_GRID", grid):
        product = VectorEngine().product(Request(model))
        least = product.least(key, count)
    assert least == sorted(evaluate(key, dict(zip(model.names, t, strict=True))) for t in tiles)[:count]
    counts = product.value_counts()
    for place, name in enumerate(model.names):
        found = {value: n for value, n in zip(product.domains[name], counts[name], strict=True) if n}
        assert found == Counter(t[place] for t in tiles)


def test_a_fork_is_on_its_own():
    product = Product(BOX, Deadline())
    other = product.fork()
    other.keep_grid(tabulate(Var("x").eq(1), BOX))
    other.clear()
    assert (other.size, product.size) == (0, 24)
    assert product.head().tiles().tolist() == [[1, 1, 5, 0]]
    assert other.head().size == 0


def test_a_stop_between_two_rows():
    deadline = Deadline(1000)
    deadline.interrupted = True
    product = Product(BOX, deadline)
    with pytest.raises(StoppedError):
        product.keep_grid(tabulate(Var("x") <= Var("y"), BOX))
    outcome = VectorEngine().enumerate(Request(make_model(BOX, [Var("x") <= Var("y")]), deadline=deadline))
    assert outcome.status is Status.FEASIBLE
    assert not outcome.listed
