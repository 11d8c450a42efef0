"""The model of a TileLang kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tilesearch.errors import InputError, Issue
from tilesearch.kernels.base import Context, language_data, tile_of, tile_variables, variables
from tilesearch.kernels.evidence import unseen
from tilesearch.kernels.tilelang.partition import Partition, instruction_columns, warp_partition
from tilesearch.kernels.versions import variant_of, version_of
from tilesearch.program.form import Program
from tilesearch.rules import compiled, nvidia
from tilesearch.rules.expr import FALSE, Expr, Var, as_expr, ceildiv, maximum, minimum, negate, select
from tilesearch.rules.geometry import Geometry
from tilesearch.rules.limits import constant_of
from tilesearch.rules.metrics import launch_metrics, residency_of
from tilesearch.rules.model import Model, Remark, Rule, named
from tilesearch.rules.occupancy import Load
from tilesearch.specs.devices import NvidiaDevice
from tilesearch.specs.instructions import instructions_for

_CLUSTER = ("cluster_m", "cluster_n")


def build(context: Context) -> Model:
    """The model of `context` in TileLang. Raises `InputError` for what the language does not cover."""
    device, kind = context.device, context.program.kind
    if not isinstance(device, NvidiaDevice):
        raise InputError(Issue(f"the tilelang language has no rules for {device.vendor} devices yet", "device"))
    if kind not in _BUILDERS:
        hint = f"it has rules for {', '.join(_BUILDERS)}; generic covers every operator"
        raise InputError(Issue(f"the tilelang language has no rules for {kind} yet", "op.kind", context.source, hint))
    data = language_data("tilelang")
    version = version_of(context.kernel, data["versions"], context.source)
    variant_of(context.kernel, data["variants"][kind], context.source)
    model = _BUILDERS[kind](context, device, data)
    return replace(model, notes=(*model.notes, *unseen(data["seen"], "TileLang", version, device, kind)))


@dataclass(frozen=True)
class Block:
    """The threads and registers of a block: `pipelined` holds where a producer warpgroup feeds the others."""

    threads: Expr
    pipelined: Expr
    registers: Expr
    live: Expr
    cap: Expr
    hardware_cap: Expr


def _block(data: Mapping[str, Any], device: NvidiaDevice, accumulators: Expr, staged: bool = True) -> Block:
    """Threads launched, and registers: a pipelined kernel on the TMA caps its consumers by setmaxnreg, and is
    compiled for one block per SM, so that it takes its cap whatever the tile needs (up to 384 threads).
    """
    stages = Var("num_stages")
    asked = named("threads", Var("num_warps") * constant_of(device, "warp_size"), "threads")
    pipelined = stages >= 1 if device.tma is not None and staged else FALSE
    threads = named(
        "threads_per_block", asked + select(pipelined, as_expr(data["producer_threads"]["value"]), 0), "threads"
    )
    hardware = compiled.register_cap(device, threads)
    registers = data["registers"]
    cap: Expr = hardware
    caps = registers["consumer_caps"]
    specialised = asked <= caps["threads"][-1]
    for most, value in reversed(list(zip(caps["threads"], caps["registers"], strict=True))):
        cap = select(asked <= most, value, cap)
    live = named("live_registers", accumulators + registers["overhead"]["value"], "registers")
    free = minimum(hardware, accumulators + registers["used"]["free"])
    fed = select(specialised, minimum(hardware, caps["registers"][0]), free)
    alone = minimum(hardware, accumulators + registers["used"]["unpipelined"])
    return Block(
        threads=threads,
        pipelined=pipelined,
        registers=named("registers_per_thread", select(pipelined, fed, alone), "registers"),
        live=live,
        cap=named("register_cap", select(pipelined, cap, hardware), "registers"),
        hardware_cap=hardware,
    )


def _load(data: Mapping[str, Any], block: Block, shared: Expr, held: Expr) -> Load:
    """What a block takes: `shared` bytes of dynamic shared memory, and barriers where it is pipelined."""
    return Load(
        threads=block.threads,
        registers=block.registers,
        shared=named("shared_bytes", shared, "B"),
        static=select(block.pipelined, data["barrier_bytes"]["value"], 0),
        accumulators=held,
    )


def _gemm(context: Context, device: NvidiaDevice, data: Mapping[str, Any]) -> Model:
    program = context.program
    names = tuple(n for n in tile_variables(program) if n not in _CLUSTER)
    space, geometry = variables(context, names), Geometry(program, frozenset(names))
    product = program.contractions[0]
    tile = tile_of(geometry, product)
    has_wgmma = _has_wgmma(device, program)
    partition = warp_partition(data, tile, has_wgmma)
    threads = Var("num_warps") * constant_of(device, "warp_size")
    held = named("accumulators_per_thread", ceildiv(geometry.held_bits(), threads * 32), "registers")
    block = _block(data, device, held)
    shared = maximum(1, Var("num_stages")) * geometry.stage_bytes()
    load = _load(data, block, shared, held)
    rules = (
        *_not_covered(data, device, program),
        *partition.rules,
        *_shape_rules(data, program, tile, partition),
        *_instruction_rule(data, partition, block),
    )
    model = _model(context, device, geometry, load, block, rules, space)
    facts = {
        "wgmma": partition.wgmma,
        "tma": block.pipelined,
        "buffers": maximum(1, Var("num_stages")),
        "warps_m": partition.m,
        "live_registers": block.live,
        "register_cap": block.cap,
        "producer": block.pipelined,
    }
    return replace(model, remarks=_remarks(data, tile, partition, has_wgmma), facts=facts)


def _families(device: NvidiaDevice, program: Program) -> set[str]:
    """Families of matrix instructions that the device has for the first product."""
    product = program.contractions[0]
    a, b = (product.computed or program.dtype_of(name) for name in (product.a, product.b))
    return {item.family for item in instructions_for(device, a.name, product.acc.name, b.name)}


def _has_wgmma(device: NvidiaDevice, program: Program) -> bool:
    return "wgmma" in _families(device, program)


def _not_covered(data: Mapping[str, Any], device: NvidiaDevice, program: Program) -> tuple[Rule, ...]:
    """Rules that cannot be judged: what TileLang does with hardware that no build of the evidence had."""
    rules = []
    if "tcgen05" in _families(device, program):
        rules.append(
            _unknown(
                "C3.instruction",
                "the tile and its threads suit the instruction that TileLang chooses",
                f"{device.name}: which instruction TileLang chooses beside tcgen05, and what it needs, is not known",
            )
        )
    if _capability(device.compute_capability) < _capability(data["async_copy_from"]["value"]):
        text = f"{device.name} has no cp.async: how TileLang keeps the stages of a pipeline without it is not known"
        sentence = "the stages of a pipeline are what TileLang makes of them"
        rules.append(replace(_unknown("C3.async_copy", sentence, text), when=Var("num_stages") >= 2))
    return tuple(rules)


def _unknown(rule_id: str, sentence: str, reason: str) -> Rule:
    return Rule(rule_id, sentence, value=Var("num_stages"), limit=None, unit="stages", unknown=reason)


def _capability(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def _shape_rules(
    data: Mapping[str, Any], program: Program, tile: nvidia.TileShape, partition: Partition
) -> tuple[Rule, ...]:
    """C3: whole warp tiles and K steps, and the layout of a B that is not K-major."""
    product = program.contractions[0]
    b = program.tensor(product.b)
    share, step = data["warp_tile"], data["k_step_bits"]
    rules = [
        compiled.multiple_of("C3.instruction_m", "block_m holds whole warp tiles", tile.m, share["m"], share["source"]),
        compiled.multiple_of("C3.instruction_n", "block_n holds whole warp tiles", tile.n, share["n"], share["source"]),
        compiled.multiple_of(
            "C3.instruction_k",
            "block_k holds whole steps of the instruction (8 compiles without an error and computes wrong results)",
            tile.k,
            step["value"] // b.dtype.bits,
            f"{step['source']}; {data['silent']['source']}",
        ),
    ]
    k_major = product.k in {name for name, _ in b.axes[-1].terms}
    if not k_major and partition.wgmma is not FALSE:
        entry = data["mn_major_columns"]
        legal = select(partition.m >= 1, partition.columns, 0)
        rule = compiled.multiple_of(
            "C3.layout", "the columns of a warpgroup are canonical where B is N-major", legal, *entry_of(entry)
        )
        rules.append(replace(rule, when=partition.wgmma))
    return tuple(rules)


def entry_of(entry: Mapping[str, Any]) -> tuple[int, str]:
    """A number of the data, and where it is from."""
    return int(entry["value"]), str(entry["source"])


def _instruction_rule(data: Mapping[str, Any], partition: Partition, block: Block) -> tuple[Rule, ...]:
    """C2.instruction: the assembler refuses a wgmma whose own accumulators leave no register under the cap."""
    if partition.wgmma is FALSE:
        return ()
    own = instruction_columns(data, partition) * data["wgmma"]["rows"] // (data["wgmma"]["warps"] * 32)
    return (
        Rule(
            id="C2.instruction",
            sentence="the accumulators of one wgmma stay below the registers that a thread may have",
            value=own,
            limit=block.hardware_cap,
            relation="lt",
            unit="registers",
            source="H200: ptxas (C7602) Insufficient registers",
            when=partition.wgmma,
        ),
    )


def _remarks(
    data: Mapping[str, Any], tile: nvidia.TileShape, partition: Partition, has_wgmma: bool
) -> tuple[Remark, ...]:
    silent = data["silent"]["block_k"]
    text = f"block_k = {silent} is not refused by TileLang: it compiles, runs and gives wrong results"
    remarks = [Remark(tile.k.eq(silent), text)]
    if has_wgmma:
        wide = data["wgmma"]
        needs = f"block_m >= {wide['min_m']} and a multiple of {wide['warps']} warps"
        remarks.append(Remark(negate(partition.wgmma), f"falls back from wgmma to mma: wgmma needs {needs}"))
    return tuple(remarks)


def _model(
    context: Context,
    device: NvidiaDevice,
    geometry: Geometry,
    load: Load,
    block: Block,
    shape: tuple[Rule, ...],
    space: Any,
) -> Model:
    per_block = nvidia.shared_memory(device, load.total_shared)
    residency = residency_of(device, load, context.model.occupancy)
    rules: tuple[Rule, ...] = (
        per_block,
        nvidia.shared_memory_per_sm(device, load.total_shared, per_block),
        compiled.spills(block.live, block.cap, "TileLang 0.1.15 on an H200"),
        nvidia.register_file(device, load),
        *shape,
        nvidia.threads(device, load.threads),
    )
    rules = (
        *rules,
        nvidia.occupancy(residency, rules, "CUDA occupancy arithmetic"),
        nvidia.grid(device, geometry.grid()),
    )
    return launch_metrics(device, context.program, geometry, load, residency, space, rules, context.model.blocks_per_sm)


def _attention(context: Context, device: NvidiaDevice, data: Mapping[str, Any]) -> Model:
    """Flash attention: Q kept, K and V pipelined, scores and output in fragments.

    Bytes are the least that a kernel takes, since no build was looked at. Raises `InputError` for MLA.
    """
    program = context.program
    scores, values = program.contractions
    if program.tensor(scores.b) is program.tensor(values.b):
        hint = "the generic language has the shared latent tile"
        raise InputError(Issue("the tilelang language has no rules for MLA yet", "op.latent_dim", context.source, hint))
    names = tuple(n for n in tile_variables(program) if n not in _CLUSTER)
    space, geometry = variables(context, names), Geometry(program, frozenset(names))
    tile = tile_of(geometry, program.contractions[0])
    threads = tile.warps * constant_of(device, "warp_size")
    held = named("accumulators_per_thread", ceildiv(geometry.held_bits(), threads * 32), "registers")
    block = _block(data, device, held)
    shared = geometry.kept_bytes() + maximum(1, Var("num_stages")) * geometry.stage_bytes()
    load = _load(data, block, shared, held)
    share = data["warp_tile"]
    rows = compiled.multiple_of(
        "C3.instruction_m", "block_m holds whole warp tiles", tile.m, share["m"], share["source"]
    )
    columns = compiled.multiple_of(
        "C3.instruction_n", "block_n holds whole warp tiles", tile.n, share["n"], share["source"]
    )
    model = _model(context, device, geometry, load, block, (*_not_covered(data, device, program), rows, columns), space)
    return replace(model, notes=(data["attention"]["note"],))


def _elementwise(context: Context, device: NvidiaDevice, data: Mapping[str, Any]) -> Model:
    """Independent elements in a fragment: its width is shared out over the threads."""
    program = context.program
    names = tile_variables(program)
    space, geometry = variables(context, names), Geometry(program, frozenset(names))
    threads = Var("num_warps") * constant_of(device, "warp_size")
    width = maximum(*(geometry.region(t) for t in program.tensors))
    held = named("accumulators_per_thread", ceildiv(width, threads), "registers")
    block = _block(data, device, held, staged=False)
    load = Load(
        threads=block.threads,
        registers=block.registers,
        shared=named("shared_bytes", as_expr(0), "B"),
        accumulators=held,
    )
    layout = Rule(
        id="C3.layout",
        sentence="a fragment wider than the block is a multiple of its threads",
        value=width,
        limit=threads,
        relation="multiple",
        unit="elements",
        source=data["fragment"]["source"],
        when=width > threads,
    )
    return _model(context, device, geometry, load, block, (layout,), space)


_BUILDERS: dict[str, Callable[[Context, NvidiaDevice, Mapping[str, Any]], Model]] = {
    "gemm": _gemm,
    "attention": _attention,
    "elementwise": _elementwise,
}
