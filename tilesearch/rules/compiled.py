"""Rules of compiled kernel languages: legal sizes, and what the register allocator does when it runs out."""

from __future__ import annotations

from collections.abc import Iterable

from tilesearch.rules.expr import Expr, Table, Var, minimum
from tilesearch.rules.limits import constant_of
from tilesearch.rules.model import Rule, constant
from tilesearch.specs.devices import NvidiaDevice


def next_power_of_two(value: int) -> int:
    """The smallest power of two that is not below `value`."""
    return 1 << max(0, value - 1).bit_length()


def powers_of_two(names: Iterable[str], source: str) -> tuple[Rule, ...]:
    """C3.power_of_two.NAME: the language takes no other size."""
    return tuple(
        Rule(
            id=f"C3.power_of_two.{name}",
            sentence=f"{name} is a power of two",
            value=Table("next_power_of_two", next_power_of_two, Var(name)),
            limit=Var(name),
            relation="eq",
            source=source,
        )
        for name in names
    )


def at_least(rule_id: str, sentence: str, value: Expr, least: int, source: str, unit: str = "elements") -> Rule:
    """A rule that `value` is not below `least`."""
    return Rule(
        id=rule_id,
        sentence=sentence,
        value=value,
        limit=constant("least", least),
        relation="ge",
        unit=unit,
        source=source,
    )


def multiple_of(rule_id: str, sentence: str, value: Expr, step: int, source: str) -> Rule:
    """A rule that `value` is a multiple of `step`."""
    return Rule(
        id=rule_id,
        sentence=sentence,
        value=value,
        limit=constant("step", step),
        relation="multiple",
        unit="elements",
        source=source,
    )


def register_cap(device: NvidiaDevice, threads: Expr) -> Expr:
    """Registers that the compiler may give one thread so that a block of `threads` can launch.

    The most that a thread may hold, or the register file of a block over its threads, rounded down to the
    allocation unit of a thread, whichever is less.
    """
    per_thread = constant_of(device, "register_allocation_unit").value // constant_of(device, "warp_size").value
    share = constant_of(device, "registers_per_block") // threads // per_thread * per_thread
    return minimum(constant_of(device, "max_registers_per_thread"), share)


def spills(live: Expr, cap: Expr, source: str) -> Rule:
    """C2.registers, soft: what a thread must hold at once against its cap; beyond it the compiler spills."""
    return Rule(
        id="C2.registers",
        sentence="the registers that a thread must hold at once stay within its cap, so that nothing spills",
        value=live,
        limit=cap,
        unit="registers",
        hard=False,
        source=source,
        has_slack=True,
    )
