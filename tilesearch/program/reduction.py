"""Reductions over rows in the program form."""

from __future__ import annotations

from itertools import groupby
from math import prod

from tilesearch.program.form import Dim, Program, Role, Tensor, Term
from tilesearch.program.units import SPECIAL, indexed, plain, split_over
from tilesearch.specs.dtypes import dtype
from tilesearch.specs.ops import Reduction

# Operations: an element, an element with affine, a row; special functions: an element, a row.
_WORK: dict[str, tuple[int, int, int, int, int]] = {
    "softmax": (4, 4, 0, 1, 0),  # max, subtract, sum, divide; exp
    "layernorm": (5, 7, 3, 0, 1),  # sum, subtract, square, sum, scale; weight, bias; two means, epsilon; rsqrt
    "rmsnorm": (3, 4, 2, 0, 1),  # square, sum, scale; weight; mean, epsilon; rsqrt
    "sum": (1, 1, 0, 0, 0),
    "argmax": (1, 1, 0, 0, 0),
}
_WEIGHTS = {"layernorm": ("weight", "bias"), "rmsnorm": ("weight",)}


def lower_reduction(op: Reduction) -> Program:
    """Rows of the reduced axes: whole rows kept on chip where a row is written, one value a row otherwise.

    Axes keep their order in memory; neighbours of which all are reduced, or none, are one.

    A function that writes rows stages them once, in shared memory. A sum or argmax streams them through, and
    may be split; each part leaves a value (argmax: and an index) for each row.
    """
    runs = _runs(op)
    m = _dim("m", [size for reduced, size in runs if not reduced], variable="block_m")
    n = _dim("n", [size for reduced, size in runs if reduced], reduce=True, whole=True)
    parts = {reduced: iter(_parts(n if reduced else m)) for reduced in (False, True)}
    every = indexed(dict(next(parts[reduced]) for reduced, _ in runs))
    kept = tuple(size for axis, size in enumerate(op.shape) if axis not in op.axes)
    row_wise = op.function in ("softmax", "layernorm", "rmsnorm")
    names = _WEIGHTS.get(op.function, ()) if op.affine else ()
    x = Tensor("x", Role.INPUT, dtype(op.dtype), every, staged=row_wise, view=op.shape)
    tables = tuple(Tensor(name, Role.TABLE, dtype(op.dtype), plain(n)) for name in names)
    written, view = (every, op.shape) if row_wise else (indexed(dict(_parts(m))), kept)
    out = Tensor("out", Role.OUTPUT, dtype(op.operand("out")), written, view=view)
    roof = op.roof or "cuda_core.fp32"
    element, affine, row, special_element, special_row = _WORK[op.function]
    terms = (
        Term("arithmetic", roof, affine if op.affine else element, ("m", "n")),
        Term("arithmetic of a row", roof, row, ("m",)),
        Term("special functions", SPECIAL, special_element, ("m", "n")),
        Term("special functions of a row", SPECIAL, special_row, ("m",)),
    )
    statistics = m.extent if op.function == "argmax" else 0
    return Program(
        kind="reduction",
        dims=(m, n),
        tensors=(x, *tables, out),
        terms=tuple(term for term in terms if term.per_point),
        roof=roof,
        split=None if row_wise else split_over("n", dtype("fp32"), statistics),
        profile="rows",
        constants={"m": m.extent, "n": n.extent},
    )


def _runs(op: Reduction) -> list[tuple[bool, int]]:
    """The axes in their order, as runs of which all are reduced or none: whether they are, and their size.

    A row is there even where no axis is left to tell rows apart.
    """
    axes = ((axis in op.axes, size) for axis, size in enumerate(op.shape))
    runs = [(reduced, prod(size for _, size in run)) for reduced, run in groupby(axes, key=lambda axis: axis[0])]
    return runs if any(not reduced for reduced, _ in runs) else [(False, 1), *runs]


def _dim(name: str, sizes: list[int], variable: str | None = None, reduce: bool = False, whole: bool = False) -> Dim:
    parts = tuple((f"{name}{place}", size) for place, size in enumerate(sizes)) if len(sizes) > 1 else ()
    return Dim(name, prod(sizes), variable, reduce, whole, parts)


def _parts(dim: Dim) -> tuple[tuple[str, int], ...]:
    return dim.parts or ((dim.name, dim.extent),)
