"""The rules of AMD GPUs that are known: C1 local data share, C4 threads. The rest is said to be unknown."""

from __future__ import annotations

from tilesearch.rules.expr import Expr
from tilesearch.rules.limits import known, limit, source
from tilesearch.rules.model import Rule
from tilesearch.specs.devices import AmdDevice


def shared_memory(device: AmdDevice, shared: Expr) -> Rule:
    """C1.shared_memory: the local data share of one work-group. Unit: B."""
    return Rule(
        id="C1.shared_memory",
        sentence="the local data share of a work-group stays within what one work-group may have",
        value=shared,
        limit=limit(device, "lds_per_block"),
        unit="B",
        source=source(device, "lds_per_block"),
        unknown=f"{device.name}: lds_per_block is not known",
        has_slack=True,
    )


def accumulators(device: AmdDevice, per_thread: Expr) -> Rule:
    """C2.accumulators, soft: accumulator registers of one work-item against all that it may address."""
    return Rule(
        id="C2.accumulators",
        sentence="the accumulators of a work-item fit in the registers that it may hold",
        value=per_thread,
        limit=limit(device, "max_registers_per_thread"),
        unit="registers",
        hard=False,
        source=source(device, "max_registers_per_thread"),
        unknown=f"{device.name}: max_registers_per_thread is not known",
        has_slack=True,
    )


def register_file(device: AmdDevice, per_thread: Expr) -> Rule:
    """C2.register_file: never judged, since the granule in which registers are allocated is not known."""
    missing = "register_allocation_unit" if not known(device, "register_allocation_unit") else "the rule"
    return Rule(
        id="C2.register_file",
        sentence="the registers of a work-group fit in the register file",
        value=per_thread,
        limit=None,
        unit="registers",
        hard=False,
        unknown=f"{device.name}: {missing} is not known; accumulators alone are judged",
    )


def threads(device: AmdDevice, per_block: Expr) -> Rule:
    """C4.threads: work-items of a work-group."""
    return Rule(
        id="C4.threads",
        sentence="a work-group has no more work-items than it may have",
        value=per_block,
        limit=limit(device, "max_threads_per_block"),
        unit="threads",
        source=source(device, "max_threads_per_block"),
        unknown=f"{device.name}: max_threads_per_block is not known",
        has_slack=True,
    )
