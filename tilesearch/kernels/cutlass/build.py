"""The model of a CUTLASS GEMM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tilesearch.errors import InputError, Issue
from tilesearch.kernels.base import Context, language_data, tile_of, tile_variables, variables
from tilesearch.kernels.versions import Version, since, variant_of, version_of
from tilesearch.rules import compiled, nvidia
from tilesearch.rules.expr import Expr, Var, as_expr, ceildiv, const, maximum, member, minimum
from tilesearch.rules.geometry import Geometry
from tilesearch.rules.limits import constant_of, limit, source, unknown
from tilesearch.rules.metrics import launch_metrics, residency_of
from tilesearch.rules.model import Metric, Model, Rule, constant, named
from tilesearch.rules.nvidia import TileShape
from tilesearch.rules.occupancy import Load
from tilesearch.specs.devices import NvidiaDevice
from tilesearch.specs.instructions import Instruction, instructions_for

_KINDS = ("gemm", "grouped_gemm")


@dataclass(frozen=True)
class Gemm:
    """One kernel: its tile, its data, and the operands' bytes of one stage."""

    context: Context
    device: NvidiaDevice
    data: Mapping[str, Any]
    version: Version
    geometry: Geometry
    tile: TileShape
    instruction: Instruction

    @property
    def stage(self) -> Expr:
        """Bytes of A and B of one stage."""
        return self.geometry.stage_bytes()


@dataclass(frozen=True)
class Block:
    """What a block takes: threads, the accumulators and register cap of a thread, bytes, and the shape's rules."""

    threads: Expr
    accumulators: Expr
    cap: Expr
    used: Expr
    shared: Expr
    rules: tuple[Rule, ...]
    source: str
    overhead: int
    stages: Expr | None = None


def build(context: Context) -> Model:
    """The model of `context` in CUTLASS. Raises `InputError` for what the language does not cover."""
    device, program = context.device, context.program
    if not isinstance(device, NvidiaDevice):
        raise InputError(Issue(f"the cutlass language has no rules for {device.vendor} devices", "device"))
    if program.kind not in _KINDS:
        hint = f"it has rules for {' and '.join(_KINDS)}; generic covers every operator"
        raise InputError(
            Issue(f"the cutlass language has no rules for {program.kind}", "op.kind", context.source, hint)
        )
    data = language_data("cutlass")
    wide = device.tma is not None and _instruction(context, device, "wgmma") is not None
    version = version_of(context.kernel, data["versions"], context.source)
    known = data["variants"]["sm90" if wide else "sm80"]
    variant = variant_of(context.kernel, known, context.source, data, version, device.name)
    names = tile_variables(program)
    space, geometry = variables(context, names), Geometry(program, frozenset(names))
    instruction = _instruction(context, device, "mma" if variant == "sm80" else "wgmma")
    if instruction is None:
        a = program.dtype_of(program.contractions[0].a)
        raise InputError(Issue(f"{device.name} has no matrix instruction for {a.name}", "op.dtype", context.source))
    tile = tile_of(geometry, program.contractions[0])
    gemm = Gemm(context, device, data, version, geometry, tile, instruction)
    block = _multistage(gemm) if variant == "sm80" else _warp_specialised(gemm, variant == "sm90_cooperative")
    model = _model(gemm, block, space)
    return replace(model, notes=(*model.notes, data["compiled_note"], *_other_collectives(gemm)))


def _other_collectives(gemm: Gemm) -> list[str]:
    """A note where CUTLASS has kernels for the device that are no variant here."""
    found = [name for name in gemm.data["other_collectives"] if _instruction(gemm.context, gemm.device, name)]
    return [
        f"{gemm.device.name} has {name}, whose collectives have no rules here: the 2.x mainloop on mma was judged"
        for name in found
    ]


def _instruction(context: Context, device: NvidiaDevice, family: str) -> Instruction | None:
    product, program = context.program.contractions[0], context.program
    a, b = program.dtype_of(product.a), program.dtype_of(product.b)
    names = ["tf32" if t.name == "fp32" else t.name for t in (a, b)]
    found = instructions_for(device, names[0], product.acc.name, names[1])
    return next((i for i in found if i.family == family and not i.scale), None)


def _multistage(gemm: Gemm) -> Block:
    """2.x: every warp copies, waits and multiplies; ``stages x (A + B)``, which the epilogue uses again."""
    data, tile = gemm.data["sm80"], gemm.tile
    threads = named("threads_per_block", tile.warps * constant_of(gemm.device, "warp_size"), "threads")
    held = named("accumulators_per_thread", ceildiv(gemm.geometry.held_bits(), threads * 32), "registers")
    cap = compiled.register_cap(gemm.device, threads)
    overhead = gemm.data["overhead"]["value"]
    a = gemm.context.program.dtype_of(gemm.context.program.contractions[0].a)
    share = data["warp_tile"]
    rules = (
        compiled.multiple_of(
            "C3.instruction_m", "block_m holds whole instructions", tile.m, share["m"], share["source"]
        ),
        compiled.multiple_of(
            "C3.instruction_n", "block_n holds whole instructions", tile.n, share["n"], share["source"]
        ),
        compiled.multiple_of(
            "C3.instruction_k",
            "block_k holds whole vectors and instruction steps",
            tile.k,
            max(gemm.instruction.k, 8 * data["k_bytes"]["value"] // a.bits),
            data["k_bytes"]["source"],
        ),
        compiled.at_least(
            "C3.warps",
            "every warp has an instruction of the tile",
            (tile.m // share["m"]) * (tile.n // share["n"]) // tile.warps,
            1,
            share["source"],
            "instructions",
        ),
        _stages_rule(Var("num_stages"), data["minimum_stages"]),
        *_without_async_copies(gemm.device, data),
        Rule(
            id="C3.cluster",
            sentence="the 2.x kernels launch no clusters",
            value=Var("cluster_m") * Var("cluster_n"),
            limit=const(1),
            unit="blocks",
            source="cutlass/gemm/kernel/gemm_universal.h: launched without a cluster",
        ),
    )
    used = minimum(cap, held + overhead)
    shared = Var("num_stages") * gemm.stage
    return Block(threads, held, cap, used, shared, rules, share["source"], overhead)


def _warp_specialised(gemm: Gemm, cooperative: bool) -> Block:
    """3.x: a producer warpgroup feeds two consumers, which share a tile (cooperative) or take turns (pingpong).

    StageCountAuto fills what the epilogue leaves: ``(limit - epilogue) // (A + B + 16)``.
    """
    data, tile, device = gemm.data["sm90"], gemm.tile, gemm.device
    consumers, group = data["consumers"]["value"], gemm.instruction.threads
    threads = named("threads_per_block", as_expr(consumers * group + data["producer_threads"]["value"]), "threads")
    owners = consumers if cooperative else 1
    held = named("accumulators_per_thread", ceildiv(gemm.geometry.held_bits(), owners * group * 32), "registers")
    own = since(data["consumer_registers"], gemm.version)
    out = gemm.context.program.outputs[0].dtype
    epilogue, each = data["epilogue"], data["pipeline_bytes"]["value"]
    staging = owners * epilogue["rows"] * epilogue["columns"] * epilogue["buffers"] * out.bits // 8
    per_stage = gemm.stage + each
    capacity = constant_of(device, "shared_per_block_optin")
    stages = named("automatic_stages", (capacity - staging) // maximum(per_stage, 1), "stages")
    rows = data["rows"]
    rules = (
        compiled.multiple_of(
            "C3.instruction_m", "each consumer has whole wgmma rows", tile.m, rows["value"] * owners, rows["source"]
        ),
        Rule(
            id="C3.instruction_n",
            sentence="block_n is an N that wgmma has",
            value=member(tile.n, gemm.instruction.n_values),
            limit=const(gemm.instruction.n_values[-1]),
            source=gemm.instruction.source,
        ),
        compiled.multiple_of(
            "C3.instruction_k", "block_k is whole wgmma steps", tile.k, gemm.instruction.k, gemm.instruction.source
        ),
        Rule(
            id="C3.warps",
            sentence="num_warps counts the consumers' warps",
            value=Var("num_warps"),
            limit=constant("consumer_warps", consumers * group // 32),
            relation="eq",
            unit="warps",
            source=data["consumers"]["source"],
        ),
        _stages_rule(Var("num_stages"), data["minimum_stages"]),
        _cluster_rule(device),
    )
    overhead = gemm.data["overhead"]["value"]
    cap = constant("consumer_registers", own["value"])
    used = compiled.register_cap(device, threads)
    shared = Var("num_stages") * per_stage + staging
    return Block(threads, held, cap, used, shared, rules, own["source"], overhead, stages)


def _stages_rule(stages: Expr, entry: Mapping[str, Any]) -> Rule:
    return compiled.at_least(
        "C3.stages", "the pipeline has the stages it needs", stages, entry["value"], entry["source"], "stages"
    )


def _without_async_copies(device: NvidiaDevice, data: Mapping[str, Any]) -> tuple[Rule, ...]:
    """C3.async_copy: below cc 8.0 there is no multistage mainloop, only the one that copies through registers."""
    first = tuple(int(part) for part in data["async_copy_from"]["value"].split("."))
    if tuple(int(part) for part in device.compute_capability.split(".")) >= first:
        return ()
    entry = data["stages_without"]
    return (
        Rule(
            id="C3.async_copy",
            sentence="without cp.async a mainloop has two stages",
            value=Var("num_stages"),
            limit=constant("stages_without_cp_async", entry["value"]),
            unit="stages",
            source=entry["source"],
        ),
    )


def _cluster_rule(device: NvidiaDevice) -> Rule:
    return Rule(
        id="C3.cluster",
        sentence="the blocks of a cluster fit in one processing cluster, as far as is guaranteed",
        value=Var("cluster_m") * Var("cluster_n"),
        limit=limit(device, "cluster_max_size"),
        unit="blocks",
        source=source(device, "cluster_max_size"),
        unknown=unknown(device, "cluster_max_size"),
    )


def _model(gemm: Gemm, block: Block, space: Any) -> Model:
    device, context = gemm.device, gemm.context
    load = Load(
        threads=block.threads,
        registers=named("registers_per_thread", block.used, "registers"),
        shared=named("shared_bytes", block.shared, "B"),
        accumulators=block.accumulators,
    )
    live = named("live_registers", block.accumulators + block.overhead, "registers")
    per_block = nvidia.shared_memory(device, load.shared)
    residency = residency_of(device, load, context.model.occupancy)
    rules: tuple[Rule, ...] = (
        per_block,
        nvidia.shared_memory_per_sm(device, load.shared, per_block),
        nvidia.accumulators(device, load.held, hard=False),
        compiled.spills(live, block.cap, block.source),
        nvidia.register_file(device, load),
        *block.rules,
        nvidia.threads(device, load.threads),
    )
    grid = gemm.geometry.grid()
    rules = (*rules, nvidia.occupancy(residency, rules, "CUDA occupancy arithmetic"), nvidia.grid(device, grid))
    assumed = context.model.blocks_per_sm
    model = launch_metrics(device, context.program, gemm.geometry, load, residency, space, rules, assumed)
    if block.stages is None:
        return model
    automatic = Metric("automatic_stages", block.stages, "stages", "what StageCountAuto takes")
    return replace(model, metrics={**model.metrics, automatic.name: automatic})
