"""Kernels of the Vector cores alone: rows, reductions and independent elements, streamed through UB."""

from __future__ import annotations

from tilesearch.program.form import Program, Role, Tensor
from tilesearch.rules.ascend import costs
from tilesearch.rules.ascend.costs import Cost, Mode
from tilesearch.rules.ascend.kernel import Kernel, Statement, Store, either
from tilesearch.rules.expr import Expr, any_of, as_expr, ceildiv, const, product, total
from tilesearch.rules.geometry import Geometry, storage
from tilesearch.rules.limits import number
from tilesearch.specs.devices.ascend import AscendDevice


def stores_of(program: Program, geometry: Geometry, device: AscendDevice) -> tuple[Store, ...]:
    """What each Vector core holds of a tile: its share of every tensor; tables that all tiles share, whole.

    Inputs and outputs have versions, so that copies run beside the work; values on their way have not.
    """
    return tuple(
        Store(
            f"{t.name}_ub",
            "UB",
            _bytes(geometry, t, number(device, "vector_per_cube")),
            pipelined=t.role is not Role.INTERMEDIATE and not _shared(program, t),
        )
        for t in program.tensors
    )


def _bytes(geometry: Geometry, tensor: Tensor, lanes: int) -> Expr:
    elements = geometry.region(tensor)
    return storage(elements if _shared(geometry.program, tensor) else ceildiv(elements, lanes), tensor.dtype)


def _shared(program: Program, tensor: Tensor) -> bool:
    """Whether all tiles read the same entries: the tensor is indexed by nothing that blocks partition."""
    return not program.owners(tensor) & {d.name for d in program.parallel}


def vector_kernel(
    program: Program, geometry: Geometry, device: AscendDevice, mode: Mode, stages: Expr, rounds: Expr
) -> Kernel:
    """Load, work, store, over the tiles of a persistent block."""
    stores = stores_of(program, geometry, device)
    size = {s.name: s.size for s in stores}
    read = [t for t in program.tensors if t.role in (Role.INPUT, Role.TABLE)]
    loads = [
        Statement(
            f"load {t.name}", _moved(geometry, device, "gm_ub", t, size[f"{t.name}_ub"], mode), (), (f"{t.name}_ub",)
        )
        for t in read
    ]
    inner = [s for s, t in zip(loads, read, strict=True) if not _shared(program, t)]
    outer = [s for s, t in zip(loads, read, strict=True) if _shared(program, t)]
    results = tuple(f"{t.name}_ub" for t in program.outputs)
    operands = tuple(f"{t.name}_ub" for t in read)
    held = tuple(f"{t.name}_ub" for t in program.tensors if t.role is Role.INTERMEDIATE)
    work = costs.vector(
        device,
        _operations(program, geometry, number(device, "vector_per_cube")),
        0,
        total(size[name] for name in operands),
        mode,
    )
    writes = [
        Statement(
            f"store {t.name}", _moved(geometry, device, "ub_gm", t, size[f"{t.name}_ub"], mode), (f"{t.name}_ub",), ()
        )
        for t in program.outputs
    ]
    body = (*inner, Statement("vector", work, operands, (*held, *results)), *writes)
    return Kernel(body, rounds, stores, stages, before=tuple(outer))


def _operations(program: Program, geometry: Geometry, lanes: int) -> list[tuple[str, Expr]]:
    """The program's terms as nodes of a vector block: each operation of a point is one, over a core's share."""
    found: list[tuple[str, Expr]] = []
    for term in program.terms:
        points = product(geometry.tile(program.owner(name)) for name in term.dims)
        kind = "special" if term.unit.startswith("sfu.") else "mul"
        found += [(kind, ceildiv(points, lanes))] * term.per_point
    return found


def _moved(geometry: Geometry, device: AscendDevice, path: str, tensor: Tensor, size: Expr, mode: Mode) -> Cost:
    """A copy of a tile: contiguous, unless blocks cut every axis but the first and rows stay behind."""
    whole = costs.copy(device, path, size, None, mode)
    row = _row(geometry, tensor)
    if row is None:
        return whole
    width, contiguous = row
    return either(contiguous, whole, costs.copy(device, path, size, storage(width, tensor.dtype), mode))


def _row(geometry: Geometry, tensor: Tensor) -> tuple[Expr, Expr] | None:
    """Elements of an unbroken run of the tile, and where the whole tile is one run; None where it always is."""
    tiles = [(geometry.tile(geometry.program.owner(axis.terms[0][0])), axis.extent) for axis in tensor.axes]
    cut = [i for i, (tile, extent) in enumerate(tiles) if i and (tile.variables or _constant(tile) < extent)]
    if not cut:
        return None
    inner = cut[-1]
    width = product(tile for tile, _ in tiles[inner:])
    before = product(tile for tile, _ in tiles[:inner])
    return width, any_of(tiles[inner][0] >= tiles[inner][1], before <= 1)


def _constant(tree: Expr) -> int:
    return int(getattr(tree, "value", 1))


def iteration(kernel: Kernel) -> Expr:
    """Ticks of one tile from its first load to its last store: loads queue, then the work, then the stores."""
    loads = [s for s in kernel.body if s.name.startswith("load")]
    rest = [s for s in kernel.body if not s.name.startswith("load")]
    queued = total(s.cost.interval for s in loads)
    last = loads[-1].cost if loads else None
    landed = queued + last.latency - last.interval if last is not None else as_expr(const(0))
    return total([landed, *(s.cost.latency for s in rest)])
