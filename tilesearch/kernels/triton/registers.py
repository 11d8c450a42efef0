"""Registers of a Triton GEMM: what a thread must hold at once, and what the compiler hands out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tilesearch.kernels.triton.compiler import Compiler
from tilesearch.kernels.triton.operands import Operand
from tilesearch.kernels.triton.paths import Path
from tilesearch.rules.expr import FALSE, Expr, Var, all_of, any_of, ceildiv, maximum, minimum, negate, select, total
from tilesearch.rules.model import named
from tilesearch.specs.dtypes import DType


@dataclass(frozen=True)
class Registers:
    """Registers of one thread: `live` must be held at once (past `cap` they spill), `used` is what is allocated."""

    accumulators: Expr
    live: Expr
    used: Expr
    cap: Expr
    source: str


def tma_registers(compiler: Compiler, accumulators: Expr, threads: Expr) -> Registers:
    """A kernel whose tiles are copied by the TMA: accumulators and a fixed overhead."""
    live = named("live_registers", accumulators + compiler.overhead, "registers")
    cap = compiler.register_cap(threads)
    return Registers(accumulators, live, minimum(live, cap), cap, compiler.data["registers"]["overhead"]["source"])


def pointer_registers(
    compiler: Compiler, accumulators: Expr, threads: Expr, operands: tuple[Operand, Operand], path: Path
) -> Registers:
    """A kernel that computes an address for each vector it loads.

    With one stage the operands pass through registers on their way to shared memory; on the mma path with one
    buffer (two stages) they are all read before the buffer is filled again; without divisibility hints each
    element has its own 64-bit address. Everything else spills on its accumulators alone.
    """
    data = compiler.data["registers"]
    overhead = compiler.overhead
    a, b = (vectors(compiler, item, threads) for item in operands)
    staged, single, stages = data["one_stage"], data["one_buffer"], Var("num_stages")
    on_mma = negate(any_of(path.wgmma, path.tcgen05))
    live: Expr = select(
        stages.eq(1),
        accumulators + staged["per_vector_a"] * a + staged["per_vector_b"] * b + staged["base"],
        select(
            all_of(stages.eq(2), on_mma),
            accumulators + single["per_vector_b"] * b + single["base"],
            accumulators + overhead,
        ),
    )
    narrow = [ceildiv(item.elements, threads) for item in operands if not item.hinted]
    if narrow:
        addresses = total(narrow) * data["unhinted"]["percent_per_element"] // 100
        live = accumulators + addresses + overhead
    live = named("live_registers", live, "registers")
    used = data["used"]
    held = select(
        stages.eq(1),
        _weighted(used["one_stage"], accumulators, a, b),
        select(on_mma, _weighted(used["mma"], accumulators, a, b), _weighted(used["wgmma"], accumulators, a, b)),
    )
    cap = compiler.register_cap(threads)
    return Registers(accumulators, live, minimum(live if narrow else held, cap), cap, staged["source"])


def _weighted(row: Mapping[str, Any], accumulators: Expr, a: Expr, b: Expr) -> Expr:
    """Registers by a row of percents."""
    percents = accumulators * int(row["accumulator"]) + a * int(row["a"]) + b * int(row["b"])
    return percents // 100 + int(row["base"])


def through_tensor_memory(compiler: Compiler, registers: Registers, path: Path, out: DType) -> Registers:
    """Where a tile accumulates in tensor memory, a thread holds only its part of the output, in the output's type.

    It is read out whole at the end (compiled 3.6 for sm_100: 256 accumulators a thread do not spill, 512 do).
    """
    if path.tcgen05 is FALSE:
        return registers
    packed = ceildiv(registers.accumulators * out.bits, 32)
    held = select(path.tcgen05, packed, registers.accumulators)
    # The loop's own registers are free again by the time the output is read.
    after, inside = held + compiler.overhead, registers.live - registers.accumulators
    live = select(path.tcgen05, maximum(after, inside), registers.live)
    return replace(
        registers,
        accumulators=named("accumulators_per_thread", held, "registers"),
        live=named("live_registers", live, "registers"),
    )


def vectors(compiler: Compiler, operand: Operand, threads: Expr) -> Expr:
    """Vectors of an operand's tile that one thread loads."""
    return ceildiv(operand.tile_bytes, threads * compiler.number("vector_bytes"))
