"""The model of a Triton kernel: variables, metrics and rules from what the compiler does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tilesearch.errors import InputError, Issue
from tilesearch.kernels.base import Context, tile_variables, variables
from tilesearch.kernels.triton import matmul
from tilesearch.kernels.triton.compiler import Compiler, compiler_of, kernel_variant
from tilesearch.kernels.triton.paths import choose, dot_rules
from tilesearch.kernels.triton.registers import Registers, pointer_registers, tma_registers
from tilesearch.rules import compiled, nvidia
from tilesearch.rules.expr import Expr, Var, ceildiv, minimum
from tilesearch.rules.geometry import Geometry
from tilesearch.rules.limits import constant_of, known
from tilesearch.rules.metrics import launch_metrics, residency_of
from tilesearch.rules.model import Model, Rule, constant, named
from tilesearch.rules.occupancy import Load
from tilesearch.specs.devices import NvidiaDevice

_CLUSTER = ("cluster_m", "cluster_n")  # Triton's num_ctas stays 1: the tile loops of its users do not set it


def build(context: Context) -> Model:
    """The model of `context` in Triton. Raises `InputError` for what the language does not cover."""
    device = context.device
    if not isinstance(device, NvidiaDevice):
        raise InputError(Issue(f"the triton language has no rules for {device.vendor} devices yet", "device"))
    return _BUILDERS[context.program.kind](context, device)


def _gemm(context: Context, device: NvidiaDevice) -> Model:
    compiler, program = compiler_of(context, device), context.program
    kernel = matmul.kernel_of(kernel_variant(context, "gemm"), compiler)
    names = tuple(n for n in tile_variables(program) if n not in _CLUSTER)
    space = variables(context, names)
    geometry = Geometry(program, frozenset(names))
    first = program.contractions[0]
    a, b = program.dtype_of(first.a), program.dtype_of(first.b)
    tile = nvidia.TileShape(
        *(geometry.tile(program.dim(dim)) for dim in (first.m, first.n, first.k)), warps=Var("num_warps")
    )
    path = choose(compiler, tile, a, b, first.acc)
    product = matmul.product_of(compiler, program, geometry, kernel, tile, path)
    threads = named("threads_per_block", Var("num_warps") * constant_of(device, "warp_size"), "threads")
    held = named("accumulators_per_thread", ceildiv(geometry.held_bits(), threads * 32), "registers")
    registers = (
        tma_registers(compiler, held, threads)
        if kernel.tma
        else pointer_registers(compiler, held, threads, product.operands, path)
    )
    load = _load(threads, registers, matmul.shared_bytes(product))
    shape = (*compiled.powers_of_two(_powers(names), compiler.source), *dot_rules(compiler, tile, a))
    model = _model(context, device, geometry, load, registers, shape, space, kernel.persistent)
    return replace(model, remarks=path.remarks)


def _powers(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(n for n in names if n.startswith("block_") or n == "num_warps")


def _load(threads: Expr, registers: Registers, shared: Expr) -> Load:
    return Load(
        threads=threads,
        registers=named("registers_per_thread", registers.used, "registers"),
        shared=named("shared_bytes", shared, "B"),
        accumulators=registers.accumulators,
    )


def _model(
    context: Context,
    device: NvidiaDevice,
    geometry: Geometry,
    load: Load,
    registers: Registers,
    shape: tuple[Rule, ...],
    space: tuple[object, ...],
    persistent: bool = False,
) -> Model:
    """The rules in their order, C1 to C4, and the launch's metrics."""
    per_block = nvidia.shared_memory(device, load.shared)
    rules: tuple[Rule, ...] = (
        per_block,
        nvidia.shared_memory_per_sm(device, load.shared, per_block),
        nvidia.accumulators(device, load.held, hard=False),
        compiled.spills(registers.live, registers.cap, registers.source),
        nvidia.register_file(device, load),
        *shape,
        nvidia.threads(device, load.threads),
    )
    residency = residency_of(device, load, context.model.occupancy)
    launched = None
    grid = geometry.grid()
    if persistent and known(device, "sm_count"):
        launched = grid = minimum(grid, constant_of(device, "sm_count"))
    rules = (*rules, nvidia.occupancy(residency, rules, "CUDA occupancy arithmetic"), nvidia.grid(device, grid))
    return launch_metrics(
        device,
        context.program,
        geometry,
        load,
        residency,
        variables=space,  # type: ignore[arg-type]
        rules=rules,
        assumed_blocks=context.model.blocks_per_sm,
        launched=launched,
    )


_BUILDERS: dict[str, Callable[[Context, NvidiaDevice], Model]] = {"gemm": _gemm}
"""Operator kind to builder."""

__all__ = ["Compiler", "build", "constant"]
