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
from tilesearch.engines.cpsat import CpSatEngine
from tilesearch.engines.lowering import Limits
from tilesearch.errors import UnsupportedError
from tilesearch.rules.columns import ColumnEvaluator
from tilesearch.rules.expr import Const, Expr, Table, Var, all_of, any_of, ceildiv, member, product, select
from tilesearch.rules.model import Model, Rule, Variable

LIMITS = pytest.mark.parametrize("limits", [Limits(), MIXED, ARITHMETIC], ids=["tables", "mixed", "arithmetic"])
A, B, C = Var("a"), Var("b"), Var("c")


@LIMITS
@settings(max_examples=25, deadline=None)
@given(values=domains(), trees=st.lists(TRUTHS, min_size=1, max_size=3))
def test_the_set_is_that_of_brute_force(limits: Limits, values: Domains, trees: list[Expr]) -> None:
    check_sets(CpSatEngine(limits), values, trees)


@LIMITS
@settings(max_examples=25, deadline=None)
@given(values=domains(), tree=TRUTHS, key=INTEGERS, k=st.integers(1, 9))
def test_the_best_are_those_of_brute_force(limits: Limits, values: Domains, tree: Expr, key: Expr, k: int) -> None:
    check_best(CpSatEngine(limits), values, tree, key, k)


@LIMITS
@settings(max_examples=25, deadline=None)
@given(values=domains(3), trees=st.lists(TRUTHS, min_size=2, max_size=5))
def test_a_core_excludes_itself_and_is_minimal(limits: Limits, values: Domains, trees: list[Expr]) -> None:
    check_core(CpSatEngine(limits), values, trees)


def test_gemm_set_and_rankings_are_those_of_brute_force() -> None:
    check_gemm(CpSatEngine())


def test_optimum_of_a_hundred_million_candidates() -> None:
    model, cost = gemm_100_million()
    request = Request(model, deadline=Deadline(20))
    outcome = CpSatEngine().best(request, cost, 20)
    assert outcome.status == Status.OPTIMAL
    columns = {name: outcome.tiles[:, i] for i, name in enumerate(model.names)}
    assert set(ColumnEvaluator(columns, model.domains)(cost).tolist()) == {589}
    assert len(outcome.tiles) == 970
    assert request.deadline.elapsed < 3  # 0.1 s on a quiet machine


@LIMITS
@pytest.mark.parametrize(
    "tree",
    [
        select(B.ne(0), A // B, C).eq(-2),
        all_of(B.ne(0), (A % B) < 0),
        any_of(B.eq(0), A % B > 1),
        any_of(B.eq(0), ceildiv(A, B) >= 2),
        (A // -2) >= (B - 1) // 3,
        ((A - 9) % 4).eq(B + 1),
        ((A * C - 9) // 4).eq(B * B - 4),
        Table("square", lambda v: v * v, A) > B + 3,
        Table("cube", lambda v: v**3, A + B).eq(8),
        member(A * B - C, [-6, 0, 4, 100]),
        select(A > 0, B > 0, C > 0),
    ],
    ids=str,
)
def test_signs_guards_and_tables(limits: Limits, tree: Expr) -> None:
    values = {"a": (-7, -4, -1, 0, 1, 2, 5), "b": (-3, -2, 0, 1, 2), "c": (-2, 0, 3)}
    check_sets(CpSatEngine(limits), values, [tree])


def wide(count: int, tree: Expr) -> Model:
    values = tuple(2**20 + 37 * i for i in range(8))
    return Model(tuple(Variable(f"x{i}", values) for i in range(count)), {}, rules_of(tree), {})


def test_a_product_beyond_64_bits_is_tabulated_where_its_grid_allows() -> None:
    volume = product([Var("x0"), Var("x1"), Var("x2"), Var("x0"), Var("x1")])
    model = wide(3, volume <= (2**20 + 100) ** 5)
    expected = brute(model)
    assert 0 < len(expected) < 512
    for limits in (Limits(), Limits(function=1, relation=1, key=1, last_resort=1000)):
        assert tiles_of(CpSatEngine(limits).enumerate(request_of(model))) == expected
        best = CpSatEngine(limits).best(request_of(model), 0 - volume, 7)
        assert tiles_of(best) == brute_best(model, 0 - volume, 7)


def test_a_product_beyond_64_bits_is_refused_by_name_and_number_otherwise() -> None:
    model = wide(4, product([Var(f"x{i}") for i in range(4)]) <= (2**20 + 100) ** 4)
    with pytest.raises(UnsupportedError, match=r"x0 \* x1 \* x2 \* x3 can reach \d{25}, beyond") as error:
        CpSatEngine(ARITHMETIC).enumerate(request_of(model))
    assert "cpsat" in str(error.value)


def test_a_key_beyond_64_bits_over_a_large_grid_is_refused() -> None:
    model = wide(8, Var("x0") <= Var("x1"))
    with pytest.raises(UnsupportedError, match="beyond CP-SAT's integers"):
        CpSatEngine().best(request_of(model), product([Var(f"x{i}") for i in range(8)]), 1)


def test_a_domain_beyond_64_bits_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="a = 4611686018427387904"):
        CpSatEngine().first(request_of(model_of({"a": (1, 2**62)}, A > 0)))


def test_a_table_over_too_many_values_is_refused() -> None:
    values = tuple(range(0, 7000, 7))
    tree = Table("parity", lambda v: v % 2, A + B + C).eq(1)
    with pytest.raises(UnsupportedError, match=r"parity\(a \+ b \+ c\)"):
        CpSatEngine().first(request_of(model_of(dict.fromkeys("abc", values), tree)))


def test_constant_factors_of_a_key_do_not_count() -> None:
    model = model_of({"a": tuple(range(40)), "b": tuple(range(40))}, (A * B) % 7 > 2)
    key = (A * 3 - B) * 2**70 + 2**80
    engine = CpSatEngine(Limits(key=0, last_resort=0))
    assert tiles_of(engine.best(request_of(model), key, 5)) == brute_best(model, key, 5)


def test_an_unknown_limit_is_not_enforced() -> None:
    unknown = Rule("C1.unknown", "", A, None, unknown="the device file does not say")
    model = Model((Variable("a", (1, 2)),), {}, (unknown, *rules_of(A >= 2)), {})
    engine = CpSatEngine()
    assert tiles_of(engine.enumerate(request_of(model))) == {(2,)}
    assert engine.core(request_of(model), model.rules) is None


def test_empty_domains_and_fixed_variables() -> None:
    engine = CpSatEngine()
    nothing = model_of({"a": (), "b": (1, 2)}, B > 0)
    assert engine.enumerate(request_of(nothing)).status == Status.INFEASIBLE
    assert engine.core(request_of(nothing), nothing.rules) == ()
    fixed = model_of({"a": (4,), "b": (1,)}, A > B)
    assert tiles_of(engine.best(request_of(fixed), A * B, 3)) == {(4, 1)}
    assert tiles_of(engine.first(request_of(fixed))) == {(4, 1)}


def test_a_wide_gap_between_keys() -> None:
    gap = select(A.eq(3), 10**15, select(A > 3, 10**15 + A, A))
    model = model_of({"a": tuple(range(8)), "b": (0, 1, 2)}, all_of(A.ne(0), B < 2))
    for limits in (Limits(), ARITHMETIC):
        for k in (1, 3, 5, 7, 100):
            outcome = CpSatEngine(limits).best(request_of(model), gap * 2 + 1, k)
            assert tiles_of(outcome) == brute_best(model, gap, k)


def test_many_ties_above_the_optimum_are_listed_whole() -> None:
    names = tuple("abcdef")
    key = select(A.eq(0), Var("b"), Const(50) + Var("b") // 9)
    tree = (Var("a") + Var("b") + Var("c") + Var("d") + Var("e") + Var("f")) % 2 > 0
    model = Model(tuple(Variable(name, tuple(range(5))) for name in names), {}, rules_of(tree), {})
    outcome = CpSatEngine(ARITHMETIC).best(request_of(model), key, 2000)
    assert tiles_of(outcome) == brute_best(model, key, 2000)


def test_the_first_tile_is_the_same_every_time() -> None:
    model, _ = gemm_100_million()
    tiles = [CpSatEngine().first(request_of(model)).tiles.tolist() for _ in range(2)]
    assert tiles[0] == tiles[1]


def test_the_deadline_leaves_a_partial_answer() -> None:
    check_deadline(CpSatEngine())


def test_an_interrupt_leaves_a_partial_answer() -> None:
    check_interrupt(CpSatEngine())


def test_a_core_without_time_is_a_timeout() -> None:
    model, _ = gemm_100_million()
    with pytest.raises(TimeoutError):
        CpSatEngine().core(request_of(model, 0.0), model.rules)
    assert CpSatEngine().best(request_of(model, 0.0), Var("block_m"), 1).status == Status.UNKNOWN
