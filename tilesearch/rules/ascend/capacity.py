"""What fits: the buffers of an AI core (C1), fractals and alignments (C3), cores and event ids (C4)."""

from __future__ import annotations

from collections.abc import Sequence

from tilesearch.rules.ascend.kernel import Kernel
from tilesearch.rules.expr import Expr, all_of, const, divides, minimum, select
from tilesearch.rules.limits import constant_of, known, limit, source
from tilesearch.rules.model import Rule, named
from tilesearch.specs.devices.ascend import AscendDevice

_CAPACITY = {
    "L1": ("C1.l1", "l1", "the versions of what is staged in L1"),
    "L0A": ("C1.l0a", "l0a", "the left operand of a product"),
    "L0B": ("C1.l0b", "l0b", "the right operand of a product"),
    "L0C": ("C1.l0c", "l0c", "the accumulator"),
    "UB": ("C1.ub", "ub", "what each Vector core works on"),
    "BT": ("C1.bt", "bt", "the bias of the tile's columns"),
    "Fixpipe": ("C1.fixpipe", "fixpipe", "the factors of the tile's columns"),
}


def memory_metric(kernel: Kernel, memory: str) -> Expr:
    """Bytes that the kernel takes of a memory, by the metric's name (``l1_bytes``, …)."""
    return named(f"{_CAPACITY[memory][1]}_bytes", kernel.memory_bytes(memory), "B")


def capacity_rules(device: AscendDevice, used: dict[str, Expr], simt: bool) -> tuple[Rule, ...]:
    """One rule for each memory of which something is `used` (by memory), in the order of `_CAPACITY`.

    With a SIMT vector function a part of UB is its threads' own, where the device has such functions.
    """
    return tuple(_capacity(device, memory, used[memory], simt) for memory in _CAPACITY if memory in used)


def _capacity(device: AscendDevice, memory: str, value: Expr, simt: bool) -> Rule:
    identifier, key, what = _CAPACITY[memory]
    name = f"{key}_bytes"
    if memory == "UB" and simt and device.ub_simt_bytes.applies:
        name = "ub_simt_bytes"
    return Rule(
        id=identifier,
        sentence=f"{what} fits in {memory}",
        value=value,
        limit=limit(device, name),
        unit="B",
        source=source(device, name),
        unknown=f"{device.name}: {name} is not known",
        has_slack=True,
    )


def fractal_rule(device: AscendDevice, m: Expr, n: Expr, k: Expr, group: int) -> Rule:
    """C3.fractal: the Cube multiplies whole fractals; what a tile lacks is padded, billed, and not stored in order."""
    rows, columns = constant_of(device, "fractal_m"), constant_of(device, "fractal_n")
    return Rule(
        id="C3.fractal",
        sentence="the tile is whole fractals of the Cube along m, n and k",
        value=all_of(divides(rows, m), divides(columns, n), divides(const(group, "fractal_k"), k)),
        limit=const(1),
        unit="elements",
        source=source(device, "fractal_m"),
    )


def alignment_rule(device: AscendDevice, memory: str, sizes: Sequence[Expr], what: str) -> Rule:
    """C3.align_MEMORY: `sizes` in bytes are multiples of what an access to the memory needs.

    The value is the first size that is not, so that a broken rule names the bytes.
    """
    key = memory.lower()
    needed = limit(device, f"{key}_alignment")
    value = sizes[-1]
    if needed is not None:
        for size in reversed(sizes[:-1]):
            value = select(divides(needed, size), value, size)
    return Rule(
        id=f"C3.align_{key}",
        sentence=f"{what} in {memory} begins at an aligned address",
        value=value,
        limit=needed,
        relation="multiple",
        unit="B",
        source=source(device, f"{key}_alignment"),
        unknown=f"{device.name}: {key}_alignment is not known",
    )


def cores_rule(device: AscendDevice, tiles: Expr) -> Rule:
    """C4.cores: the launch is persistent, one block a Cube core, so it has no more blocks than cores."""
    cores = limit(device, "cube_cores")
    return Rule(
        id="C4.cores",
        sentence="a persistent launch has a block for each Cube core, or for each tile where there are fewer",
        value=tiles if cores is None else minimum(tiles, cores),
        limit=cores,
        unit="blocks",
        source=source(device, "cube_cores"),
        unknown=f"{device.name}: cube_cores is not known",
    )


def event_rule(device: AscendDevice, stages: Expr) -> Rule:
    """C4.event_ids: between the mover and the Cube each version in flight has an event of its own at least."""
    return Rule(
        id="C4.event_ids",
        sentence="the versions between two pipes have an event id each",
        value=stages,
        limit=limit(device, "event_ids") if known(device, "event_ids") else None,
        unit="event ids",
        # Where the file does not know the count, nothing says that few versions are too many.
        hard=known(device, "event_ids"),
        source=source(device, "event_ids"),
        unknown=f"{device.name}: event_ids is not known",
    )
