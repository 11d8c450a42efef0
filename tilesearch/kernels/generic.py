"""The `generic` language: a hand-written kernel that stages its inputs and keeps its accumulators in registers.

Shared memory is what a block loads once (attention's Q tile, whole rows) plus stages x what streams past it;
registers are the accumulators. Nothing else is assumed.
"""

from __future__ import annotations

from dataclasses import replace

from tilesearch.errors import InputError, Issue
from tilesearch.kernels.base import Context, tile_of, tile_variables, variables
from tilesearch.program.form import Contraction, Program
from tilesearch.rules import nvidia, presets
from tilesearch.rules.expr import FALSE, Var, ceildiv, const
from tilesearch.rules.geometry import Geometry
from tilesearch.rules.limits import constant_of
from tilesearch.rules.metrics import launch_metrics, residency_of
from tilesearch.rules.model import Model, Rule, named
from tilesearch.rules.occupancy import Load
from tilesearch.specs.devices import NvidiaDevice
from tilesearch.specs.instructions import Instruction, instructions_for


def build(context: Context) -> Model:
    """The model of `context` in the generic language on an NVIDIA device."""
    device = context.device
    if not isinstance(device, NvidiaDevice):
        hint = '[kernel] language = "ascend"' if device.vendor == "ascend" else ""
        raise InputError(
            Issue(f"the generic language has no rules for {device.vendor} devices yet", "device", hint=hint)
        )
    program = context.program
    _require_unit(device, program)
    space = variables(context, tile_variables(program))
    geometry = Geometry(program, frozenset(v.name for v in space))
    load = block_load(device, program, geometry)
    if context.rules.preset == "seed-carver":
        return presets.seed_carver(device, program, geometry, load, space)
    residency = residency_of(device, load, context.model.occupancy)
    instructions = instruction_choice(device, program, geometry)
    rules = _rules(device, load, instructions)
    rules = (
        *rules,
        nvidia.occupancy(residency, rules, "CUDA occupancy arithmetic"),
        nvidia.grid(device, geometry.grid()),
        *_launch_rules(device, program, geometry),
    )
    model = launch_metrics(device, program, geometry, load, residency, space, rules, context.model.blocks_per_sm)
    return replace(model, remarks=instructions.remarks)


def _launch_rules(device: NvidiaDevice, program: Program, geometry: Geometry) -> tuple[Rule, ...]:
    """The rules on splitting the reduction and on clusters, for programs that have those variables."""
    rules: list[Rule] = []
    split = program.split
    if split is not None and split.variable in geometry.free:
        dim = program.dim(split.dim)
        # What a block takes whole is cut into parts of its indices; what it walks, into steps.
        step = const(1) if dim.whole else geometry.tile(dim)
        steps = ceildiv(const(dim.extent, dim.name), step)
        rules.append(nvidia.split_parts(geometry.split, steps))
    if {"cluster_m", "cluster_n"} <= geometry.free:
        rules.append(nvidia.cluster(device, Var("cluster_m") * Var("cluster_n")))
    return tuple(rules)


def _require_unit(device: NvidiaDevice, program: Program) -> None:
    """Refuse a roof of a unit that the device lacks; where its roofs are not known, nothing can be said."""
    units = sorted({name.partition(".")[0] for name in device.roofs})
    unit = program.roof.partition(".")[0]
    if units and unit not in units:
        hint = f"its roofs are of {', '.join(units)}"
        raise InputError(Issue(f"{device.name} has no unit {unit!r} that is known", "op.roof", hint=hint))


def block_load(device: NvidiaDevice, program: Program, geometry: Geometry) -> Load:
    """Threads, registers and shared memory of one block."""
    threads = Var("num_warps") * constant_of(device, "warp_size")
    stages = Var("num_stages") if "num_stages" in geometry.free else const(1)
    shared = geometry.kept_bytes() + stages * geometry.stage_bytes()
    per_thread = named("accumulators_per_thread", ceildiv(geometry.held_bits(), threads * 32), "registers")
    return Load(
        threads=named("threads_per_block", threads, "threads"),
        registers=per_thread,
        shared=named("shared_bytes", shared, "B"),
    )


def _rules(device: NvidiaDevice, load: Load, instructions: nvidia.InstructionChoice) -> tuple[Rule, ...]:
    per_block = nvidia.shared_memory(device, load.shared)
    return (
        per_block,
        nvidia.shared_memory_per_sm(device, load.shared, per_block),
        nvidia.accumulators(device, load.registers),
        nvidia.register_file(device, load),
        *instructions.rules,
        nvidia.threads(device, load.threads),
    )


def instruction_choice(device: NvidiaDevice, program: Program, geometry: Geometry) -> nvidia.InstructionChoice:
    """The rules on the matrix instruction; none where the operator has no product or runs on CUDA cores."""
    if not program.contractions or not program.roof.startswith("tensor_core"):
        return nvidia.InstructionChoice(FALSE, ())
    choices = tuple(
        nvidia.instruction_rules(_instructions_of(device, program, product), tile_of(geometry, product))
        for product in program.contractions
    )
    return nvidia.joined_choices(choices)


def available_instructions(device: NvidiaDevice, program: Program) -> tuple[Instruction, ...]:
    """The matrix instructions of `device` for the operands of the program's first product.

    Raises `InputError` where it has none: a fit on an instruction that does not exist would be a wrong answer.
    """
    return () if program.contraction is None else _instructions_of(device, program, program.contraction)


def _instructions_of(device: NvidiaDevice, program: Program, product: Contraction) -> tuple[Instruction, ...]:
    a, b = (product.computed or program.dtype_of(name) for name in (product.a, product.b))
    found = tuple(instructions_for(device, a.name, product.acc.name, b.name))
    if found and product.scaled:
        found = tuple(instruction for instruction in found if instruction.scale)
        if not found:
            message = f"{device.name} has no matrix instruction that applies block scales to {a.name}"
            raise InputError(Issue(message, "op.scale_dtype", hint='scale_dtype = "fp32" is applied on CUDA cores'))
    if not found:
        operands = a.name if a == b else f"{a.name} x {b.name}"
        raise InputError(
            Issue(
                f"{device.name} (compute capability {device.compute_capability}) has no matrix instruction for "
                f"{operands} with {product.acc.name} accumulation",
                "op.dtype",
                hint='choose another dtype or accumulator, or declare roof = "cuda_core.fp32"',
            )
        )
    return found
