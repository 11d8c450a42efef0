"""The rules of AMD GPUs that are known: C1 local data share, C4 threads. The rest is said to be unknown."""

from __future__ import annotations

from tilesearch.rules.expr import Expr
from tilesearch.rules.limits import device_limit, known
from tilesearch.rules.model import Rule
from tilesearch.specs.devices import AmdDevice


def shared_memory(device: AmdDevice, shared: Expr) -> Rule:
    """C1.shared_memory: the local data share of one work-group. Unit: B."""
    sentence = "the local data share of a work-group stays within what one work-group may have"
    return device_limit(device, "lds_per_block", "C1.shared_memory", sentence, shared, "B")


def accumulators(device: AmdDevice, per_thread: Expr) -> Rule:
    """C2.accumulators, soft: accumulator registers of one work-item against all that it may address."""
    sentence = "the accumulators of a work-item fit in the registers that it may hold"
    return device_limit(
        device, "max_registers_per_thread", "C2.accumulators", sentence, per_thread, "registers", hard=False
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
    sentence = "a work-group has no more work-items than it may have"
    return device_limit(device, "max_threads_per_block", "C4.threads", sentence, per_block, "threads")
