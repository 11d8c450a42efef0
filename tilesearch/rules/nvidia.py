"""The rules of NVIDIA GPUs, each said once: C1 shared memory, C2 registers, C3 instructions, C4 parallelism."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilesearch.rules.expr import FALSE, TRUE, Expr, all_of, any_of, ceildiv, const, divides, member, negate, select
from tilesearch.rules.limits import constant_of, device_limit, known, limit, number, numbers, source, unknown
from tilesearch.rules.model import Remark, Rule, constant, named
from tilesearch.rules.occupancy import Load, Residency, launch_registers, shared_allocation
from tilesearch.specs.devices import NvidiaDevice, TensorMemory
from tilesearch.specs.instructions import Instruction

_ISA = "PTX ISA, matrix instruction shapes (hardware/instructions/)"


def shared_memory(device: NvidiaDevice, shared: Expr) -> Rule:
    """C1.shared_memory: one block's dynamic shared memory against the opt-in limit. Unit: B."""
    sentence = "the shared memory of a block stays within what one block may opt in to"
    return device_limit(device, "shared_per_block_optin", "C1.shared_memory", sentence, shared, "B")


def shared_memory_per_sm(device: NvidiaDevice, shared: Expr, per_block: Rule) -> Rule:
    """C1.shared_memory_per_sm: the same bytes after allocation rounding, against what an SM has to give.

    Judged where the block's own limit holds. Value and limit leave out the bytes reserved for the system, so
    that they compare with C1.shared_memory's.
    """
    reserved = constant_of(device, "reserved_shared_per_block")
    allocated = named("shared_allocated", shared_allocation(device, shared), "B")
    capacity = number(device, "shared_per_sm") - reserved.value if known(device, "shared_per_sm") else None
    return Rule(
        id="C1.shared_memory_per_sm",
        sentence="the shared memory of a block, rounded up as it is allocated, fits in one SM",
        value=allocated - reserved,
        limit=None if capacity is None else constant("shared_per_sm - reserved_shared_per_block", capacity),
        unit="B",
        source=source(device, "shared_per_sm"),
        unknown=unknown(device, "shared_per_sm"),
        when=per_block.holds if per_block.limit is not None else None,
        has_slack=True,
    )


def tensor_memory_columns(memory: TensorMemory, m: Expr, n: Expr) -> Expr:
    """Columns of tensor memory that an m x n accumulator of 32-bit cells takes: allocated in powers of two.

    A column has a cell in each lane; rows beyond the lanes take further columns.
    """
    lanes, legal = int(memory.lanes.value or 1), sorted(int(c) for c in memory.allocation_columns.value or ())
    needed = n * ceildiv(m, lanes)
    columns: Expr = needed
    for size in reversed(legal):
        columns = select(needed <= size, size, columns)
    return named("tensor_memory_columns", columns, "columns")


def tensor_memory(device: NvidiaDevice, columns: Expr, when: Expr) -> Rule:
    """C1.tensor_memory: the accumulator's columns, where the tile runs on an instruction that keeps it there."""
    memory = device.tensor_memory
    assert memory is not None
    return Rule(
        id="C1.tensor_memory",
        sentence="the accumulator fits in the columns of tensor memory",
        value=columns,
        limit=constant("columns", int(memory.columns.value or 0)) if memory.columns.known else None,
        unit="columns",
        source=str(memory.columns.source or ""),
        unknown=f"{device.name}: tensor_memory.columns is not known",
        when=when,
        has_slack=True,
    )


def accumulators(device: NvidiaDevice, per_thread: Expr, hard: bool = True) -> Rule:
    """C2.accumulators: accumulator registers of one thread. Hard where no compiler would spill them."""
    sentence = "the accumulators of a thread fit in the registers that one thread may hold"
    return device_limit(
        device, "max_registers_per_thread", "C2.accumulators", sentence, per_thread, "registers", hard=hard
    )


def register_file(device: NvidiaDevice, load: Load) -> Rule:
    """C2.register_file: a block's registers, rounded per warp and charged in whole groups of four warps."""
    sentence = "the registers of a block, rounded up per warp and per sub-partition, fit in the register file"
    return device_limit(
        device, "registers_per_block", "C2.register_file", sentence, launch_registers(device, load), "registers"
    )


def threads(device: NvidiaDevice, per_block: Expr) -> Rule:
    """C4.threads: threads of a block."""
    sentence = "a block has no more threads than one block may have"
    return device_limit(device, "max_threads_per_block", "C4.threads", sentence, per_block, "threads")


def occupancy(residency: Residency, earlier: tuple[Rule, ...], src: str) -> Rule:
    """C4.occupancy: at least one block is resident, judged where the single limits hold."""
    settled = [rule.holds for rule in earlier if rule.has_slack and rule.limit is not None]
    return Rule(
        id="C4.occupancy",
        sentence="at least one block is resident on an SM",
        value=residency.blocks,
        limit=const(1),
        relation="ge",
        unit="blocks",
        source=src,
        when=all_of(*settled) if settled else None,
    )


def grid(device: NvidiaDevice, blocks: Expr) -> Rule:
    """C4.grid: the blocks of the launch, numbered along the grid's x axis."""
    bound = constant("max_grid_x", numbers(device, "max_grid")[0]) if known(device, "max_grid") else None
    return Rule(
        id="C4.grid",
        sentence="the launch has no more blocks than the grid's x axis may hold",
        value=blocks,
        limit=bound,
        unit="blocks",
        source=source(device, "max_grid"),
        unknown=unknown(device, "max_grid"),
    )


def split_parts(parts: Expr, steps: Expr) -> Rule:
    """C4.split_k: each part of a split reduction has at least one step to do."""
    return Rule(
        id="C4.split_k",
        sentence="no part of a split reduction is empty",
        value=parts,
        limit=steps,
        unit="parts",
        source="the reduction's extent in steps",
    )


def cluster(device: NvidiaDevice, blocks: Expr) -> Rule:
    """C4.cluster: blocks of a thread-block cluster, against the portable size; 1 where there are no clusters."""
    quantity = device.cluster_max_size
    bound = limit(device, "cluster_max_size") if quantity.applies else const(1)
    return Rule(
        id="C4.cluster",
        sentence="a cluster has no more blocks than the device's portable cluster size",
        value=blocks,
        limit=bound,
        unit="blocks",
        source=source(device, "cluster_max_size"),
        unknown=unknown(device, "cluster_max_size"),
    )


@dataclass(frozen=True)
class TileShape:
    """The block tile of a contraction and the warps that share it, as trees."""

    m: Expr
    n: Expr
    k: Expr
    warps: Expr


@dataclass(frozen=True)
class InstructionChoice:
    """Which matrix instruction a tile uses: `warpgroup` is true where it is the warpgroup one (wgmma)."""

    warpgroup: Expr
    rules: tuple[Rule, ...]
    remarks: tuple[Remark, ...] = ()


def instruction_rules(instructions: tuple[Instruction, ...], tile: TileShape) -> InstructionChoice:
    """C3: the tile is whole instructions, of the warpgroup family where it can be, of mma otherwise."""
    wide = next((i for i in instructions if i.family == "wgmma"), None)
    narrow = _smallest([i for i in instructions if i.family == "mma"])
    warpgroup = _fits_warpgroup(wide, tile) if wide is not None else FALSE
    base = narrow or wide
    if base is None:
        return InstructionChoice(FALSE, ())

    shape = _shape(base)
    if wide is not None and narrow is not None:
        shape = {axis: select(warpgroup, _shape(wide)[axis], shape[axis]) for axis in shape}
    rules = [_shape_rule(axis, getattr(tile, axis), multiple) for axis, multiple in shape.items()]
    rules.append(_warps_rule(tile, base, narrow is None))
    remarks: tuple[Remark, ...] = ()
    if wide is not None and narrow is not None:
        remarks = (Remark(negate(warpgroup), _fallback(wide, narrow)),)
    return InstructionChoice(warpgroup, tuple(rules), remarks)


def _fallback(wide: Instruction, narrow: Instruction) -> str:
    group = wide.threads // 32
    return (
        f"falls back from wgmma to mma m{narrow.m}n{_step(narrow)}: wgmma needs whole warpgroups of {group} warps "
        f"with {wide.m} rows each, and a legal N"
    )


def joined_choices(choices: tuple[InstructionChoice, ...]) -> InstructionChoice:
    """The choices for several products of one kernel as one: what holds of a tile holds for each product."""
    if len(choices) == 1:
        return choices[0]
    by_id: dict[str, list[Rule]] = {}
    for rule in (rule for choice in choices for rule in choice.rules):
        by_id.setdefault(rule.id, []).append(rule)
    warpgroup = all_of(*(choice.warpgroup for choice in choices))
    remarks = tuple(replace(remark, when=negate(warpgroup)) for remark in choices[0].remarks)
    return InstructionChoice(warpgroup, tuple(_joined(rules) for rules in by_id.values()), remarks)


def _joined(rules: list[Rule]) -> Rule:
    each = f"{rules[0].sentence}, in each of the kernel's products"
    return replace(rules[0], value=all_of(*(rule.holds for rule in rules)), limit=TRUE, sentence=each)


def _smallest(instructions: list[Instruction]) -> Instruction | None:
    # Volta's 8x8x4 form is emulated slowly on later parts: it is used only where nothing else exists.
    usable = [i for i in instructions if i.m > 8] or instructions
    return min(usable, key=lambda i: (i.m, min(i.n_values), i.k), default=None)


def _shape(instruction: Instruction) -> dict[str, Expr]:
    return {"m": const(instruction.m), "n": const(_step(instruction)), "k": const(instruction.k)}


def _step(instruction: Instruction) -> int:
    return min(instruction.n_values)


def _fits_warpgroup(wide: Instruction, tile: TileShape) -> Expr:
    """Warpgroups of four warps, 64 rows each; N one legal instruction, or several of the widest step."""
    group = wide.threads // 32
    widest = wide.n_values[-1]
    step = widest - wide.n_values[-2]
    columns = any_of(member(tile.n, wide.n_values), all_of(tile.n > widest, divides(step, tile.n)))
    return all_of(
        divides(group, tile.warps),
        divides(wide.m * (tile.warps // group), tile.m),
        tile.m >= wide.m,
        columns,
        divides(wide.k, tile.k),
    )


def _shape_rule(axis: str, size: Expr, multiple: Expr) -> Rule:
    return Rule(
        id=f"C3.instruction_{axis}",
        sentence=f"block_{axis} is a whole number of matrix instructions",
        value=size,
        limit=named(f"instruction_{axis}", multiple),
        relation="multiple",
        unit="elements",
        source=_ISA,
    )


def _warps_rule(tile: TileShape, base: Instruction, only_warpgroup: bool) -> Rule:
    pieces = ceildiv(tile.m, base.m) * ceildiv(tile.n, _step(base))
    value: Expr = pieces
    bound: Expr = tile.warps
    relation = "ge"
    sentence = "every warp has at least one matrix instruction of the tile"
    if only_warpgroup:
        value, bound, relation = tile.warps, const(base.threads // 32), "multiple"
        sentence = "the warps form whole warpgroups"
    return Rule(
        id="C3.warps",
        sentence=sentence,
        value=value,
        limit=bound,
        relation=relation,
        unit="warps" if only_warpgroup else "instructions",
        source=_ISA,
    )
