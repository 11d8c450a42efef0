"""What an operator would move if its stages were kernels of their own."""

from __future__ import annotations

from dataclasses import dataclass

from tilesearch.program.form import Program, Role, Term


@dataclass(frozen=True)
class Unfused:
    """The cheapest way to cut an operator in two: `extra` more bytes than the ledger's, for `what`. Unit: B."""

    extra: int
    what: str


def unfused(program: Program) -> Unfused | None:
    """The bytes that a version in two kernels moves beside the ledger's; None where there is one stage.

    A product whose operand another product leaves on chip (attention's scores) would write and read it. A row
    operator with an on-chip copy of its rows, or several operations for each output, would write and read an
    intermediate of the output's shape in the input's type. A reduction that writes whole rows would read its
    input once more, to apply what it found.
    """
    held = _held_operand(program)
    if held is not None:
        return held
    source = next((t for t in program.tensors if t.role is Role.INPUT), None)
    if source is None:
        return None
    width = source.dtype
    out = program.outputs[0]
    again = Unfused(2 * width.storage_bytes(out.elements), f"an intermediate like {out.name} in {width}")
    if any(t.role is Role.INTERMEDIATE for t in program.tensors):
        return again
    if any(t.staged and t.role is Role.INPUT for t in program.tensors) and not program.contractions:
        return Unfused(program.tensor_bytes(source), f"{source.name} read again")
    return again if _per_output(program) > 1 else None


def _held_operand(program: Program) -> Unfused | None:
    """Values that one product leaves for the next."""
    names = {item.name: item for item in program.held}
    for before, after in zip(program.contractions, program.contractions[1:], strict=False):
        operand = next((names[name] for name in (after.a, after.b) if name in names), None)
        if operand is None:
            continue
        alone = {before.k, after.n} - set(operand.dims)
        dims = tuple(
            name
            for dim in program.dims
            if dim.name not in alone
            for name in ([part for part, _ in dim.parts] or [dim.name])
        )
        width = before.computed or program.dtype_of(before.a)
        points = program.term_flops(Term(operand.name, "", 1, dims))
        return Unfused(2 * width.storage_bytes(points), f"the {operand.name} in {width}")
    return None


def _per_output(program: Program) -> int:
    """Operations for each point of the output, a product counting as one."""
    out = program.owners(program.outputs[0])
    inside = [t for t in program.terms if {program.owner(name).name for name in t.dims} == set(out)]
    product = any(t for t in program.terms if {program.owner(name).name for name in t.dims} > set(out))
    return sum(t.per_point for t in inside) + product
