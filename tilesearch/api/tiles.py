"""Tiles that answers compare with: the smallest one, and what any tile moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tilesearch.errors import InputError, Issue
from tilesearch.kernels.base import Context, tile_variables, variables
from tilesearch.program.form import Program
from tilesearch.rules.evaluate import evaluate
from tilesearch.rules.geometry import Geometry
from tilesearch.rules.model import Variable
from tilesearch.specs.kernels import KernelSpec
from tilesearch.specs.problems import Problem, parse_tile


@dataclass(frozen=True)
class Movement:
    """Bytes that the blocks of a launch move: inputs and outputs, look-up tables, partials of a split."""

    payload: int
    lookup: int
    partial: int

    @property
    def total(self) -> int:
        """All of them, the `traffic_bytes` of other answers."""
        return self.payload + self.lookup + self.partial


def movement(program: Program, tile: Mapping[str, int]) -> Movement:
    """What the blocks of `tile` move, by the program form alone."""
    geometry = Geometry(program, frozenset(tile))
    payload, lookup, partial = (
        int(evaluate(tree, tile))
        for tree in (geometry.payload_bytes(), geometry.lookup_bytes(), geometry.partial_bytes())
    )
    return Movement(payload, lookup, partial)


def generic_variables(problem: Problem, program: Program) -> tuple[Variable, ...]:
    """The generic language's variables for this program, with the problem's domains: known on any device."""
    names = tile_variables(program)
    space = {name: domain for name, domain in problem.space.items() if name in names}
    context = Context(program=program, device=problem.device, space=space)
    return variables(replace(context, kernel=KernelSpec()), names)


def smallest_of(program: Program, variables: Sequence[Variable]) -> dict[str, int]:
    """The naive version: every block as small as the space allows, by as few warps; nothing split or grouped."""
    small = {dim.variable for dim in program.dims} | {"num_warps"}
    return {v.name: min(v.domain) if v.name in small or v.default not in v.domain else v.default for v in variables}


def smallest_tile(problem: Problem, program: Program) -> dict[str, int]:
    """The naive version over the generic language's variables."""
    return smallest_of(program, generic_variables(problem, program))


def generic_tile(problem: Problem, program: Program, tile: Mapping[str, int]) -> dict[str, int]:
    """What a tile of any language says of the generic language's variables."""
    return {name: tile[name] for name in smallest_tile(problem, program) if name in tile}


def full_tile(problem: Problem, program: Program, tile: str | Mapping[str, int]) -> dict[str, int]:
    """A tile of the user's, over the smallest one's values for what it leaves out."""
    smallest, given = smallest_tile(problem, program), parse_tile(tile)
    wrong = [
        Issue("this operator has no such variable", f"tile.{name}", hint=f"variables: {', '.join(smallest)}")
        for name in given
        if name not in smallest
    ]
    most = {v.name: max(v.universe) for v in generic_variables(problem, program)}
    most.update({d.variable: max(most[d.variable], d.extent) for d in program.dims if d.variable in most})
    wrong += [
        Issue(f"at most {most[name]} is wanted here, got {value}", f"tile.{name}")
        for name, value in given.items()
        if name in most and value > most[name]
    ]
    if wrong:
        raise InputError(wrong)
    return {**smallest, **given}
