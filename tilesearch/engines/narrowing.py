"""The rules of one question as relations over narrowed domains, split where they do not touch."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from tilesearch.engines.lowering import Domains, Grid, Limits, points, tabulate
from tilesearch.errors import UnsupportedError
from tilesearch.rules.columns import Column
from tilesearch.rules.evaluate import bounds
from tilesearch.rules.expr import Expr, Named

_WIDEST = 2**62


@dataclass(frozen=True)
class Problem:
    """Find values for `names` that satisfy every relation (a Boolean grid) and every tree of `rest`.

    `domains` covers all variables of the model, in order; one that is not in `names` is either settled (it
    has one value) or somebody else's.
    """

    domains: dict[str, tuple[int, ...]]
    names: tuple[str, ...]
    relations: tuple[Grid, ...] = ()
    rest: tuple[Expr, ...] = ()

    @property
    def free(self) -> bool:
        """Whether nothing constrains the variables."""
        return not self.relations and not self.rest

    @property
    def size(self) -> int:
        """The number of points."""
        return prod(len(self.domains[name]) for name in self.names)


def pose(domains: Domains) -> Problem:
    """The problem without rules."""
    for name, domain in domains.items():
        for value in domain:
            if abs(value) >= _WIDEST:
                raise UnsupportedError(f"{name} = {value}: values of 2**62 and more have no place in a tile")
    return Problem(dict(domains), tuple(n for n in domains if len(domains[n]) > 1))


def conjuncts(rules: Iterable[Expr]) -> list[Expr]:
    """The rules with every top-level conjunction taken apart."""
    parts: list[Expr] = []
    stack = list(rules)[::-1]
    while stack:
        node = stack.pop()
        if node.op == "and" or isinstance(node, Named):
            stack.extend(node.args[::-1])
        else:
            parts.append(node)
    return parts


def narrow(
    problem: Problem, limits: Limits, rules: Iterable[Expr] = (), relations: Iterable[Grid] = ()
) -> Problem | None:
    """The problem with more rules and relations, less the values that some rule's grid does not support.

    A rule whose grid has at most `limits.relation` points becomes a relation; a larger one stays a tree.
    None when a domain runs empty or a rule never holds.
    """
    work = _Narrowing(problem.domains, [*problem.relations, *relations])
    waiting = sorted(conjuncts((*problem.rest, *rules)), key=lambda node: points(node, problem.domains))
    progress = True
    while waiting and progress and work.possible:
        larger: list[Expr] = []
        for node in waiting:
            if not work.possible or points(node, work.domains) > limits.relation:
                larger.append(node)
            else:
                work.add(tabulate(node, work.domains))
        progress = len(larger) < len(waiting)
        waiting = larger
    if not work.possible:
        return None
    verdicts = [(node, bounds(node, work.domains)) for node in waiting]
    if any(high == 0 for _, (_, high) in verdicts):
        return None
    names = tuple(name for name in problem.names if len(work.domains[name]) > 1)
    return Problem(work.domains, names, work.settled(), tuple(n for n, (low, _) in verdicts if low == 0))


class _Narrowing:
    """Domains and the relations over them, kept consistent."""

    def __init__(self, domains: Domains, relations: list[Grid]) -> None:
        self.domains = dict(domains)
        self.relations = relations
        self.possible = all(self.domains.values())
        self._propagate(set(range(len(relations))))

    def add(self, relation: Grid) -> None:
        """Take a relation over the current domains."""
        self.relations.append(relation)
        self._propagate({len(self.relations) - 1})

    def _propagate(self, queue: set[int]) -> None:
        while queue and self.possible:
            index = queue.pop()
            changed = self._revise(index)
            queue |= {i for i, g in enumerate(self.relations) if i != index and changed & set(g.names)}

    def _revise(self, index: int) -> set[str]:
        """Drop the values that this relation does not support; the names that lost some."""
        grid = self.relations[index]
        if not grid.values.any():
            self.possible = False
            return set()
        changed = set()
        for axis, name in enumerate(grid.names):
            others = tuple(i for i in range(len(grid.names)) if i != axis)
            supported = grid.values.any(axis=others)
            if not supported.all():
                self._restrict(name, np.flatnonzero(supported))
                changed.add(name)
        return changed

    def _restrict(self, name: str, kept: NDArray[np.intp]) -> None:
        domain = self.domains[name]
        self.domains[name] = tuple(domain[i] for i in kept)
        self.relations = [
            Grid(g.names, g.values.take(kept, axis=g.names.index(name))) if name in g.names else g
            for g in self.relations
        ]

    def settled(self) -> tuple[Grid, ...]:
        """The relations that still say something, one for each set of variables."""
        merged: dict[tuple[str, ...], Column] = {}
        for grid in self.relations:
            names = tuple(n for n in grid.names if len(self.domains[n]) > 1)
            values = grid.values.reshape([len(self.domains[n]) for n in names])
            merged[names] = values & merged[names] if names in merged else values
        return tuple(Grid(names, values) for names, values in merged.items() if not values.all())


def components(problem: Problem, together: Iterable[str] = ()) -> list[Problem]:
    """Parts without a common variable, smallest first; the variables of `together` end in one part."""
    leader = {name: name for name in problem.names}

    def find(name: str) -> str:
        while leader[name] != name:
            name = leader[name]
        return name

    scopes = [set(g.names) for g in problem.relations] + [set(node.variables) for node in problem.rest]
    for scope in (*scopes, set(together)):
        leaders = [find(name) for name in problem.names if name in scope]
        for other in leaders[1:]:
            leader[find(other)] = find(leaders[0])
    groups: dict[str, set[str]] = {}
    for name in problem.names:
        groups.setdefault(find(name), set()).add(name)
    return sorted((restrict(problem, names) for names in groups.values()), key=lambda part: part.size)


def restrict(problem: Problem, names: Set[str]) -> Problem:
    """The part of the problem that is about `names`, which no rule ties to other open variables."""
    return Problem(
        problem.domains,
        tuple(name for name in problem.names if name in names),
        tuple(g for g in problem.relations if names & set(g.names)),
        tuple(node for node in problem.rest if names & node.variables),
    )
