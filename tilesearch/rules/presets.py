"""Rule sets other than the default: the one that reproduces the seed text's recomputation of carver."""

from __future__ import annotations

from tilesearch.program.form import Program, Role
from tilesearch.rules import nvidia
from tilesearch.rules.expr import Expr, maximum, minimum
from tilesearch.rules.geometry import Geometry
from tilesearch.rules.limits import constant_of, device_limit
from tilesearch.rules.metrics import launch_metrics
from tilesearch.rules.model import Model, Rule, Variable, named
from tilesearch.rules.occupancy import Load, Residency
from tilesearch.specs.devices import NvidiaDevice

_NOTE = "preset seed-carver: the seed text's recomputation, not carver's own search and not what the hardware does"


def seed_carver(
    device: NvidiaDevice, program: Program, geometry: Geometry, load: Load, variables: tuple[Variable, ...]
) -> Model:
    """The rule set that gives the seed's table: 729 candidates, 154 that fit.

    One stage of inputs in shared memory, tested first; registers = 2 * max(tile of any tensor) in 32-bit
    words against the register file; blocks per SM = min(2 * shared limit // shared, register file //
    registers, 4), four being the SM's sub-partitions.
    """
    stage = named("shared_bytes", geometry.kept_bytes() + geometry.stage_bytes(), "B")
    widest = maximum(*(geometry.region(t) for t in program.tensors if _is_tile(t.role)))
    registers = named("registers_per_block", 2 * widest, "registers")
    by = {
        "registers": constant_of(device, "registers_per_sm") // maximum(registers, 1),
        "shared_memory": 2 * constant_of(device, "shared_per_block_optin") // maximum(stage, 1),
        "blocks": constant_of(device, "sub_partitions"),
    }
    residency = Residency(
        by={name: named(f"blocks_by_{name}", tree) for name, tree in by.items()},
        blocks=minimum(*by.values()),
        allocated_registers=registers,
        allocated_shared=stage,
    )
    rules = (nvidia.shared_memory(device, stage), _register_file(device, registers))
    block = Load(threads=load.threads, registers=load.registers, shared=stage)
    return launch_metrics(device, program, geometry, block, residency, variables, rules, notes=(_NOTE,))


def _is_tile(role: Role) -> bool:
    return role in (Role.INPUT, Role.OUTPUT)


def _register_file(device: NvidiaDevice, registers: Expr) -> Rule:
    sentence = "twice the widest tile, in 32-bit words, fits in the register file"
    return device_limit(device, "registers_per_sm", "C2.register_file", sentence, registers, "registers")
