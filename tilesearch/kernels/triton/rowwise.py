"""Triton kernels without a matrix product: whole rows, matrix-vector products, independent elements."""

from __future__ import annotations

from dataclasses import dataclass

from tilesearch.kernels.triton.compiler import Compiler
from tilesearch.kernels.triton.registers import Registers
from tilesearch.program.form import Program, Role
from tilesearch.rules.compiled import next_power_of_two
from tilesearch.rules.expr import Expr, Var, all_of, ceildiv, const, maximum, minimum, select
from tilesearch.rules.geometry import Geometry, storage
from tilesearch.rules.model import named


@dataclass(frozen=True)
class Footprint:
    """What a block takes: bytes of shared memory, registers of a thread, elements of its largest tensor."""

    shared: Expr
    registers: Registers
    elements: Expr


def rows_of(compiler: Compiler, program: Program, geometry: Geometry, threads: Expr) -> Footprint:
    """Whole rows of a reduction, padded to a power of two and held in fp32.

    Where several warps share a row, each leaves one partial sum a row in shared memory. Weights are loaded in
    a layout of their own and brought into that of the rows through shared memory, unless the warps cover one
    row exactly.
    """
    row, length = program.dims
    rows, columns = geometry.tile(row), next_power_of_two(length.extent)
    warps = Var("num_warps")
    held = ceildiv(rows * columns, threads)
    value = program.tensors[0]
    widest = max(1, 8 * compiler.number("vector_bytes") // value.dtype.bits)
    vector = minimum(widest, maximum(1, rows * columns // (warps * compiler.lanes)))
    along = named("warps_along_row", minimum(warps, maximum(1, columns // (compiler.lanes * vector))), "warps")
    partial = select(along > 1, 4 * rows * along, 0)
    weights = [t for t in program.tensors if t.role is Role.TABLE]
    widest_weight = max((storage(const(columns), t.dtype) for t in weights), key=_size, default=None)
    shared = partial
    if widest_weight is not None:
        shared = maximum(partial, select(all_of(rows > 1, warps > along), widest_weight, 0))
    data = compiler.data["registers"]["rows"]
    cap = compiler.register_cap(threads)
    registers = Registers(
        accumulators=named("accumulators_per_thread", held, "registers"),
        live=named("live_registers", held + compiler.overhead, "registers"),
        used=minimum(cap, data["used_base"] + held * data["used_percent"] // 100),
        cap=cap,
        source=data["source"],
    )
    return Footprint(shared, registers, rows * columns)


def fused_rows(compiler: Compiler, program: Program, geometry: Geometry, threads: Expr) -> Footprint:
    """Rows of several tokens at once, normalised, turned and quantised in registers, each row a power of two long.

    Where several warps share a row, each leaves one partial sum a row in shared memory.
    """
    columns = next_power_of_two(program.dim("d").extent)
    rows, warps = geometry.tile(program.dim("token")) * geometry.tile(program.dim("row")), Var("num_warps")
    held = ceildiv(rows * columns, threads)
    data = compiler.data["registers"]["fused_rows"]
    wanted = data["used_base"] + held * data["used_percent"] // 100
    along = named("warps_along_row", maximum(1, warps // rows), "warps")
    cap = compiler.register_cap(threads)
    registers = Registers(
        accumulators=named("accumulators_per_thread", held, "registers"),
        live=named("live_registers", wanted, "registers"),
        used=minimum(cap, wanted),
        cap=cap,
        source=data["source"],
    )
    return Footprint(select(along > 1, 4 * rows * along, 0), registers, rows * columns)


def _size(tree: Expr) -> int:
    return int(getattr(tree, "value", 0))


def vector_product(compiler: Compiler, program: Program, geometry: Geometry, threads: Expr) -> Footprint:
    """A matrix-vector product without matrix instructions: products in a layout of three dimensions.

    The matrix tile and the vectors are brought into that layout through shared memory, 32 B of each thread in
    a round; a tile of one element a thread needs no conversion. Sums over warps leave 4 B a row and vector.
    """
    batch = next_power_of_two(program.dim("batch").extent)
    n, k = geometry.tile(program.dim("n")), geometry.tile(program.dim("k"))
    matrix = program.tensor("b")
    warps, products = Var("num_warps"), n * k * batch
    tile = storage(maximum(n, batch) * k, matrix.dtype)
    round_bytes = 2 * compiler.number("vector_bytes") * threads
    converted = select(maximum(n, batch) * k <= threads, 0, minimum(tile, round_bytes))
    summed = select(warps > 1, 4 * n * batch * warps, 0)
    data = compiler.data["registers"]["vector"]
    sums = n * batch  # of a step, before they are shared out: each lane has them all
    loaded = ceildiv(n * k, threads) * data["matrix_percent"] + ceildiv(batch * k, threads) * data["vector_percent"]
    wanted = maximum(data["used_base"] + loaded // 100, data["per_sum"] * sums)
    cap = compiler.register_cap(threads)
    registers = Registers(
        accumulators=named("accumulators_per_thread", ceildiv(sums, threads), "registers"),
        live=named("live_registers", sums + compiler.overhead, "registers"),
        used=minimum(cap, wanted),
        cap=cap,
        source=data["source"],
    )
    return Footprint(
        select(converted > 0, maximum(converted, minimum(summed, round_bytes)), summed), registers, products
    )


def elements_of(compiler: Compiler, program: Program, geometry: Geometry, threads: Expr) -> Footprint:
    """Independent elements: registers only, each operand's elements of a thread in 32 bits."""
    tile = maximum(*(geometry.region(t) for t in program.tensors))
    held = ceildiv(tile, threads) * len(program.tensors)
    data = compiler.data["registers"]["rows"]
    cap = compiler.register_cap(threads)
    registers = Registers(
        accumulators=named("accumulators_per_thread", const(0), "registers"),
        live=named("live_registers", held + compiler.overhead, "registers"),
        used=minimum(cap, held + compiler.overhead),
        cap=cap,
        source=data["source"],
    )
    return Footprint(const(0), registers, tile)
