"""Resident blocks per SM: the exact CUDA arithmetic, and the seed text's simplification.

The exact rules are those of the CUDA 13.0 occupancy header, with 255 registers a thread as the limit:
registers are rounded up per warp and held per sub-partition; the launch check charges whole groups of
sub-partitions of warps; shared memory is rounded after the reserved bytes are added; the carve-out is the
largest unless a hint is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tilesearch.rules.expr import Expr, all_of, as_expr, ceildiv, maximum, minimum, round_up, select
from tilesearch.rules.limits import constant_of, number, numbers
from tilesearch.rules.model import constant, named
from tilesearch.specs.devices import NvidiaDevice

UNLIMITED = 2**31 - 1
"""Stands for "this resource sets no limit" in the trees."""


@dataclass(frozen=True)
class Load:
    """What one block asks of an SM, as trees: threads, registers a thread, bytes of shared memory.

    `accumulators` are the registers that hold accumulators, where they are not all that a thread holds. `shared`
    is what the launch asks for; `static` is what the kernel declares beside it.
    """

    threads: Expr
    registers: Expr
    shared: Expr
    barriers: Expr | None = None
    accumulators: Expr | None = None
    static: Expr | None = None

    @property
    def total_shared(self) -> Expr:
        """Bytes of shared memory, dynamic and static."""
        return self.shared if self.static is None else self.shared + self.static

    @property
    def held(self) -> Expr:
        """Accumulator registers of a thread."""
        return self.registers if self.accumulators is None else self.accumulators


@dataclass(frozen=True)
class Residency:
    """Blocks per SM by each resource, and what a block is charged.

    `blocks` is the least of `by`. `allocated_registers` is per block after rounding; `allocated_shared` in B.
    """

    by: Mapping[str, Expr]
    blocks: Expr
    allocated_registers: Expr
    allocated_shared: Expr


def limited(residency: Residency, resource: str, blocks: Expr) -> Residency:
    """`residency` with one more resource that admits `blocks`."""
    by = {**residency.by, resource: named(f"blocks_by_{resource}", blocks)}
    return replace(residency, by=by, blocks=minimum(residency.blocks, blocks))


def warp_registers(device: NvidiaDevice, registers: Expr) -> Expr:
    """Registers that one warp is charged: rounded up to the allocation unit."""
    return round_up(registers * constant_of(device, "warp_size"), constant_of(device, "register_allocation_unit"))


def launch_registers(device: NvidiaDevice, load: Load) -> Expr:
    """Registers that the launch check charges a block: its warps rounded up to the sub-partitions."""
    warps = ceildiv(load.threads, constant_of(device, "warp_size"))
    return warp_registers(device, load.registers) * round_up(warps, constant_of(device, "sub_partitions"))


def shared_allocation(device: NvidiaDevice, shared: Expr) -> Expr:
    """Bytes of shared memory that a block is charged: plus the reserved ones, rounded to the granule."""
    reserved = number(device, "reserved_shared_per_block")
    granule = constant_of(device, "shared_allocation_granularity")
    return round_up(shared + constant("reserved_shared_per_block", reserved), granule)


def exact(device: NvidiaDevice, load: Load, carveout_percent: int | None = None) -> Residency:
    """The exact arithmetic for one block's `load`; `carveout_percent` is the driver hint (0..100)."""
    warps = ceildiv(load.threads, constant_of(device, "warp_size"))
    by = {
        "registers": _by_registers(device, load, warps),
        "shared_memory": _by_shared(device, load, carveout_percent),
        "threads": _by_threads(device, load, warps),
        "blocks": constant_of(device, "max_blocks_per_sm"),
    }
    if load.barriers is not None and device.barriers_per_sm.known:
        by["barriers"] = constant_of(device, "barriers_per_sm") // maximum(load.barriers, 1)
    return Residency(
        by={name: named(f"blocks_by_{name}", tree) for name, tree in by.items()},
        blocks=minimum(*by.values()),
        allocated_registers=warp_registers(device, load.registers) * warps,
        allocated_shared=shared_allocation(device, load.total_shared),
    )


def _by_threads(device: NvidiaDevice, load: Load, warps: Expr) -> Expr:
    per_sm = number(device, "max_threads_per_sm") // number(device, "warp_size")
    fits = load.threads <= constant_of(device, "max_threads_per_block")
    return select(fits, constant("max_warps_per_sm", per_sm) // maximum(warps, 1), 0)


def _by_registers(device: NvidiaDevice, load: Load, warps: Expr) -> Expr:
    per_warp = warp_registers(device, load.registers)
    partitions = number(device, "sub_partitions")
    quarter = constant("registers_per_sub_partition", number(device, "registers_per_sm") // partitions)
    launches = all_of(
        launch_registers(device, load) <= constant_of(device, "registers_per_block"),
        load.registers <= constant_of(device, "max_registers_per_thread"),
    )
    resident = (quarter // maximum(per_warp, 1)) * partitions // maximum(warps, 1)
    return select(launches, select(per_warp.eq(0), UNLIMITED, resident), 0)


def _by_shared(device: NvidiaDevice, load: Load, carveout_percent: int | None) -> Expr:
    allocated = shared_allocation(device, load.total_shared)
    cap = number(device, "shared_per_block_optin") + number(device, "reserved_shared_per_block")
    sizes = sorted(numbers(device, "carveout_sizes"))
    carved: Expr = as_expr(sizes[-1])
    if carveout_percent is not None:
        wanted = number(device, "shared_per_sm") * carveout_percent // 100
        hint = next((s for s in sizes if s >= wanted), sizes[-1])
        carved = as_expr(sizes[-1])
        for size in reversed(sizes):  # a hint below one block's need is raised to the next legal size
            carved = select(allocated <= size, max(size, hint), carved)
    resident = carved // maximum(allocated, 1)
    return select(allocated <= cap, select(allocated.eq(0), UNLIMITED, resident), 0)


def seed(device: NvidiaDevice, load: Load) -> Residency:
    """The seed text's simplification (its section 4.3).

    ``registers_per_sm // (registers rounded to 8 * threads)``, ``shared_per_sm // shared``,
    ``max_threads_per_sm // threads``, and nothing above the opt-in limit or 255 registers a thread.
    """
    granule = number(device, "register_allocation_unit") // number(device, "warp_size")
    per_thread = round_up(load.registers, granule)
    per_block = per_thread * load.threads
    fits_registers = load.registers <= constant_of(device, "max_registers_per_thread")
    shared = load.total_shared
    fits_shared = shared <= constant_of(device, "shared_per_block_optin")
    by_registers = constant_of(device, "registers_per_sm") // maximum(per_block, 1)
    by_shared = constant_of(device, "shared_per_sm") // maximum(shared, 1)
    by = {
        "registers": select(fits_registers, select(per_block.eq(0), UNLIMITED, by_registers), 0),
        "shared_memory": select(fits_shared, select(shared.eq(0), UNLIMITED, by_shared), 0),
        "threads": constant_of(device, "max_threads_per_sm") // maximum(load.threads, 1),
    }
    return Residency(
        by={name: named(f"blocks_by_{name}", tree) for name, tree in by.items()},
        blocks=minimum(*by.values()),
        allocated_registers=per_block,
        allocated_shared=load.shared,
    )
