"""A product and what follows it as one program: the later operators become its epilogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from tilesearch.errors import InputError, Issue
from tilesearch.program.form import Program, Role, Tensor, Term
from tilesearch.program.units import plain


def with_epilogue(product: Program, following: Sequence[tuple[str, Program, str]]) -> Program:
    """`product` with the terms, inputs and the output of the operators `following`: (name, program, operand).

    Each later operator reads the one before through its tensor `operand` and does a whole number of operations
    on each element, or on each row, of the product. Raises `InputError` for one that does not.
    """
    contraction = product.contraction
    if contraction is None:
        raise InputError(Issue("only a product has an epilogue", "ops[0].kind"))
    out = product.outputs[0]
    columns = product.dim(contraction.n).extent
    rows = out.elements // columns
    everywhere = tuple(d.name for d in product.parallel)
    by_row = tuple(name for name in everywhere if name != contraction.n)
    terms, tensors = list(product.terms), [t for t in product.tensors if t is not out]
    for name, program, operand in following:
        if program.contractions:
            raise InputError(Issue("a second product is no epilogue of the first", f"{name}.kind"))
        for term in program.terms:
            points = prod(program.extent(d) for d in term.dims)
            where = {out.elements: everywhere, rows: by_row}.get(points)
            if where is None:
                message = (
                    f"{term.name} runs {points} times, neither for each of {out.elements} elements nor for each row"
                )
                raise InputError(Issue(message, f"{name}.shape"))
            terms.append(Term(f"{name}: {term.name}", term.unit, term.per_point, where))
        tensors += [_addend(product, name, t, columns) for t in program.tensors if _is_input(t, operand)]
    last = following[-1][1].outputs[0] if following else out
    result = replace(out, dtype=last.dtype)
    return replace(product, tensors=(*tensors, result), terms=tuple(terms))


def _is_input(tensor: Tensor, operand: str) -> bool:
    return tensor.role in (Role.INPUT, Role.TABLE) and tensor.name != operand


def _addend(product: Program, name: str, tensor: Tensor, columns: int) -> Tensor:
    """A further input of a later operator, indexed as the product's output is: by element or by column."""
    contraction = product.contraction
    assert contraction is not None
    out = product.outputs[0]
    label = f"{name}.{tensor.name}"
    if tensor.elements == out.elements:
        return Tensor(label, Role.INPUT, tensor.dtype, out.axes)
    if tensor.elements == columns:
        return Tensor(label, Role.INPUT, tensor.dtype, plain(product.dim(contraction.n)))
    message = f"{tensor.name} has {tensor.elements} elements, neither those of the product nor of one of its rows"
    raise InputError(Issue(message, f"{name}.inputs"))
