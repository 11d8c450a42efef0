"""The model of a constrained space: its parameters are the variables, its constraints the rules."""

from __future__ import annotations

from tilesearch.rules.expr import TRUE, Var
from tilesearch.rules.model import Model, Rule, Variable
from tilesearch.rules.parse import Names, parse_integer, parse_rules, shorten
from tilesearch.specs.spaces import Space

OBJECTIVE = "objective"
"""The ranking key of a space that has something to minimise."""


def space_model(space: Space, source: str = "") -> Model:
    """A model for any engine. Raises `InputError` with every fault of the constraints and the objective."""
    domains = {name: tuple(sorted(values)) for name, values in space.parameters.items()}
    names: Names = {name: Var(name) for name in domains}
    trees = parse_rules(space.constraints, names, domains, "constraints", source)
    rules = tuple(
        Rule(id=f"user.{number}", sentence=shorten(text), value=tree, limit=TRUE, source=source or "the space")
        for number, (text, tree) in enumerate(zip(space.constraints, trees, strict=True), start=1)
    )
    keys = {}
    if space.objective is not None:
        keys[OBJECTIVE] = parse_integer(space.objective, names, domains, OBJECTIVE, source, trees)
    return Model(tuple(Variable(name, domain) for name, domain in domains.items()), {}, rules, keys)
