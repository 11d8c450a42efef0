"""The `ascend` language: a persistent block on each AI core, what it moves staged by the language of TileLang Ascend.

Operands of a product stand in L1 in `num_stages` versions and pass whole through L0A and L0B; the accumulator
fills L0C once. Where something is left to do, the output tile goes to UB, half to each Vector core, and from
there to memory; otherwise straight from L0C. Vector functions are SIMT (variant ``simt``, the default), which
leaves a part of UB to their threads, or SIMD (variant ``simd``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from tilesearch.errors import InputError, Issue, UnknownLimitError, suggest
from tilesearch.kernels.base import Context, variables
from tilesearch.program.form import Program
from tilesearch.rules.ascend import attention, gemm, vector
from tilesearch.rules.ascend.capacity import (
    alignment_rule,
    capacity_rules,
    cores_rule,
    event_rule,
    fractal_rule,
    memory_metric,
)
from tilesearch.rules.ascend.costs import cube_rate
from tilesearch.rules.ascend.kernel import MEMORIES, Kernel, Store, chain, period_bound
from tilesearch.rules.ascend.metrics import Times, launch_model, with_times, without_times
from tilesearch.rules.ascend.relations import RELATIONS, cube_relations
from tilesearch.rules.expr import Expr, Var, ceildiv, const
from tilesearch.rules.geometry import Geometry, storage
from tilesearch.rules.model import Model, Rule
from tilesearch.specs.devices import AscendDevice
from tilesearch.specs.kernels import TILE_VARIABLES

VARIANTS = ("simt", "simd")

Family = Literal["product", "attention", "vector"]
_EXACT = "the shortest period of the loop over k, exactly"
_BOUND = "a lower bound on the period of the loop; `schedule` finds the period itself"


def build(context: Context) -> Model:
    """The model of `context` in the ascend language. Raises `InputError` for another vendor's device."""
    device = context.device
    if not isinstance(device, AscendDevice):
        message = f"the ascend language is for Ascend devices, {device.name} is {device.vendor}"
        raise InputError(Issue(message, "device", context.source))
    if context.kernel.version is not None:
        message = "the ascend language has no versions: its latency model is that of TileLang v0.1.15"
        raise InputError(Issue(message, "kernel.version", context.source))
    variant = context.kernel.variant or VARIANTS[0]
    if variant not in VARIANTS:
        raise InputError(
            Issue(f"unknown variant {variant!r}", "kernel.variant", context.source, suggest(variant, VARIANTS))
        )
    program = context.program
    space = variables(context, tile_variables(program))
    geometry = Geometry(program, frozenset(v.name for v in space))
    stores = stores_of(context, geometry)
    untimed = Kernel((), const(1), stores, stages_of(geometry))
    used = {m: memory_metric(untimed, m) for m in MEMORIES if any(s.memory == m for s in stores)}
    simt = variant == "simt" and any(s.memory == "UB" for s in stores)
    rules = (
        *capacity_rules(device, used, simt),
        *_shape_rules(context, geometry, stores),
        cores_rule(device, geometry.grid()),
        *([event_rule(device, untimed.stages)] if any(s.pipelined for s in stores) else []),
    )
    model = launch_model(device, program, geometry, used, space, rules, _exchange(context, stores))
    try:
        kernel = kernel_of(context, geometry)
        times = _times(context, kernel)
    except UnknownLimitError as error:
        needed = [name for name in context.rules.require if name in RELATIONS]
        if needed:
            hint = "drop it from [rules] require to judge by capacity and traffic alone"
            raise UnknownLimitError(f"rules.require: {', '.join(needed)} cannot be judged: {error}; {hint}") from None
        return without_times(model, str(error))
    timed = with_times(model, device, program, kernel, times)
    return replace(timed, optional=_relations(context, geometry, kernel))


def tile_variables(program: Program) -> tuple[str, ...]:
    """The variables of a kernel: what tiles the program's dimensions, and the versions of what is staged."""
    names = {d.variable for d in program.dims if d.variable} | {"num_stages"}
    return tuple(name for name in TILE_VARIABLES if name in names)


def family_of(program: Program) -> Family:
    """Which kind of kernel a program gets. Raises `InputError` for one that has none yet."""
    if program.kind == "attention":
        return "attention"
    if program.contractions:
        return "product"
    if program.profile in ("rows", "elements", "vector") and not any(
        len(a.terms) > 1 for t in program.tensors for a in t.axes
    ):
        return "vector"
    raise InputError(Issue(f"the ascend language does not lower {program.kind} yet", "op.kind"))


def stages_of(geometry: Geometry) -> Expr:
    """The versions of pipelined buffers."""
    return Var("num_stages") if "num_stages" in geometry.free else const(1)


def stores_of(context: Context, geometry: Geometry) -> tuple[Store, ...]:
    """The buffers of a tile, which no cost has to be known for."""
    program, family = context.program, family_of(context.program)
    if family == "attention":
        return attention.stores_of(program, geometry, _ascend(context))
    if family == "vector":
        return vector.stores_of(program, geometry, _ascend(context))
    return gemm.stores_of(program, gemm.shape_of(program, geometry, _ascend(context)))


def kernel_of(context: Context, geometry: Geometry) -> Kernel:
    """The statements of a tile with their costs. Raises `UnknownLimitError` where the device file lacks a cost."""
    program, family, device = context.program, family_of(context.program), _ascend(context)
    mode, stages = context.model.latency, stages_of(geometry)
    if family == "product":
        shape = gemm.shape_of(program, geometry, device)
        return gemm.gemm_kernel(program, shape, device, mode, stages, stores_of(context, geometry))
    if mode == "seed":
        message = "the seed text's latency model has the Cube, MTE1 and MTE2 only"
        raise InputError(Issue(message, "model.latency", context.source, "intended and shipped cover this operator"))
    if family == "attention":
        return attention.attention_kernel(program, geometry, device, mode, stages)
    cores = device.cube_cores.value
    rounds = geometry.grid() if cores is None else ceildiv(geometry.grid(), int(cores))
    return vector.vector_kernel(program, geometry, device, mode, stages, rounds)


def _ascend(context: Context) -> AscendDevice:
    assert isinstance(context.device, AscendDevice)
    return context.device


def _exchange(context: Context, stores: tuple[Store, ...]) -> tuple[str, ...]:
    """What is said where Cube and Vector cores have no path between them but main memory."""
    device = _ascend(context)
    if not {"L0C", "UB"} <= {s.memory for s in stores} or not device.paths or gemm.OUT_PATH in device.paths:
        return ()
    text = "what crosses between Cube and Vector cores goes through main memory, which traffic_bytes leaves out"
    return (f"{device.name} has no path from L0C to UB: {text}",)


def _times(context: Context, kernel: Kernel) -> Times:
    family = family_of(context.program)
    if family == "product":
        loop = gemm.k_loop(kernel)
        whole = loop.iteration + (kernel.trips - 1) * loop.period
        first = gemm.first_tile(kernel, whole)
        stages = gemm.stages_needed(kernel, context.model.latency)
        return Times(loop.period, stages, first, gemm.tile_period(kernel, loop, whole), _EXACT)
    period = period_bound(kernel)
    if family == "vector":
        iteration = vector.iteration(kernel)
        first = iteration + chain(kernel.before)
        return Times(period, _stages_for(iteration, period), first, period, _BOUND)
    iteration = chain(kernel.body)
    whole = iteration + (kernel.trips - 1) * period
    first = whole + chain(kernel.before) + chain(kernel.after)
    return Times(period, _stages_for(iteration, period), first, first, _BOUND)


def _stages_for(iteration: Expr, period: Expr) -> Expr:
    return ceildiv(iteration, period)


def _shape_rules(context: Context, geometry: Geometry, stores: tuple[Store, ...]) -> tuple[Rule, ...]:
    """Fractals and alignments, for what the program has: rows of copies, operands in L0, rows in UB."""
    program, device = context.program, _ascend(context)
    rules: list[Rule] = []
    family = family_of(program)
    if family == "product":
        shape = gemm.shape_of(program, geometry, device)
        group = cube_rate(device, shape.kind).k_group
        rules.append(fractal_rule(device, shape.m, shape.n, shape.k, group))
        rules.append(alignment_rule(device, "L1", shape.rows, "a row of each operand"))
    elif family == "attention":
        first, second = program.contractions
        m, n = (geometry.tile(program.dim(name)) for name in (first.m, first.n))
        group = cube_rate(device, (first.computed or program.dtype_of(first.a)).name).k_group
        rules.append(fractal_rule(device, m, n, n, group))
        value = geometry.tile(program.dim(second.n))
        rows = (geometry.tile(program.dim(first.k)), value)
        rules.append(
            alignment_rule(device, "L1", [storage(r, program.dtype_of("q")) for r in rows], "a row of each operand")
        )
    for memory in ("L0A", "L0B", "L0C"):
        sizes = [s.size for s in stores if s.memory == memory]
        if sizes:
            rules.append(alignment_rule(device, memory, sizes, "each tile"))
    rows_in_ub = _ub_rows(context, geometry, stores)
    if rows_in_ub:
        rules.append(alignment_rule(device, "UB", rows_in_ub, "each row"))
    return tuple(rules)


def _ub_rows(context: Context, geometry: Geometry, stores: tuple[Store, ...]) -> list[Expr]:
    """Bytes of the rows that stand in UB."""
    program, family = context.program, family_of(context.program)
    names = {s.name for s in stores if s.memory == "UB"}
    if family == "product" and names:
        shape = gemm.shape_of(program, geometry, _ascend(context))
        kinds = [shape.product.acc, *([shape.out.dtype] if "out_ub" in names else [])]
        return [storage(shape.n, kind) for kind in kinds]
    if family == "attention":
        first = program.contractions[0]
        return [storage(geometry.tile(program.dim(first.n)), program.dtype_of("q"))]
    # A single row is padded where it ends; rows behind one another must each begin aligned.
    several = [t for t in program.tensors if len(t.axes) > 1]
    return [storage(geometry.tile(program.owner(t.axes[-1].terms[0][0])), t.dtype) for t in several]


def _relations(context: Context, geometry: Geometry, kernel: Kernel) -> tuple[Rule, ...]:
    if family_of(context.program) != "product":
        return ()
    shape = gemm.shape_of(context.program, geometry, _ascend(context))
    loads = gemm.loads_to_l0(context.program, shape, _ascend(context), kernel.clock)
    return cube_relations(kernel, loads)
