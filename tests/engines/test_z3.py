import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines.solver_cases import (
    ARITHMETIC,
    INTEGERS,
    MIXED,
    TRUTHS,
    Domains,
    brute,
    brute_best,
    check_best,
    check_core,
    check_deadline,
    check_gemm,
    check_interrupt,
    check_sets,
    domains,
    gemm_100_million,
    model_of,
    request_of,
    rules_of,
    tiles_of,
)
from tilesearch.engines.base import Deadline, Request, Status
from tilesearch.engines.lowering import Limits
from tilesearch.engines.z3 import Z3Engine
from tilesearch.rules.expr import Const, Expr, Table, Var, all_of, any_of, ceildiv, member, product, select
from tilesearch.rules.model import Model, Rule, Variable

LIMITS = pytest.mark.parametrize("limits", [Limits(), MIXED, ARITHMETIC], ids=["tables", "mixed", "arithmetic"])
A, B, C = Var("a"), Var("b"), Var("c")


@LIMITS
@settings(max_examples=20, deadline=None)
@given(values=domains(3), trees=st.lists(TRUTHS, min_size=1, max_size=3))
def test_the_set_is_that_of_brute_force(limits: Limits, values: Domains, trees: list[Expr]) -> None:
    check_sets(Z3Engine(limits), values, trees)


@LIMITS
@settings(max_examples=20, deadline=None)
@given(values=domains(3), tree=TRUTHS, key=INTEGERS, k=st.integers(1, 9))
def test_the_best_are_those_of_brute_force(limits: Limits, values: Domains, tree: Expr, key: Expr, k: int) -> None:
    check_best(Z3Engine(limits), values, tree, key, k)


@LIMITS
@settings(max_examples=20, deadline=None)
@given(values=domains(3), trees=st.lists(TRUTHS, min_size=2, max_size=5))
def test_a_core_excludes_itself_and_is_minimal(limits: Limits, values: Domains, trees: list[Expr]) -> None:
    check_core(Z3Engine(limits), values, trees)


def test_gemm_set_and_rankings_are_those_of_brute_force() -> None:
    check_gemm(Z3Engine())


def test_optimum_of_a_hundred_million_candidates() -> None:
    model, cost = gemm_100_million()
    request = Request(model, deadline=Deadline(30))
    outcome = Z3Engine().best(request, cost, 1)
    assert outcome.status == Status.OPTIMAL
    assert len(outcome.tiles) == 970


@LIMITS
@pytest.mark.parametrize(
    "tree",
    [
        select(B.ne(0), A // B, C).eq(-2),
        all_of(B.ne(0), (A % B) < 0),
        any_of(B.eq(0), ceildiv(A, B) >= 2),
        ((A - 9) % 4).eq(B + 1),
        ((A * C - 9) // 4).eq(B * B - 4),
        ((A * A + 3) // (B + C + 9)).eq(2),
        ((A - 5) % (B + C - 9)).eq(-3),
        Table("cube", lambda v: v**3, A + B).eq(8),
        member(A * B - C, [-6, 0, 4, 100]),
        select(A > 0, B > 0, C > 0),
    ],
    ids=str,
)
def test_signs_guards_and_tables(limits: Limits, tree: Expr) -> None:
    values = {"a": (-7, -4, -1, 0, 1, 2), "b": (-3, -2, 0, 1, 2), "c": (-2, 0, 3)}
    check_sets(Z3Engine(limits), values, [tree])


def test_integers_of_any_size() -> None:
    values = tuple(2**20 + 37 * i for i in range(3))
    volume = product([Var("x0"), Var("x1"), Var("x2"), Var("x0"), Var("x1")])
    variables = tuple(Variable(f"x{i}", values) for i in range(3))
    model = Model(variables, {}, rules_of(volume <= (2**20 + 40) ** 5), {})
    for limits in (Limits(), ARITHMETIC):
        engine = Z3Engine(limits)
        assert tiles_of(engine.enumerate(request_of(model))) == brute(model)
        assert tiles_of(engine.best(request_of(model), 0 - volume, 3)) == brute_best(model, 0 - volume, 3)


def test_a_core_may_name_domains() -> None:
    model = model_of({"a": tuple(range(20)), "b": tuple(range(20))})
    rules = (
        Rule("space.a", "", member(A, [1, 2]), Const(1)),
        Rule("space.b", "", member(B, [3, 19]), Const(1)),
        Rule("user.1", "", A + B, Const(6), "ge"),
        Rule("user.2", "", A * B, Const(18), "le"),
        Rule("user.3", "", A, Const(5), "le"),
        Rule("C1.unknown", "", A, None),
    )
    core = Z3Engine().core(request_of(model), rules)
    assert core is not None
    assert [rule.id for rule in core] == ["space.a", "space.b", "user.1", "user.2"]
    assert Z3Engine().core(request_of(model), rules[1:]) is None


def test_the_deadline_leaves_a_partial_answer() -> None:
    check_deadline(Z3Engine())


def test_an_interrupt_leaves_a_partial_answer() -> None:
    check_interrupt(Z3Engine())


def test_a_core_without_time_is_a_timeout() -> None:
    model, _ = gemm_100_million()
    with pytest.raises(TimeoutError):
        Z3Engine().core(request_of(model, 0.0), model.rules)
    assert Z3Engine().best(request_of(model, 0.0), Var("block_m"), 1).status == Status.UNKNOWN
