"""The model of a Triton kernel: variables, metrics and rules from what the compiler does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tilesearch.errors import InputError, Issue
from tilesearch.kernels.base import Context, tile_of, tile_variables, variables
from tilesearch.kernels.evidence import unseen
from tilesearch.kernels.triton import attention, matmul, rowwise, stream_k
from tilesearch.kernels.triton.amd import build_amd
from tilesearch.kernels.triton.compiler import Compiler, compiler_of, kernel_variant
from tilesearch.kernels.triton.paths import Path, choose, dot_rules, tensor_size
from tilesearch.kernels.triton.registers import (
    Registers,
    pointer_registers,
    through_tensor_memory,
    tma_registers,
)
from tilesearch.kernels.versions import since
from tilesearch.rules import compiled, nvidia
from tilesearch.rules.expr import FALSE, Expr, Var, as_expr, ceildiv, maximum, minimum, select
from tilesearch.rules.geometry import Geometry
from tilesearch.rules.limits import constant_of, known
from tilesearch.rules.metrics import EqualShares, launch_metrics, residency_of
from tilesearch.rules.model import Model, Rule, Variable, constant, named
from tilesearch.rules.occupancy import UNLIMITED, Load, limited
from tilesearch.specs.devices import AmdDevice, NvidiaDevice

_CLUSTER = ("cluster_m", "cluster_n")  # num_ctas stays 1: the loops of Triton's users do not set it


_MEASURED = ("gemm", "block_scaled_gemm")
"""Products whose kernels were compiled; the others are taken to be like them."""


@dataclass(frozen=True)
class TensorMemoryUse:
    """The rule on tensor memory, and the blocks that an SM's columns admit."""

    rule: Rule
    blocks: Expr


class Frame:
    """What every Triton kernel has: its compiler, variables, geometry, and the threads of a program."""

    def __init__(self, context: Context, device: NvidiaDevice) -> None:
        self.context = context
        self.device = device
        self.program = context.program
        self.compiler: Compiler = compiler_of(context, device)
        self.names = tuple(n for n in tile_variables(context.program) if n not in _CLUSTER)
        self.space: tuple[Variable, ...] = variables(context, self.names)
        self.geometry = Geometry(context.program, frozenset(self.names))
        warp = constant_of(device, "warp_size")
        self.threads = named("threads_per_block", Var("num_warps") * warp, "threads")

    def shape_rules(self) -> tuple[Rule, ...]:
        """Every block size and the number of warps are powers of two."""
        sizes = [n for n in self.names if n.startswith("block_") or n.endswith("_per_block") or n == "num_warps"]
        return compiled.powers_of_two(sizes, self.compiler.source)

    def model(
        self,
        shared: Expr,
        registers: Registers,
        shape: tuple[Rule, ...],
        persistent: bool = False,
        memory: TensorMemoryUse | None = None,
        shares: EqualShares | None = None,
    ) -> Model:
        """The rules in their order, C1 to C4, and the launch's metrics."""
        device = self.device
        load = Load(
            threads=self.threads,
            registers=named("registers_per_thread", registers.used, "registers"),
            shared=named("shared_bytes", shared, "B"),
            accumulators=registers.accumulators,
        )
        per_block = nvidia.shared_memory(device, load.shared)
        rules: tuple[Rule, ...] = (
            *target_rule(self.compiler),
            per_block,
            nvidia.shared_memory_per_sm(device, load.shared, per_block),
            *(() if memory is None else (memory.rule,)),
            nvidia.accumulators(device, load.held, hard=False),
            compiled.spills(registers.live, registers.cap, registers.source),
            nvidia.register_file(device, load),
            *self.shape_rules(),
            *shape,
            nvidia.threads(device, load.threads),
        )
        residency = residency_of(device, load, self.context.model.occupancy)
        if memory is not None:
            residency = limited(residency, "tensor_memory", memory.blocks)
        grid, launched = self.geometry.grid(), None
        if persistent and known(device, "sm_count"):
            launched = grid = minimum(grid, constant_of(device, "sm_count"))
        if shares is not None:
            launched = grid = shares.blocks
        rules = (*rules, nvidia.occupancy(residency, rules, "CUDA occupancy arithmetic"), nvidia.grid(device, grid))
        built = launch_metrics(
            device,
            self.program,
            self.geometry,
            load,
            residency,
            self.space,
            rules,
            self.context.model.blocks_per_sm,
            launched=launched,
            shares=shares,
        )
        facts = {"live_registers": registers.live, "register_cap": registers.cap}
        facts |= {"persistent": as_expr(persistent or shares is not None), "stream": as_expr(shares is not None)}
        return replace(built, facts=facts)


def target_rule(compiler: Compiler) -> tuple[Rule, ...]:
    """C3.target, where the version has no target for the device: it compiles nothing for it."""
    if compiler.has_target:
        return ()
    newest, capability = compiler.newest_target, compiler.device.compute_capability
    return (
        Rule(
            id="C3.target",
            sentence="the compiler has a target for the device",
            value=constant("has_target", 0),
            limit=constant("needed", 1),
            relation="ge",
            source=since(compiler.data["targets"], compiler.version)["source"],
            note=f"{compiler.source} compiles for compute capability {newest} at most, not {capability}",
        ),
    )


def _with_evidence(frame: Frame, model: Model, kind: str, variant: str = "") -> Model:
    """The model with a note for what was not compared with builds of this version for this device."""
    compiler = frame.compiler
    notes = unseen(compiler.data["seen"], "Triton", compiler.version, compiler.device, kind, variant)
    return replace(model, notes=(*model.notes, *notes))


def build(context: Context) -> Model:
    """The model of `context` in Triton. Raises `InputError` for what the language does not cover."""
    device, program = context.device, context.program
    if isinstance(device, AmdDevice):
        return build_amd(context, device)
    if not isinstance(device, NvidiaDevice):
        raise InputError(Issue(f"the triton language has no rules for {device.vendor} devices yet", "device"))
    if program.kind == "attention":
        return _attention(Frame(context, device))
    if program.contractions:
        return _matrix(Frame(context, device))
    if program.kind == "reduction" and program.split is not None:
        hint = "softmax, layernorm and rmsnorm have rules; generic covers every operator"
        message = "the triton language has no rules for reductions that stream their rows yet"
        raise InputError(Issue(message, "op.function", context.source, hint))
    if program.kind in _ROWWISE:
        return _rowwise(Frame(context, device), _ROWWISE[program.kind])
    hint = f"it has rules for matrix products, attention, {', '.join(_ROWWISE)}; generic covers every operator"
    raise InputError(Issue(f"the triton language has no rules for {program.kind} yet", "op.kind", context.source, hint))


def _matrix(frame: Frame) -> Model:
    program, compiler, geometry = frame.program, frame.compiler, frame.geometry
    variant = kernel_variant(frame.context, "matrix", compiler.version)
    if variant == "persistent":
        variant = "persistent_tma" if compiler.has_tma else "persistent_pointer"
    kernel = matmul.kernel_of(variant)
    first = program.contractions[0]
    a = first.computed or program.dtype_of(first.a)
    b = first.computed or program.dtype_of(first.b)
    tile = tile_of(geometry, first)
    path = choose(compiler, tile, a, b, first.acc)
    _require_instruction(frame, path, matmul.is_computable(compiler, a))
    product = matmul.product_of(compiler, program, kernel, tile, path)
    held = named("accumulators_per_thread", ceildiv(geometry.held_bits(), frame.threads * 32), "registers")
    registers = (
        tma_registers(compiler, held, frame.threads)
        if kernel.tma
        else pointer_registers(compiler, held, frame.threads, product.operands, path)
    )
    registers = through_tensor_memory(compiler, registers, path, program.outputs[0].dtype)
    shape, shares = (*dot_rules(compiler, tile, a), *matmul.tma_rules(product)), None
    if kernel.stream:
        stream_k.require_gemm(frame.context)
        registers, shape = stream_k.registers_of(compiler, registers), (*shape, stream_k.no_split())
        shares = stream_k.shares_of(frame.context, geometry, tile)
    memory = _tensor_memory(frame, path, tile)
    model = frame.model(matmul.shared_bytes(product), registers, shape, kernel.persistent, memory, shares)
    notes = () if program.kind in _MEASURED else (f"{program.kind}: judged as the matrix product that it lowers to",)
    notes = (*notes, *matmul.narrow_notes(product))
    facts = {**model.facts, **matmul.facts(product)}
    return _with_evidence(frame, replace(model, remarks=path.remarks, notes=notes, facts=facts), "matrix", variant)


def _tensor_memory(frame: Frame, path: Path, tile: nvidia.TileShape) -> TensorMemoryUse | None:
    memory = frame.device.tensor_memory
    if memory is None or path.tcgen05 is FALSE:
        return None
    columns = nvidia.tensor_memory_columns(memory, tile.m, tile.n)
    held = constant("columns", int(memory.columns.value or 0)) // maximum(columns, 1)
    return TensorMemoryUse(
        nvidia.tensor_memory(frame.device, columns, path.tcgen05), select(path.tcgen05, held, UNLIMITED)
    )


def _require_instruction(frame: Frame, path: Path, computable: bool) -> None:
    if path.has_instruction or computable:
        return
    program, first = frame.program, frame.program.contractions[0]
    message = (
        f"{frame.device.name} (compute capability {frame.device.compute_capability}) has no matrix instruction for "
        f"{program.dtype_of(first.a).name} in {frame.compiler.source}, and its CUDA cores do not take that type"
    )
    raise InputError(Issue(message, "op.dtype", frame.context.source, "choose another dtype or device"))


def _attention(frame: Frame) -> Model:
    compiler, geometry = frame.compiler, frame.geometry
    variant = kernel_variant(frame.context, "attention", compiler.version)
    tma = variant == "tma"
    kernel = attention.attention_of(frame.context, compiler, geometry, tma)
    registers = attention.registers_of(kernel, frame.threads)
    scores = nvidia.TileShape(kernel.rows, kernel.keys, as_expr(kernel.head_dim), Var("num_warps"))
    shape = dot_rules(compiler, scores, kernel.operand)
    if tma and not compiler.has_tma:
        shape = (*shape, matmul.needs_tma(compiler))
    model = frame.model(attention.shared_bytes(kernel), registers, shape)
    facts = {"wgmma": kernel.path.wgmma, "tma": as_expr(tma), "buffers": attention.buffers(kernel)}
    model = replace(model, remarks=kernel.path.remarks, facts={**model.facts, **facts})
    kind = "paged attention" if attention.is_paged(frame.program) else "attention"
    return _with_evidence(frame, model, kind, variant)


_Footprint = Callable[..., rowwise.Footprint]
_ROWWISE: dict[str, _Footprint] = {
    "reduction": rowwise.rows_of,
    "rows": rowwise.fused_rows,
    "gemv": rowwise.vector_product,
    "elementwise": rowwise.elements_of,
}


def _rowwise(frame: Frame, footprint: _Footprint) -> Model:
    kernel_variant(frame.context, "rows", frame.compiler.version)
    taken = footprint(frame.compiler, frame.program, frame.geometry, frame.threads)
    model = frame.model(taken.shared, taken.registers, (tensor_size(frame.compiler, taken.elements),))
    return _with_evidence(frame, model, frame.program.kind)
