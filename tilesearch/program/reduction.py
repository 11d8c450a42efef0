"""Reductions over rows in the program form."""

from __future__ import annotations

from math import prod

from tilesearch.program.form import Dim, Program, Role, Tensor, Term
from tilesearch.program.units import SPECIAL, plain, split_over
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

    A function that writes rows stages them once, in shared memory. A sum or argmax streams them through, and
    may be split; each part leaves a value (argmax: and an index) for each row.
    """
    m = Dim("m", prod(size for axis, size in enumerate(op.shape) if axis not in op.axes), "block_m")
    n = Dim("n", prod(op.shape[axis] for axis in op.axes), reduce=True, whole=True)
    row_wise = op.function in ("softmax", "layernorm", "rmsnorm")
    names = _WEIGHTS.get(op.function, ()) if op.affine else ()
    x = Tensor("x", Role.INPUT, dtype(op.dtype), plain(m, n), staged=row_wise)
    tables = tuple(Tensor(name, Role.TABLE, dtype(op.dtype), plain(n)) for name in names)
    out = Tensor("out", Role.OUTPUT, dtype(op.operand("out")), plain(m, n) if row_wise else plain(m))
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
