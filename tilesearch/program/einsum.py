"""Index expressions in the program form."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tilesearch.program.form import Contraction, Dim, Held, Profile, Program, Role, Split, Tensor, Term, flattened
from tilesearch.program.units import SPECIAL, indexed, matrix_unit, scalar_unit, split_over
from tilesearch.specs.dtypes import dtype
from tilesearch.specs.ops import Einsum


@dataclass(frozen=True)
class _Loops:
    """How blocks walk through the indices of an expression. Dimensions have words, indices have letters.

    `product` says that a matrix instruction can do it, `stages` that inputs go through shared memory.
    """

    dims: tuple[Dim, ...]
    held: tuple[str, ...]
    profile: Profile
    product: bool = False
    stages: bool = False
    splits: bool = False


def lower_einsum(op: Einsum) -> Program:
    """Every index as a dimension or a part of one; operations at every point of the index space."""
    loops = _matrix_product(op) or _matrix_vector(op) or _other(op)
    acc = dtype(op.operand("acc"))
    roof = op.roof or (matrix_unit(op.dtype_of(0)) if loops.product else scalar_unit(acc.name))
    names = [chr(ord("a") + place) if place < 26 else f"in{place}" for place in range(len(op.inputs))]
    inputs = tuple(
        Tensor(
            name,
            Role(op.role_of(place)),
            dtype(op.dtype_of(place)),
            indexed({index: op.extents[index] for index in op.inputs[place]}),
            staged=loops.stages and op.role_of(place) == "input",
        )
        for place, name in enumerate(names)
    )
    out = indexed({index: op.extents[index] for index in op.output})
    return Program(
        kind="einsum",
        dims=loops.dims,
        tensors=(*inputs, Tensor("out", Role.OUTPUT, dtype(op.dtype_of(-1)), out)),
        terms=_terms(op, roof),
        roof=roof,
        contractions=(Contraction("rows", "columns", "sum", "a", "b", acc),) if loops.product else (),
        held=(Held("accumulator", loops.held, acc),),
        split=_split(loops, op),
        profile=loops.profile,
        constants=op.extents,
    )


def _split(loops: _Loops, op: Einsum) -> Split | None:
    return split_over("sum", dtype(op.operand("acc"))) if loops.splits else None


def _terms(op: Einsum, roof: str) -> tuple[Term, ...]:
    summed = any(index not in op.output for index in op.extents)
    work = len(op.inputs) - 1 + summed if op.flops_per_element is None else op.flops_per_element
    points = tuple(op.extents)
    terms = (
        Term("products and sums", roof, work, points),
        Term("special functions", SPECIAL, op.special_per_element, points),
    )
    return tuple(term for term in terms if term.per_point)


def _flat(op: Einsum, name: str, indices: str, variable: str, reduce: bool = False) -> Dim:
    return flattened(name, {index: op.extents[index] for index in indices}, variable, reduce)


def _matrix_product(op: Einsum) -> _Loops | None:
    """Two inputs that share a summed index, each with output indices of its own."""
    if len(op.inputs) != 2:
        return None
    a, b = op.inputs
    rows = "".join(i for i in op.output if i not in b)
    columns = "".join(i for i in op.output if i not in a)
    summed = "".join(i for i in a if i in b and i not in op.output)
    if not (rows and columns and summed):
        return None
    batches = [Dim(i, op.extents[i]) for i in op.output if i in a and i in b]
    alone = [Dim(i, op.extents[i], reduce=True) for i in op.extents if i not in op.output and i not in summed]
    dims = (
        *batches,
        _flat(op, "rows", rows, "block_m"),
        _flat(op, "columns", columns, "block_n"),
        *alone,
        _flat(op, "sum", summed, "block_k", reduce=True),
    )
    return _Loops(dims, ("rows", "columns"), "matrix", product=True, stages=True, splits=True)


def _matrix_vector(op: Einsum) -> _Loops | None:
    """Two inputs that share a summed index, where only one has output indices of its own."""
    if len(op.inputs) != 2:
        return None
    a, b = op.inputs
    columns = "".join(i for i in op.output if (i in a) != (i in b))
    summed = "".join(i for i in a if i in b and i not in op.output)
    rest = [i for i in op.extents if i not in op.output and i not in summed]
    if not (columns and summed) or rest:
        return None
    batches = [Dim(i, op.extents[i]) for i in op.output if i in a and i in b]
    dims = (*batches, _flat(op, "columns", columns, "block_n"), _flat(op, "sum", summed, "block_k", reduce=True))
    return _Loops(dims, ("columns",), "vector", splits=True)


def _other(op: Einsum) -> _Loops:
    """Blocks over the output's indices that walk through the summed ones in steps, and stage what they read of them.

    The longest run of summed indices that the same inputs have is one dimension, tiled and fit to be split; any
    other summed index is walked one by one around it.
    """
    rows, columns = (op.output[:-1], op.output[-1]) if len(op.output) > 1 else (op.output, "")
    outer = [_flat(op, "rows", rows, "block_m"), *([_flat(op, "columns", columns, "block_n")] if columns else [])]
    held = tuple(dim.name for dim in outer)
    groups: dict[tuple[bool, ...], str] = {}
    for index in op.extents:
        if index not in op.output:
            users = tuple(index in read for read in op.inputs)
            groups[users] = groups.get(users, "") + index
    if not groups:
        return _Loops(tuple(outer), held, "elements")
    longest = max(groups.values(), key=lambda indices: prod(op.extents[i] for i in indices))
    alone = [Dim(i, op.extents[i], reduce=True) for indices in groups.values() if indices != longest for i in indices]
    dims = (*outer, *alone, _flat(op, "sum", longest, "block_k", reduce=True))
    return _Loops(dims, held, "rows", stages=True, splits=True)
