"""Random rules, brute force to compare with, and a realistic model: shared by the tests of the solver engines."""

import os
import signal
from collections.abc import Callable, Iterator
from itertools import pairwise, product

import numpy as np
from hypothesis import strategies as st

from tilesearch.engines.base import Deadline, Engine, Outcome, Request, Status
from tilesearch.engines.lowering import Limits
from tilesearch.rules.evaluate import evaluate
from tilesearch.rules.expr import (
    Const,
    Expr,
    Named,
    Table,
    Var,
    all_of,
    any_of,
    as_expr,
    as_int,
    ceildiv,
    divides,
    implies,
    maximum,
    member,
    minimum,
    negate,
    select,
)
from tilesearch.rules.model import Model, Rule, Variable

NAMES = ("a", "b", "c", "d")
ARITHMETIC = Limits(function=1, relation=1, key=0, last_resort=1)
"""No tables: every rule goes through the solver's own integers."""
MIXED = Limits(function=6, relation=12, key=6, last_resort=64)

Domains = dict[str, tuple[int, ...]]


def domains(sizes: int = 4) -> st.SearchStrategy[Domains]:
    values = st.lists(st.integers(-4, 7), min_size=1, max_size=sizes, unique=True)
    return st.fixed_dictionaries({name: values.map(lambda v: tuple(sorted(v))) for name in NAMES})


def _guarded(op: Callable[[Expr, Expr], Expr]) -> Callable[[Expr, Expr, Expr], Expr]:
    return lambda a, b, other: select(b.ne(0), op(a, b), other)


DIVISIONS: tuple[Callable[[Expr, Expr], Expr], ...] = (
    lambda a, b: Expr("floordiv", (a, b)),
    lambda a, b: Expr("ceildiv", (a, b)),
    lambda a, b: Expr("mod", (a, b)),
)
LEAVES = st.one_of(st.sampled_from(NAMES).map(Var), st.integers(-5, 6).map(Const))
TABLES = st.builds(
    lambda name, values: Table("t", lambda v: values[v % len(values)], Var(name)),
    st.sampled_from(NAMES),
    st.lists(st.integers(-3, 9), min_size=1, max_size=5),
)


def _larger(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    truths = _truths(inner)
    return st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a - b, inner, inner),
        st.builds(lambda a, b: a * b, inner, inner),
        st.builds(minimum, inner, inner),
        st.builds(maximum, inner, inner),
        st.builds(lambda a: Named("metric", a), inner),
        st.builds(select, truths, inner, inner),
        st.builds(as_int, truths),
        *(st.builds(_guarded(op), inner, inner, inner) for op in DIVISIONS),
        *(st.builds(lambda a, b, op=op: op(a, maximum(b, 1)), inner, inner) for op in DIVISIONS),
        *(st.builds(lambda a, b, op=op: op(a, minimum(b, -1)), inner, inner) for op in DIVISIONS),
    )


def _truths(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    relations = st.sampled_from(("le", "lt", "ge", "gt", "eq", "ne"))
    plain = st.one_of(
        st.builds(lambda op, a, b: Expr(op, (a, b)), relations, inner, inner),
        st.builds(member, inner, st.lists(st.integers(-6, 12), max_size=5)),
        st.builds(lambda a, b: all_of(b.ne(0), divides(b, a)), inner, inner),
        st.builds(lambda a, b: any_of(b.eq(0), (a // b) > 0), inner, inner),
    )
    return st.one_of(
        plain,
        st.builds(all_of, plain, plain),
        st.builds(any_of, plain, plain),
        st.builds(negate, plain),
        st.builds(implies, plain, plain),
        st.builds(select, plain, plain, plain),
        st.builds(lambda a: Named("truth", a), plain),
    )


INTEGERS = st.recursive(st.one_of(LEAVES, LEAVES, TABLES), _larger, max_leaves=7)
TRUTHS = _truths(INTEGERS)


def rules_of(*trees: Expr) -> tuple[Rule, ...]:
    return tuple(Rule(f"user.{n}", "", tree, Const(1)) for n, tree in enumerate(trees, 1))


def model_of(values: Domains, *trees: Expr) -> Model:
    variables = tuple(Variable(name, domain) for name, domain in values.items())
    return Model(variables, {}, rules_of(*trees), {})


def request_of(model: Model, seconds: float | None = None, allow_soft: bool = False) -> Request:
    return Request(model, allow_soft, Deadline(seconds))


def tiles_of(outcome: Outcome) -> set[tuple[int, ...]]:
    rows = [tuple(int(v) for v in row) for row in outcome.tiles]
    assert len(set(rows)) == len(rows), "a tile is listed twice"
    return set(rows)


def grid(model: Model) -> Iterator[dict[str, int]]:
    for values in product(*model.domains.values()):
        yield dict(zip(model.names, values, strict=True))


def brute(model: Model, rules: tuple[Rule, ...] | None = None) -> set[tuple[int, ...]]:
    chosen = model.rules if rules is None else rules
    rows = set()
    for tile in grid(model):
        memo: dict[int, int | bool] = {}
        if all(evaluate(rule.holds, tile, memo) for rule in chosen):
            rows.add(tuple(tile.values()))
    return rows


def brute_best(model: Model, key: Expr, k: int) -> set[tuple[int, ...]]:
    keys = {row: evaluate(key, dict(zip(model.names, row, strict=True))) for row in brute(model)}
    if not keys:
        return set()
    last = sorted(keys.values())[min(k, len(keys)) - 1]
    return {row for row, value in keys.items() if value <= last}


def gemm(size: int = 4096) -> Model:
    """A GEMM on a device like an H200: 10,800 candidates and a ranking with waves and occupancy."""
    m, n, k, stages, warps, split = (
        Var(x) for x in ("block_m", "block_n", "block_k", "num_stages", "num_warps", "split_k")
    )
    shared = Named("shared_bytes", stages * (m * k + k * n) * 2)
    registers = Named("accumulators", ceildiv(m * n, warps * 32))
    rules = (
        Rule("C1.shared_memory", "", shared, Const(232448, "limit"), unit="B"),
        Rule("C2.accumulators", "", registers, Const(255)),
        Rule("C3.warps", "", divides(warps, as_expr(m) // 16), Const(1)),
        Rule("user.1", "", any_of(split.eq(1), divides(split * k, Const(size))), Const(1)),
        Rule("C4.threads", "", warps * 32, Const(1024)),
        Rule("soft.1", "", registers, Const(128), hard=False),
    )
    by_shared = 232448 // maximum(shared, 1)
    by_registers = 65536 // (warps * 32 * maximum(registers + 24, 32))
    blocks = maximum(minimum(by_shared, by_registers, 2048 // (warps * 32), 32), 1)
    tiles = ceildiv(Const(size), m) * ceildiv(Const(size), n)
    traffic = (ceildiv(Const(size), n) + ceildiv(Const(size), m)) * size * size * 2 + size * size * 4 * split
    waves = Named("waves", ceildiv(tiles * split, blocks * 132))
    domains = {
        "block_m": (16, 32, 64, 96, 128, 256),
        "block_n": (16, 32, 64, 96, 128, 256),
        "block_k": (16, 32, 64, 128, 256),
        "num_stages": (1, 2, 3, 4, 5),
        "num_warps": (1, 2, 4, 8),
        "split_k": (1, 2, 4),
    }
    variables = tuple(Variable(name, domain) for name, domain in domains.items())
    return Model(variables, {}, rules, {"priority": (traffic // 65536 + 1) * waves, "traffic": traffic})


def gemm_100_million() -> tuple[Model, Expr]:
    """147,456,000 candidates: the space `tile_gemm_1e8` of the reference data, whose least cost is 589."""
    names = ("block_m", "block_n", "block_k", "stages", "warps", "split_k", "group_m", "warp_m", "swizzle")
    m, n, k, stages, warps, split, group, warp_m, swizzle = map(Var, names)
    size = Const(1000)
    rows, columns = ceildiv(size, m), ceildiv(size, n)
    rules = rules_of(
        stages * (m * k + k * n) * 2 + m * n * 2 <= 232448,
        m * n <= 215 * 32 * warps,
        any_of(split.eq(1), divides(split * k, size)),
        any_of(group.eq(1), group * m <= 1000),
        divides(warp_m, warps),
        divides(16 * warp_m, m),
        divides(8 * maximum(warps // warp_m, 1), n),
        any_of(warps < 4, divides(64, m)),
        rows * m * (columns * n) * 4 <= 5000000,
        stages * k <= 1000,
        rows * columns * split >= 66,
        all_of(m <= 4 * n, n <= 4 * m),
        divides(swizzle, k * 2),
    )
    traffic = (rows * m * size * columns + columns * n * size * rows) * 2 + 4000000 * split
    cost = (traffic // 65536 + 1) * ((rows * columns * split + 131) // 132)
    blocks, powers = tuple(range(16, 513, 16)), (1, 2, 4, 8, 16)
    domains = dict(zip(names, (blocks, blocks, blocks[:16], tuple(range(1, 9)), powers, powers), strict=False))
    domains |= {"group_m": (1, 4, 8), "warp_m": powers, "swizzle": (32, 64, 128)}
    variables = tuple(Variable(name, domains[name]) for name in names)
    return Model(variables, {}, rules, {"cost": cost}), cost


def endless() -> Model:
    """More tiles than anybody can list: ten variables in a chain."""
    names = [f"x{i}" for i in range(10)]
    pairs = pairwise(names)
    rules = rules_of(*((Var(a) + Var(b)).ne(9) for a, b in pairs))
    return Model(tuple(Variable(name, tuple(range(10))) for name in names), {}, rules, {})


# What every solver engine has to do


def check_sets(engine: Engine, values: Domains, trees: list[Expr]) -> None:
    model = model_of(values, *trees)
    expected = brute(model)
    outcome = engine.enumerate(request_of(model))
    assert tiles_of(outcome) == expected
    assert outcome.status == (Status.COMPLETE if expected else Status.INFEASIBLE)
    assert outcome.feasible == len(expected)
    assert outcome.listed
    assert outcome.tiles.dtype == np.int64
    found = engine.first(request_of(model))
    assert len(found.tiles) == min(1, len(expected))
    assert tiles_of(found) <= expected
    assert found.status == (Status.FEASIBLE if expected else Status.INFEASIBLE)


def check_best(engine: Engine, values: Domains, tree: Expr, key: Expr, k: int) -> None:
    model = model_of(values, tree)
    expected = brute_best(model, key, k)
    outcome = engine.best(request_of(model), key, k)
    assert tiles_of(outcome) == expected
    if outcome.status == Status.COMPLETE:
        assert expected == brute(model)
    else:
        assert outcome.status == (Status.OPTIMAL if expected else Status.INFEASIBLE)


def check_core(engine: Engine, values: Domains, trees: list[Expr]) -> None:
    model = model_of(values, *trees)
    core = engine.core(request_of(model), model.rules)
    if brute(model):
        assert core is None
    else:
        assert core is not None
        assert not brute(model, core)
        for rule in core:
            assert brute(model, tuple(other for other in core if other is not rule)), "the core is not minimal"


def check_gemm(engine: Engine) -> None:
    model = gemm()
    feasible = brute(model)
    assert tiles_of(engine.enumerate(request_of(model))) == feasible
    softer = brute(model, model.hard)
    assert tiles_of(engine.enumerate(request_of(model, allow_soft=True))) == softer > feasible
    for key in model.keys.values():
        assert tiles_of(engine.best(request_of(model), key, 20)) == brute_best(model, key, 20)


def check_deadline(engine: Engine, seconds: float = 0.4) -> None:
    model = endless()
    heard: list[tuple[str, float]] = []
    for ask in (engine.enumerate, lambda request: engine.best(request, Var("x0") * Var("x5"), 10**9)):
        request = Request(model, deadline=Deadline(seconds), progress=lambda *words: heard.append(words))
        outcome = ask(request)
        assert request.deadline.elapsed < seconds + 0.5
        assert outcome.status == Status.FEASIBLE
        assert not outcome.listed
        assert outcome.feasible is None
        assert len(outcome.tiles)
        assert all(a + b != 9 for row in tiles_of(outcome) for a, b in pairwise(row))
    assert heard
    assert all(0 <= fraction <= 1 for _, fraction in heard)


def check_interrupt(engine: Engine) -> None:
    sent = []

    def press(text: str, fraction: float) -> None:
        """Ctrl-C once something was found: an earlier one would rightly leave nothing in hand."""
        if not sent:
            sent.append(text)
            os.kill(os.getpid(), signal.SIGINT)

    request = Request(endless(), deadline=Deadline(30), progress=press)
    outcome = engine.enumerate(request)
    assert sent
    assert request.deadline.elapsed < 15
    assert request.deadline.interrupted
    assert outcome.status == Status.FEASIBLE
    assert len(outcome.tiles)
