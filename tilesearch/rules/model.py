"""A model: what a kernel language makes of one operator on one device, ready for any engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from tilesearch.rules.evaluate import Ranges
from tilesearch.rules.expr import Const, Expr, Named, Var, all_of, divides, implies


@dataclass(frozen=True)
class Rule:
    """A named constraint: ``value relation limit``, judged where `when` holds.

    `hard` says that a broken rule means the kernel does not build, does not launch or gives wrong results;
    a soft one runs badly. `relation` is a comparison of the tree, or "multiple" (value is a multiple of the
    limit). A Boolean `value` stands for the whole relation; `limit` is then only shown. `limit` is None, with
    a reason in `unknown`, when the device file does not know it. `note` is said in place of the numbers where
    the rule is broken: for what is a matter of yes or no.
    """

    id: str
    sentence: str
    value: Expr
    limit: Expr | None
    relation: str = "le"
    unit: str = ""
    hard: bool = True
    source: str = ""
    when: Expr | None = None
    unknown: str = ""
    has_slack: bool = False
    note: str = ""

    @cached_property
    def test(self) -> Expr:
        """The relation itself, without `when`. The limit must be known."""
        if self.value.is_bool:
            return self.value
        if self.limit is None:
            raise ValueError(f"{self.id}: the limit is unknown: {self.unknown}")
        if self.relation == "multiple":
            return divides(self.limit, self.value)
        return Expr(self.relation, (self.value, self.limit))

    @cached_property
    def holds(self) -> Expr:
        """The Boolean tree that an engine enforces: one object a rule, since readers memoise by identity."""
        return self.test if self.when is None else implies(self.when, self.test)


@dataclass(frozen=True)
class Metric:
    """A named quantity of a tile. `expr` is None with a `reason` where no model covers it."""

    name: str
    expr: Expr | None
    unit: str = ""
    meaning: str = ""
    source: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Variable:
    """A decision variable: its domain (ascending, without repeats) and the value it takes when not given.

    `universe` holds every value the kernel language accepts; it is what the variable may take when its
    domain is dropped as a rule in an explanation.
    """

    name: str
    domain: tuple[int, ...]
    default: int = 1
    universe: tuple[int, ...] = ()
    aliases: tuple[str, ...] = ()

    @property
    def expr(self) -> Var:
        """A node that reads the variable."""
        return Var(self.name)


@dataclass(frozen=True)
class Remark:
    """Something worth saying of a tile that no rule stops: a fallback, for example. Said where `when` holds."""

    when: Expr
    text: str


@dataclass(frozen=True)
class Model:
    """Variables, metrics and rules of one problem.

    `keys` are the integer rankings (smaller is better); `fractions` are exact fractions for tie-breaking
    as (numerator, denominator) trees, larger first; `constants` are what users' rules may name; `optional`
    rules are enforced only where a problem requires them. `facts` are trees that models of time read beside the
    metrics: what the compiler makes of a tile (see `tilesearch.models.time.launch`).
    """

    variables: tuple[Variable, ...]
    metrics: Mapping[str, Metric]
    rules: tuple[Rule, ...]
    keys: Mapping[str, Expr]
    constants: Mapping[str, int] = field(default_factory=dict)
    fractions: Mapping[str, tuple[Expr, Expr]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    remarks: tuple[Remark, ...] = ()
    optional: tuple[Rule, ...] = ()
    facts: Mapping[str, Expr] = field(default_factory=dict)

    @cached_property
    def domains(self) -> dict[str, tuple[int, ...]]:
        """Domain of each variable, by name, in the order of the tile variables."""
        return {v.name: v.domain for v in self.variables}

    @cached_property
    def ranges(self) -> Ranges:
        """Bounds of trees over `domains`, for all readers to share: empty at first, filled as they read."""
        return {}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the variables, in order."""
        return tuple(v.name for v in self.variables)

    @property
    def hard(self) -> tuple[Rule, ...]:
        """Hard rules whose limit is known, in rule order."""
        return tuple(r for r in self.rules if r.hard and r.limit is not None)

    @property
    def soft(self) -> tuple[Rule, ...]:
        """Soft rules whose limit is known."""
        return tuple(r for r in self.rules if not r.hard and r.limit is not None)

    @property
    def undecided(self) -> tuple[Rule, ...]:
        """Hard rules whose limit is not known: a tile they apply to is `unknown`."""
        return tuple(r for r in self.rules if r.hard and r.limit is None)

    def metric(self, name: str) -> Expr:
        """The tree of a metric that is known to exist."""
        expr = self.metrics[name].expr
        if expr is None:
            raise KeyError(f"{name}: {self.metrics[name].reason}")
        return expr

    def with_domains(self, domains: Mapping[str, tuple[int, ...]]) -> Model:
        """The same model over other domains."""
        changed = tuple(replace(v, domain=domains.get(v.name, v.domain)) for v in self.variables)
        return replace(self, variables=changed)

    def with_rules(self, rules: tuple[Rule, ...]) -> Model:
        """The same model with other rules."""
        return replace(self, rules=rules)


def named(name: str, body: Expr, unit: str = "", opaque: bool = False) -> Named:
    """A metric's tree: a named node that formulas print by name, always so where it is `opaque`."""
    return Named(name, body, unit, opaque)


def constant(name: str, value: int) -> Const:
    """A named constant of the operator or the device."""
    return Const(value, name)


def conjunction(rules: tuple[Rule, ...]) -> Expr:
    """All of `rules` at once."""
    return all_of(*(rule.holds for rule in rules))
