"""The metrics of an Ascend launch: bytes of each memory, periods, and cycles of the whole problem."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd

from tilesearch.errors import UnknownLimitError
from tilesearch.program.form import Program
from tilesearch.rules.ascend.kernel import Kernel, cycles
from tilesearch.rules.evaluate import evaluate
from tilesearch.rules.expr import Expr, ceildiv, const, maximum
from tilesearch.rules.geometry import Geometry
from tilesearch.rules.limits import constant_of, known
from tilesearch.rules.model import Metric, Model, Rule, Variable, named
from tilesearch.specs.devices.ascend import AscendDevice

_TIMED = ("ii", "stages_needed", "cycles")
_BYTES = {
    "L1": ("l1_bytes", "bytes of L1, all versions"),
    "L0A": ("l0a_bytes", "bytes of L0A"),
    "L0B": ("l0b_bytes", "bytes of L0B"),
    "L0C": ("l0c_bytes", "bytes of L0C"),
    "UB": ("ub_bytes", "bytes of UB of one Vector core"),
    "BT": ("bt_bytes", "bytes of the bias table"),
    "Fixpipe": ("fixpipe_bytes", "bytes of the Fixpipe buffer"),
}


@dataclass(frozen=True)
class Times:
    """Trees of a kernel's times, in ticks: the period of its loop, the first tile, and each tile after it."""

    period: Expr
    stages: Expr
    first: Expr
    each: Expr
    meaning: str


def byte_metrics(used: dict[str, Expr]) -> list[Metric]:
    """A metric for each memory, 0 where nothing is used of it."""
    return [Metric(name, used.get(m, named(name, const(0), "B")), "B", about) for m, (name, about) in _BYTES.items()]


def launch_model(
    device: AscendDevice,
    program: Program,
    geometry: Geometry,
    used: dict[str, Expr],
    variables: tuple[Variable, ...],
    rules: tuple[Rule, ...],
    notes: tuple[str, ...] = (),
) -> Model:
    """The model without its times: what is known of a launch from the program and the device's limits alone.

    Tiles are dealt to persistent blocks, one a Cube core: waves = ceil(tiles / cores), tail_fill = how full the
    last round is; priority = (traffic_bytes + 1) * waves, carver's key.
    """
    tiles = named("grid", geometry.grid(), "tiles")
    traffic = named("traffic_bytes", geometry.traffic(), "B")
    metrics = [
        Metric("traffic_bytes", traffic, "B", "bytes between the blocks and main memory or L2, re-reads included"),
        Metric("grid", tiles, "tiles", "output tiles"),
        *byte_metrics(used),
    ]
    keys: dict[str, Expr] = {"traffic": traffic}
    fractions: dict[str, tuple[Expr, Expr]] = {}
    constants = dict(program.constants)
    if known(device, "cube_cores"):
        cores = constant_of(device, "cube_cores")
        waves = named("waves", ceildiv(tiles, cores), "rounds")
        priority = named("priority", (traffic + 1) * waves)
        metrics += [
            Metric("waves", waves, "rounds", "rounds of tiles, one tile a core"),
            Metric("priority", priority, "", "carver's key, smaller is better"),
        ]
        keys["carver"] = priority
        fractions["tail_fill"] = (tiles - (waves - 1) * cores, cores)
        constants["cube_cores"] = cores.value
    else:
        reason = f"{device.name}: cube_cores is not known"
        metrics += [Metric(name, None, reason=reason) for name in ("waves", "priority", "tail_fill")]
    return Model(variables, {m.name: m for m in metrics}, rules, keys, constants, fractions, notes)


def with_times(model: Model, device: AscendDevice, program: Program, kernel: Kernel, times: Times) -> Model:
    """The model with its periods and cycles, and ``time`` among its rankings.

    cycles = max(first tile + (rounds - 1) x period of tiles, main memory's bound). The bound: each byte that any
    kernel must move, once, at the bandwidth that all cores share. `hbm_cycles` is what main memory alone would
    take if nothing that blocks read again hit L2.
    """
    ii = named("ii", cycles(kernel.clock, times.period), "cycles")
    found = [
        Metric("ii", ii, "cycles", times.meaning),
        Metric("stages_needed", named("stages_needed", times.stages), "versions", "versions of the operands in L1"),
    ]
    keys = dict(model.keys)
    waves = model.metrics["waves"].expr
    if waves is None:
        found.append(Metric("cycles", None, reason=model.metrics["waves"].reason))
    else:
        on_cores = cycles(kernel.clock, times.first + (waves - 1) * times.each)
        bound = memory_cycles(device, const(program.compulsory_bytes, "compulsory_bytes"))
        whole = named("cycles", on_cores if bound is None else maximum(on_cores, bound), "cycles")
        found.append(Metric("cycles", whole, "cycles", "estimate for the whole problem"))
        keys["time"] = whole
        again = memory_cycles(device, model.metric("traffic_bytes"))
        found += [Metric("hbm_cycles", named("hbm_cycles", again), "cycles")] if again is not None else []
    notes = [*model.notes, *kernel.notes]
    least = memory_cycles(device, const(program.compulsory_bytes))
    if least is not None and waves is not None:
        bytes_moved, fewest = program.compulsory_bytes, int(evaluate(least, {}))
        notes.append(
            f"main memory: {bytes_moved} B must be moved by any kernel, so no tile takes less than {fewest} cycles"
        )
    elif least is None:
        notes.append(f"{device.name}: clock or bandwidth is not known, so cycles leave the bound of main memory out")
    metrics = {**model.metrics, **{m.name: m for m in found}, **_pipes(kernel)}
    return replace(model, metrics=metrics, keys=keys, notes=tuple(notes))


def _pipes(kernel: Kernel) -> dict[str, Metric]:
    """For rules of the user's: how long an iteration holds each pipe (``mte2_ii``, ``cube_ii``), and how long a tile
    does, with what is done once (``fixpipe_tile``, ``vector_tile``).
    """
    names = {
        "MTE1": "mte1",
        "MTE2": "mte2",
        "MTE3": "mte3",
        "M": "cube",
        "V": "vector",
        "FIX": "fixpipe",
    }
    result = {}
    for pipe, name in names.items():
        for span, ticks in (("ii", kernel.load(pipe)), ("tile", kernel.tile_load(pipe))):
            tree = named(f"{name}_{span}", cycles(kernel.clock, ticks), "cycles")
            what = "an iteration" if span == "ii" else "a tile"
            result[tree.name] = Metric(tree.name, tree, "cycles", f"cycles that {what} holds {pipe}")
    return result


def without_times(model: Model, reason: UnknownLimitError | str) -> Model:
    """The model of a device whose costs are not known: metrics without a value, with the reason."""
    missing = {name: Metric(name, None, reason=str(reason)) for name in _TIMED}
    return replace(model, metrics={**model.metrics, **missing})


def memory_cycles(device: AscendDevice, size: Expr) -> Expr | None:
    """Cycles in which main memory moves `size` bytes, all cores together; None where clock or bandwidth is unknown."""
    clock = device.clocks.get("aicore")
    bandwidth = device.bandwidth.theoretical.value
    if clock is None or clock.value is None or bandwidth is None:
        return None
    hertz, per_second = int(clock.value), int(bandwidth)
    shared = gcd(hertz, per_second)
    return ceildiv(size * (hertz // shared), per_second // shared)
