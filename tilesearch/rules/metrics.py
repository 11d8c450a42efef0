"""The metrics of a launch, assembled into a model: each formula here, once."""

from __future__ import annotations

from dataclasses import dataclass

from tilesearch.program.form import Program
from tilesearch.rules.expr import Expr, ceildiv, const, maximum
from tilesearch.rules.geometry import Geometry
from tilesearch.rules.limits import constant_of, known
from tilesearch.rules.model import Metric, Model, Rule, Variable, named
from tilesearch.rules.occupancy import Load, Residency, exact, seed
from tilesearch.specs.devices import Device, NvidiaDevice


@dataclass(frozen=True)
class EqualShares:
    """A launch whose blocks take equal shares of the `steps` of all tiles: `blocks` of them, all at once.

    `moved`: bytes of partial sums, written and read, beside what the tiles read and write.
    """

    steps: Expr
    blocks: Expr
    moved: Expr


def residency_of(device: NvidiaDevice, load: Load, arithmetic: str) -> Residency:
    """Blocks per SM of `load` by the named arithmetic: ``exact`` or ``seed``."""
    return seed(device, load) if arithmetic == "seed" else exact(device, load)


def launch_metrics(
    device: Device,
    program: Program,
    geometry: Geometry,
    load: Load,
    residency: Residency | None,
    variables: tuple[Variable, ...],
    rules: tuple[Rule, ...],
    assumed_blocks: int | None = None,
    notes: tuple[str, ...] = (),
    launched: Expr | None = None,
    shares: EqualShares | None = None,
) -> Model:
    """A model with the metrics that every GPU language shares.

    waves = ceil(grid / (blocks_per_sm * sm_count)); tail_fill = how full the last wave is, in (0, 1];
    priority = (traffic_bytes + 1) * waves, carver's key on the whole launch. `assumed_blocks` replaces the
    computed residency in these three, not in the rules. `launched` is the grid of a persistent kernel, whose
    blocks walk the tiles: waves then count rounds of tiles. Of equal `shares` there is one wave, as full as the
    shares are alike.
    """
    grid = named("grid" if launched is None else "tiles", geometry.grid(), "blocks")
    moved = geometry.traffic() if shares is None else geometry.traffic() + shares.moved
    traffic = named("traffic_bytes", moved, "B")
    metrics = [
        Metric("traffic_bytes", traffic, "B", "bytes moved between the blocks and memory, L2 re-reads included"),
        Metric("shared_bytes", load.shared, "B", "shared memory of a block"),
        Metric("accumulators_per_thread", load.held, "registers", "accumulator registers of a thread"),
        Metric("threads_per_block", load.threads, "threads"),
        Metric("grid", grid if launched is None else named("grid", launched), "blocks", "blocks of the launch"),
        *_residency_metrics(device, load, residency),
    ]
    keys: dict[str, Expr] = {"traffic": traffic}
    fractions: dict[str, tuple[Expr, Expr]] = {}
    resident = _resident(metrics, assumed_blocks, launched is not None)
    if resident is None or not known(device, "sm_count"):
        unknown = "sm_count" if resident is not None else "how many blocks an SM holds"
        reason = f"{device.name}: {unknown} is not known"
        metrics += [Metric(name, None, reason=reason) for name in ("waves", "priority", "tail_fill")]
    else:
        slots = maximum(resident, 1) * constant_of(device, "sm_count")
        waves = named("waves", ceildiv(grid, slots) if shares is None else const(1), "waves")
        priority = named("priority", (traffic + 1) * waves)
        metrics += [
            Metric("waves", waves, "waves"),
            Metric("priority", priority, "", "carver's key, smaller is better"),
        ]
        keys["carver"] = priority
        fractions["tail_fill"] = (grid - (waves - 1) * slots, slots)
        if shares is not None:
            fractions["tail_fill"] = (shares.steps, shares.blocks * ceildiv(shares.steps, shares.blocks))
    constants = {**program.constants, **_device_constants(device)}
    return Model(variables, {m.name: m for m in metrics}, rules, keys, constants, fractions, notes)


def _residency_metrics(device: Device, load: Load, residency: Residency | None) -> list[Metric]:
    if residency is None:
        reason = f"{device.name}: how registers are allocated is not known"
        return [
            Metric(n, None, reason=reason) for n in ("registers_per_thread", "registers_per_block", "blocks_per_sm")
        ]
    blocks = named("blocks_per_sm", residency.blocks, "blocks")
    return [
        Metric("registers_per_thread", load.registers, "registers", "registers of a thread"),
        Metric("registers_per_block", named("registers_per_block", residency.allocated_registers), "registers"),
        Metric("blocks_per_sm", blocks, "blocks", "resident blocks on one SM"),
        *(Metric(f"blocks_by_{name}", tree, "blocks") for name, tree in residency.by.items()),
    ]


def _resident(metrics: list[Metric], assumed_blocks: int | None, persistent: bool) -> Expr | None:
    """Blocks that an SM runs at once, for counting waves: a persistent kernel has one for each SM."""
    if assumed_blocks is not None:
        return const(assumed_blocks, "assumed_blocks_per_sm")
    if persistent:
        return const(1)
    return next(m.expr for m in metrics if m.name == "blocks_per_sm")


def _device_constants(device: Device) -> dict[str, int]:
    """Numbers of the device by the names that users' rules know; ``l2_bytes`` alone would be a tile's traffic."""
    names = ("sm_count", "shared_per_block_optin", "shared_per_sm", "registers_per_sm", "l2_bytes", "warp_size")
    known_names = [name for name in names if hasattr(device, name) and known(device, name)]
    return {_RENAMED.get(name, name): int(getattr(device, name).value) for name in known_names}


_RENAMED = {"l2_bytes": "l2_capacity_bytes"}
