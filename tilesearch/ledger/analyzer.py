"""What TileLang's Analyzer would count, for reconciliation with the ledger (seed 3.3).

It adds up the operations of T.gemm and the bytes of T.copy across the border of global memory, a split's partials
among them, and nothing else. Both are reproduced; its time is not, since it silently leaves out what it has no peak
for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilesearch.ledger.account import ledger_of
from tilesearch.program.form import Program, Role, Term
from tilesearch.rules.evaluate import evaluate
from tilesearch.rules.geometry import Geometry


@dataclass(frozen=True)
class Reconciliation:
    """GEMM operations, bytes that cross the border of global memory with a tile, and what is not counted."""

    gemm_flops: int
    global_bytes: int
    not_counted: tuple[str, ...]


def reconcile(program: Program, geometry: Geometry, tile: Mapping[str, int]) -> Reconciliation:
    """The Analyzer's two sums for a kernel with this tile. Unit: FLOP and B."""
    products = [term for term in program.terms if _is_product(program, term)]
    copied = [t for t in program.tensors if t.staged and t.role in (Role.INPUT, Role.TABLE)]
    moved = sum(int(evaluate(geometry.reads(tensor), tile)) for tensor in copied)
    moved += sum(program.tensor_bytes(tensor) for tensor in program.outputs)
    moved += int(evaluate(geometry.partial_bytes(), tile))
    names = {t.name for t in products}
    direct = [t for t in program.tensors if t.role in (Role.INPUT, Role.TABLE) and t not in copied]
    missing = [line.name for line in ledger_of(program).lines if line.flops and line.name not in names]
    missing += [f"{tensor.name} (not staged: read without a copy)" for tensor in direct]
    return Reconciliation(sum(program.term_flops(term) for term in products), moved, tuple(missing))


def _is_product(program: Program, term: Term) -> bool:
    """Whether a term is one of the program's matrix products: it sums over a product's k on the declared roof."""
    owners = {program.owner(name).name for name in term.dims}
    inside = any({product.m, product.n, product.k} <= owners for product in program.contractions)
    return inside and term.unit == program.roof
