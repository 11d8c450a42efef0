"""Random expression trees over small domains, for property tests."""

from hypothesis import strategies as st

from tilesearch.rules import expr as e

VARIABLES = ("x", "y", "z")


def domains():
    values = st.lists(st.integers(-6, 12), min_size=1, max_size=5, unique=True).map(lambda v: tuple(sorted(v)))
    return st.fixed_dictionaries(dict.fromkeys(VARIABLES, values))


def integers():
    leaf = st.one_of(st.sampled_from([e.Var(n) for n in VARIABLES]), st.integers(-9, 20).map(e.const))
    return st.recursive(leaf, _grow, max_leaves=10)


def _grow(children):
    pair = st.tuples(children, children)
    safe = pair.map(lambda p: p[0] // e.select(p[1].eq(0), 3, p[1]))
    modulus = pair.map(lambda p: p[0] % e.select(p[1].eq(0), -2, p[1]))
    up = pair.map(lambda p: e.ceildiv(p[0], e.maximum(p[1], 1)))
    choice = st.tuples(children, children, children).map(lambda t: e.select(t[0] > t[1], t[1], t[2]))
    return st.one_of(
        pair.map(lambda p: p[0] + p[1]),
        pair.map(lambda p: p[0] - p[1]),
        pair.map(lambda p: p[0] * p[1]),
        pair.map(lambda p: e.minimum(*p)),
        pair.map(lambda p: e.maximum(*p)),
        safe,
        modulus,
        up,
        choice,
    )


def conditions():
    relation = st.tuples(st.sampled_from(["le", "lt", "ge", "gt", "eq", "ne"]), integers(), integers()).map(
        lambda t: e.Expr(t[0], (t[1], t[2]))
    )
    inside = st.tuples(integers(), st.sets(st.integers(-5, 9), max_size=4)).map(lambda t: e.member(*t))
    leaf = st.one_of(relation, inside)
    return st.recursive(
        leaf,
        lambda c: st.one_of(
            st.tuples(c, c).map(lambda p: e.all_of(*p)),
            st.tuples(c, c).map(lambda p: e.any_of(*p)),
            c.map(e.negate),
        ),
        max_leaves=4,
    )
