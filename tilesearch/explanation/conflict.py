"""Why nothing fits: a minimal set of rules that contradict each other, and the smallest sets to drop.

A variable's domain is a rule like any other (``space.block_m``): dropping it lets the variable take any value
that the kernel language accepts. Where the grid of the variables that rules read is small enough, every
point's set of broken rules is computed once, and all questions are answered from those sets exactly;
elsewhere a solver engine answers them one at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Protocol

import numpy as np

from tilesearch.engines.base import Deadline, Engine, Request, Status
from tilesearch.rules.columns import ColumnEvaluator
from tilesearch.rules.expr import TRUE, member
from tilesearch.rules.model import Model, Rule

MAX_GRID = 20_000_000
MAX_CORRECTIONS = 12
_MAX_MASK_RULES = 62
_SOLVER_CORRECTION_SIZE = 2


@dataclass(frozen=True)
class Conflict:
    """A minimal core and minimal corrections, as rules; both empty when something fits.

    `complete` is False where the time limit ended the search for corrections.
    """

    feasible: bool
    core: tuple[Rule, ...] = ()
    corrections: tuple[tuple[Rule, ...], ...] = ()
    complete: bool = True


class _Oracle(Protocol):
    def satisfiable(self, chosen: frozenset[int]) -> bool: ...

    def corrections(self, everything: frozenset[int]) -> tuple[list[frozenset[int]], bool]: ...


def find_conflict(model: Model, rules: Sequence[Rule], deadline: Deadline, solver: Engine) -> Conflict:
    """The conflict among `rules` and the domains of `model`.

    Raises TimeoutError when the deadline comes before even satisfiability is settled.
    """
    opened, constraints = with_domain_rules(model, rules)
    oracle = _oracle(opened, constraints, deadline, solver)
    everything = frozenset(range(len(constraints)))
    if oracle.satisfiable(everything):
        return Conflict(feasible=True)
    core = _minimal_core(oracle, constraints)
    corrections, complete = oracle.corrections(everything)
    ordered = sorted(corrections, key=lambda c: (len(c), sorted(_reluctance(constraints[i]) for i in c), sorted(c)))
    return Conflict(
        feasible=False,
        core=tuple(constraints[i] for i in sorted(core)),
        corrections=tuple(tuple(constraints[i] for i in sorted(c)) for c in ordered[:MAX_CORRECTIONS]),
        complete=complete,
    )


def with_domain_rules(model: Model, rules: Sequence[Rule]) -> tuple[Model, tuple[Rule, ...]]:
    """`model` over everything its language accepts, and `rules` plus one rule for each narrower domain."""
    opened = model.with_domains({v.name: tuple(sorted({*v.universe, *v.domain})) for v in model.variables})
    narrowed = []
    for before, after in zip(model.variables, opened.variables, strict=True):
        if len(before.domain) < len(after.domain):
            shown = ", ".join(map(str, before.domain[:12])) + (", …" if len(before.domain) > 12 else "")
            narrowed.append(
                Rule(
                    id=f"space.{before.name}",
                    sentence=f"{before.name} is one of {shown}",
                    value=member(before.expr, before.domain),
                    limit=TRUE,
                    source="the problem's space",
                )
            )
    return opened, (*rules, *narrowed)


def _reluctance(rule: Rule) -> int:
    """What a person would give up first: their own rules, then a domain, then (not really) the hardware."""
    return {"user": 0, "space": 1}.get(rule.id.split(".")[0], 2)


def _minimal_core(oracle: _Oracle, constraints: Sequence[Rule]) -> frozenset[int]:
    """Deletion: leave out one rule at a time for as long as the rest contradicts itself."""
    core = frozenset(range(len(constraints)))
    domains_first = sorted(core, key=lambda i: ({1: 0, 2: 1, 0: 2}[_reluctance(constraints[i])], -i))
    for i in domains_first:
        if not oracle.satisfiable(core - {i}):
            core -= {i}
    return core


def _oracle(model: Model, constraints: Sequence[Rule], deadline: Deadline, solver: Engine) -> _Oracle:
    scope = sorted({name for rule in constraints for name in rule.holds.variables})
    size = prod(len(model.domains[name]) for name in scope)
    if size <= MAX_GRID and len(constraints) <= _MAX_MASK_RULES:
        return _MaskOracle(model, constraints, scope)
    return _SolverOracle(model, constraints, deadline, solver)


class _MaskOracle:
    """All distinct sets of broken rules over the grid, as bit masks, and nothing but the minimal ones."""

    def __init__(self, model: Model, constraints: Sequence[Rule], scope: list[str]) -> None:
        shape = tuple(len(model.domains[name]) for name in scope)
        axes = np.ix_(*(np.asarray(model.domains[name], dtype=np.int64) for name in scope)) if scope else ()
        read = ColumnEvaluator(dict(zip(scope, axes, strict=True)), model.domains)
        broken = np.zeros(shape, dtype=np.int64)
        for bit, rule in enumerate(constraints):
            broken |= np.where(read(rule.holds), 0, 1 << bit)
        self.minimal = _minimal([int(mask) for mask in np.unique(broken)])

    def satisfiable(self, chosen: frozenset[int]) -> bool:
        wanted = sum(1 << i for i in chosen)
        return any(mask & wanted == 0 for mask in self.minimal)

    def corrections(self, everything: frozenset[int]) -> tuple[list[frozenset[int]], bool]:
        return [frozenset(i for i in everything if mask >> i & 1) for mask in self.minimal], True


def _minimal(masks: list[int]) -> list[int]:
    """The masks that contain no other."""
    kept: list[int] = []
    for mask in sorted(masks, key=lambda m: m.bit_count()):
        if not any(other & mask == other for other in kept):
            kept.append(mask)
    return kept


class _SolverOracle:
    """Satisfiability by a solver engine, for grids too large to walk."""

    def __init__(self, model: Model, constraints: Sequence[Rule], deadline: Deadline, solver: Engine) -> None:
        self.model, self.constraints, self.deadline, self.solver = model, constraints, deadline, solver
        self.known: dict[frozenset[int], bool] = {}

    def satisfiable(self, chosen: frozenset[int]) -> bool:
        if chosen not in self.known:
            self.known[chosen] = self._ask(chosen)
        return self.known[chosen]

    def _ask(self, chosen: frozenset[int]) -> bool:
        model = self.model.with_rules(tuple(self.constraints[i] for i in sorted(chosen)))
        outcome = self.solver.first(Request(model, deadline=self.deadline))
        if outcome.status is Status.UNKNOWN:
            raise TimeoutError("the time limit ended the search for a conflict")
        return outcome.status is not Status.INFEASIBLE

    def corrections(self, everything: frozenset[int]) -> tuple[list[frozenset[int]], bool]:
        found: list[frozenset[int]] = []
        try:
            for size in range(1, _SOLVER_CORRECTION_SIZE + 1):
                for dropped in map(frozenset, combinations(sorted(everything), size)):
                    if any(smaller <= dropped for smaller in found):
                        continue
                    if self.satisfiable(everything - dropped):
                        found.append(dropped)
        except TimeoutError:
            return found, False
        return found, bool(found)
