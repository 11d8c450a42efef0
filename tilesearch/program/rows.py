"""Fused row transformations in the program form."""

from __future__ import annotations

from tilesearch.program.form import Dim, Program, Role, Tensor, Term
from tilesearch.program.units import SPECIAL, plain
from tilesearch.specs.dtypes import dtype
from tilesearch.specs.ops import Rows

# Operations: an element, a row; special functions: a row.
_WORK: dict[str, tuple[int, int, int]] = {
    "rmsnorm": (4, 1, 1),  # square, sum, scale, weight; mean; rsqrt
    "rope": (3, 0, 0),  # two products and a sum
    "quant": (3, 1, 0),  # abs, max, scale; the scale itself
}


def lower_rows(op: Rows) -> Program:
    """``out[token, row] = steps(in[token, row])``, with tables indexed by the token, the row or nothing.

    A table that is indexed by fewer dimensions than the tile covers is re-read once a block: that follows from
    its axes alone.
    """
    token, row = Dim("token", op.tokens, "tokens_per_block"), Dim("row", op.rows, "rows_per_block")
    d = Dim("d", op.head_dim, whole=True)
    by_step = op.onchip_bytes_per_row is None
    payload = [
        Tensor("in", Role.INPUT, dtype(op.dtype), plain(token, row, d), staged=by_step),
        Tensor("out", Role.OUTPUT, dtype(op.operand("out")), plain(token, row, d), staged=by_step),
    ]
    if op.scale is not None:
        payload.append(Tensor("scale", Role.OUTPUT, dtype(op.scale), plain(token, row), staged=by_step))
    dims = [token, row, d]
    if by_step:
        payload.append(Tensor("fp32 row", Role.INTERMEDIATE, dtype("fp32"), plain(token, row, d), staged=True))
    elif op.onchip_bytes_per_row:
        dims.append(_bytes("workspace", op.onchip_bytes_per_row))
        payload.append(Tensor("workspace", Role.INTERMEDIATE, dtype("int8"), plain(token, row, dims[-1]), staged=True))
    tables = []
    for table in op.tables:
        dims.append(_bytes(table.name, table.bytes))
        indices = [{"token": token, "row": row}[name] for name in table.index]
        axes = plain(*indices, dims[-1])
        tables.append(Tensor(f"{table.name}", Role.TABLE, dtype("int8"), axes, staged=table.staged))
    roof = op.roof or "cuda_core.fp32"
    return Program(
        kind="rows",
        dims=tuple(dims),
        tensors=(payload[0], *tables, *payload[1:]),
        terms=_terms(op, roof),
        roof=roof,
        profile="rows",
        constants={**op.constants, "rows": op.rows},
    )


def _bytes(name: str, size: int) -> Dim:
    """A dimension over the bytes of an entry, all of which a block touches."""
    return Dim(f"{name} byte", size, reduce=True, whole=True)


def _terms(op: Rows, roof: str) -> tuple[Term, ...]:
    element, row, special = (sum(costs) for costs in zip(*(_WORK[step] for step in op.steps), strict=True))
    if op.flops_per_row is not None:
        row, special = op.flops_per_row, 0  # the author's figure holds all of a row's operations
    terms = (
        Term(
            "arithmetic", roof, element if op.flops_per_element is None else op.flops_per_element, ("token", "row", "d")
        ),
        Term("arithmetic of a row", roof, row, ("token", "row")),
        Term("special functions of a row", SPECIAL, special, ("token", "row")),
    )
    return tuple(term for term in terms if term.per_point)
