"""A tile of a matrix product on one AI core: copies to L1, products into L0C, and the way out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilesearch.errors import InputError, Issue
from tilesearch.program.form import Contraction, Program, Role, Tensor
from tilesearch.rules.ascend import costs
from tilesearch.rules.ascend.costs import WHOLE, Clock, Cost, Mode
from tilesearch.rules.ascend.kernel import Kernel, Statement, Store, chain, either, held, queues
from tilesearch.rules.expr import Expr, any_of, ceildiv, const, maximum, minimum, total
from tilesearch.rules.geometry import Geometry, storage
from tilesearch.rules.limits import number
from tilesearch.specs.devices.ascend import AscendDevice
from tilesearch.specs.dtypes import DType

# Vector operations of an activation, node by node: gelu by its tanh form.
_ACTIVATIONS: dict[str, tuple[str, ...]] = {
    "relu": ("minmax",),
    "gelu": ("mul", "mul", "mul", "add", "mul", "special", "add", "mul", "mul"),
    "silu": ("special", "mul"),
    "sigmoid": ("special",),
    "tanh": ("special",),
}
_BESIDE_NOTE = (
    "cycles are an estimate where a bias or an added matrix is copied beside the loop over k: `schedule` finds when"
)

OUT_PATH = "l0c_ub_dual"
"""The path on which a tile goes from the Cube's side to its Vector cores."""

_NAMED = {**_ACTIVATIONS, "bias": (), "c_in": ("add",), "scaling": ("mul", "add")}


@dataclass(frozen=True)
class Shape:
    """A tile's trees: elements along m, n and k, bytes of the tiles of a and b, and of their rows in memory.

    `lanes` is how many Vector cores share the output tile.
    """

    product: Contraction
    m: Expr
    n: Expr
    k: Expr
    a: Tensor
    b: Tensor
    out: Tensor
    kind: str
    a_bytes: Expr
    b_bytes: Expr
    rows: tuple[Expr, Expr]
    lanes: int

    @property
    def accumulator_bytes(self) -> Expr:
        """Bytes of the accumulator in L0C."""
        return storage(self.m * self.n, self.product.acc)

    @property
    def rows_per_core(self) -> Expr:
        """Rows of the output tile that one Vector core works on: the tile is split along m."""
        return ceildiv(self.m, self.lanes)


def shape_of(program: Program, geometry: Geometry, device: AscendDevice) -> Shape:
    """The tile of a program that is one product of two staged tensors. Raises `InputError` for any other."""
    product = program.contraction
    names = {t.name for t in program.tensors if t.staged}
    if len(program.contractions) != 1 or product is None or not {product.a, product.b} <= names:
        raise InputError(Issue(f"the ascend language does not lower {program.kind} yet", "op.kind"))
    if any(len(axis.terms) > 1 for name in (product.a, product.b) for axis in program.tensor(name).axes):
        raise InputError(
            Issue(f"the ascend language does not lower {program.kind} yet: its windows overlap", "op.kind")
        )
    a, b = program.tensor(product.a), program.tensor(product.b)
    computed = product.computed or a.dtype
    if product.computed is None and a.dtype != b.dtype:
        raise InputError(Issue(f"the Cube multiplies operands of one type, got {a.dtype} and {b.dtype}", "op.dtype"))
    m, n, k = (geometry.tile(program.dim(name)) for name in (product.m, product.n, product.k))
    sizes = [storage(geometry.region(t), t.dtype) for t in (a, b)]
    rows = [storage(geometry.tile(program.owner(t.axes[-1].terms[0][0])), t.dtype) for t in (a, b)]
    kind = costs.cube_kind(computed, product.scaled)
    lanes = number(device, "vector_per_cube")
    return Shape(product, m, n, k, a, b, program.outputs[0], kind, sizes[0], sizes[1], (rows[0], rows[1]), lanes)


def epilogue_of(program: Program) -> tuple[tuple[str, bool], ...]:
    """The vector operations behind the product: the class of each, and whether it runs for a row, not an element.

    A bias needs none: it goes through the bias table.
    """
    product = program.contraction
    found: list[tuple[str, bool]] = []
    for term in program.terms[1:]:
        name = term.name.removeprefix("activation ")
        kind = "special" if term.unit.startswith("sfu.") else "mul"
        kinds = _NAMED.get(name, (kind,) * term.per_point)
        found += [(k, product is not None and product.n not in term.dims) for k in kinds]
    return tuple(found)


def addends_of(program: Program) -> tuple[Tensor, ...]:
    """What the vector work reads beside the accumulator: matrices as large as the output, or a row of factors."""
    product = program.contraction
    assert product is not None
    return tuple(
        t
        for t in program.tensors
        if t.role is Role.INPUT and not t.staged and t.name != "bias" and product.n in program.owners(t)
    )


def _share(program: Program, shape: Shape, tensor: Tensor) -> Expr:
    """Bytes of an addend that one Vector core holds."""
    by_row = shape.product.m not in program.owners(tensor)
    return storage(shape.n if by_row else shape.rows_per_core * shape.n, tensor.dtype)


def stores_of(program: Program, shape: Shape) -> tuple[Store, ...]:
    """The buffers of a tile. Operands pass whole through L0; each Vector core holds half of the output tile."""
    bias = any(t.name == "bias" for t in program.tensors)
    found = [
        Store("a_l1", "L1", shape.a_bytes, pipelined=True),
        Store("b_l1", "L1", shape.b_bytes, pipelined=True),
        *(Store(f"{t.name}_l1", "L1", _scale_bytes(program, t), True) for t in _scales(program)),
        Store("a_l0", "L0A", shape.a_bytes),
        Store("b_l0", "L0B", shape.b_bytes),
        Store("c_l0", "L0C", shape.accumulator_bytes),
    ]
    if bias:
        found += [Store("bias_l1", "L1", _bias_bytes(shape)), Store("bias_bt", "BT", _bias_bytes(shape))]
    if _requantised(shape):
        # One 64-bit factor for each column of the output.
        found.append(Store("factors", "Fixpipe", shape.n * 8))
    if epilogue_of(program):
        share = shape.rows_per_core * shape.n
        found.append(Store("c_ub", "UB", storage(share, shape.product.acc)))
        if shape.out.dtype != shape.product.acc:
            found.append(Store("out_ub", "UB", storage(share, shape.out.dtype)))
        found += [Store(f"{t.name}_ub", "UB", _share(program, shape, t)) for t in addends_of(program)]
    return tuple(found)


def _bias_bytes(shape: Shape) -> Expr:
    """The bias table holds a value of the accumulator's type for each column."""
    return storage(shape.n, shape.product.acc)


def _requantised(shape: Shape) -> bool:
    return not shape.product.acc.is_float and shape.out.dtype != shape.product.acc


def _scales(program: Program) -> list[Tensor]:
    return [t for t in program.tensors if t.staged and t.name.startswith("scale_")]


def _scale_bytes(program: Program, tensor: Tensor) -> Expr:
    return storage(
        Geometry(program, frozenset(d.variable for d in program.dims if d.variable)).region(tensor), tensor.dtype
    )


def _scales_to_l0(program: Program, shape: Shape) -> list[Expr]:
    """Bytes of the scales that the Cube applies: they go to L0 with the operands. Others are Vector's work."""
    return [_scale_bytes(program, t) for t in _scales(program)] if shape.product.scaled else []


def loads_to_l0(program: Program, shape: Shape, device: AscendDevice, clock: Clock) -> Expr:
    """How long what one product reads holds MTE1, in ticks, whatever the mode charges for it."""
    return costs.operand_load(device, (shape.a_bytes, shape.b_bytes), clock, _scales_to_l0(program, shape))


def gemm_kernel(
    program: Program, shape: Shape, device: AscendDevice, mode: Mode, stages: Expr, stores: Sequence[Store]
) -> Kernel:
    """The statements of a tile, with their costs. Raises where the device file does not know what they cost."""
    clock = _clock(device, shape) if mode == "seed" else WHOLE
    sizes = {s.name: s.size for s in stores}
    loaded = [s.name for s in stores if s.pipelined]
    body = [
        Statement(copy_name(name), costs.copy(device, "gm_l1", sizes[name], None, mode, clock), (), (name,))
        for name in loaded
    ]
    operands, scales = (shape.a_bytes, shape.b_bytes), _scales_to_l0(program, shape)
    product = costs.cube(device, shape.kind, shape.m, shape.n, shape.k, mode, operands, clock, scales)
    body.append(Statement("gemm", product, (*loaded, *(["bias_bt"] if "bias_bt" in sizes else [])), ("c_l0",)))
    k = program.dim(shape.product.k)
    trips = ceildiv(const(k.extent, k.name), shape.k)
    if mode == "seed":
        note = "latency = seed: the seed text's model has the Cube, MTE1 and MTE2, and nothing after the loop"
        return Kernel(tuple(body), trips, tuple(stores), stages, clock=clock, notes=(note,))
    before, after = _before(device, sizes, mode), _after(program, shape, device, mode, sizes)
    beside = before or any(not s.reads for s in after)
    notes = (_BESIDE_NOTE,) if beside else ()
    return Kernel(tuple(body), trips, tuple(stores), stages, before, after, notes=notes)


def copy_name(store: str) -> str:
    """What the copy into a buffer of L1 is called: ``copy A``, ``copy scale_a``."""
    name = store.removesuffix("_l1")
    return f"copy {name.upper() if len(name) == 1 else name}"


def _clock(device: AscendDevice, shape: Shape) -> Clock:
    rates = [costs.cube_rate(device, shape.kind).operations]
    paths = ("gm_l1", "l1_l0a", "l1_l0b", *(["l1_sf"] if shape.product.scaled else []))
    rates += [costs.path_of(device, name).bandwidth for name in paths]
    return Clock.exact(int(r) for r in rates if not isinstance(r, str))


def _before(device: AscendDevice, sizes: dict[str, Expr], mode: Mode) -> tuple[Statement, ...]:
    if "bias_bt" not in sizes:
        return ()
    return (
        Statement("copy bias", costs.copy(device, "gm_l1", sizes["bias_l1"], None, mode), (), ("bias_l1",)),
        Statement("bias to BT", costs.copy(device, "l1_bt", sizes["bias_bt"], None, mode), ("bias_l1",), ("bias_bt",)),
    )


def _after(
    program: Program, shape: Shape, device: AscendDevice, mode: Mode, sizes: dict[str, Expr]
) -> tuple[Statement, ...]:
    """From L0C to memory: straight, or through UB where the Vector cores have something to do."""
    if "c_ub" not in sizes:
        moved = costs.copy(device, "l0c_gm", storage(shape.m * shape.n, shape.out.dtype), None, mode)
        return (Statement("store", moved, ("c_l0",), ()),)
    found = []
    for t in addends_of(program):
        whole = costs.copy(device, "gm_ub", sizes[f"{t.name}_ub"], None, mode)
        by_row = shape.product.m not in program.owners(t)
        moved = whole if by_row else _tile_copy(program, shape, device, "gm_ub", t.dtype, mode)
        found.append(Statement(f"copy {t.name}", moved, (), (f"{t.name}_ub",)))
    inputs = ("c_ub", *(f"{t.name}_ub" for t in addends_of(program)))
    row = storage(shape.n, shape.product.acc)
    out = costs.copy(device, OUT_PATH, sizes["c_ub"], row, mode)
    found.append(Statement("copy out", out, ("c_l0",), ("c_ub",)))
    often = {True: shape.rows_per_core, False: shape.rows_per_core * shape.n}
    operations = [(kind, often[by_row]) for kind, by_row in epilogue_of(program)]
    work = costs.vector(device, operations, 0, total(sizes[name] for name in inputs), mode)
    result = "out_ub" if "out_ub" in sizes else "c_ub"
    found.append(Statement("vector", work, inputs, (result,)))
    found.append(Statement("store", _tile_copy(program, shape, device, "ub_gm", shape.out.dtype, mode), (result,), ()))
    return tuple(found)


def _tile_copy(program: Program, shape: Shape, device: AscendDevice, path: str, kind: DType, mode: Mode) -> costs.Cost:
    """A copy of one Vector core's share of the output tile: contiguous where the tile is as wide as the matrix."""
    size, row = storage(shape.rows_per_core * shape.n, kind), storage(shape.n, kind)
    whole = costs.copy(device, path, size, None, mode)
    contiguous = any_of(shape.n >= program.dim(shape.product.n).extent, shape.rows_per_core <= 1)
    return either(contiguous, whole, costs.copy(device, path, size, row, mode))


@dataclass(frozen=True)
class KLoop:
    """The loop over k in closed form, in ticks: its least period, and its shortest iteration at that period."""

    period: Expr
    iteration: Expr


def k_loop(kernel: Kernel) -> KLoop:
    """Exact for copies on one pipe and a product that accumulates.

    The product waits for itself (its full latency), so ``II* = max(sum of copies, latency, MTE1)``. The copy
    that is issued first holds its buffer through the other copies, its completion and the product: that is
    the iteration, and with S versions ``II >= iteration / S``. The last copy issued is the one with the least
    left to complete.
    """
    *copies, product = kernel.body
    issued = kernel.load("MTE2")
    waiting = minimum(*(c.cost.latency - c.cost.interval for c in copies))
    iteration = issued + waiting + product.cost.latency
    least = maximum(issued, product.cost.latency, product.cost.interval)
    return KLoop(maximum(least, ceildiv(iteration, kernel.stages)), iteration)


def stages_needed(kernel: Kernel, mode: Mode) -> Expr:
    """Versions of the operands in L1 that the shortest period needs; the seed's rule is one more than it thinks."""
    *_, product = kernel.body
    if mode == "seed":
        return 1 + ceildiv(product.cost.latency, product.cost.interval)
    loop = k_loop(kernel)
    least = maximum(kernel.load("MTE2"), product.cost.latency, product.cost.interval)
    return ceildiv(loop.iteration, least)


def first_tile(kernel: Kernel, whole: Expr) -> Expr:
    """Ticks of one tile: what comes before, the loop over k (`whole`), and the chain behind it.

    A copy into UB that waits for nothing runs before the loop, which needs its pipe, and lands while that runs.
    """
    early = [s for s in kernel.after if not s.reads]
    late = [s for s in kernel.after if s.reads]
    return chain(kernel.before) + total(s.cost.interval for s in early) + whole + chain(late)


def tile_period(kernel: Kernel, loop: KLoop, whole: Expr) -> Expr:
    """The period of a persistent block's tiles, in ticks.

    The loop holds its pipes and ports throughout (`whole`), so what shares one waits; the first product of the next
    tile waits until the accumulator has been copied out, and so does what fills the bias table until the last
    product has read it, while the bias is copied before or behind that loop; a buffer in UB has one version, held
    from its first writer to its last reader.
    """
    pipes = frozenset().union(*(s.cost.pipes for s in kernel.body))
    ports = frozenset().union(*(s.cost.ports for s in kernel.body))
    all_of_it = Statement("loop", Cost(whole, whole, pipes, ports))
    queued = queues((all_of_it, *kernel.before, *kernel.after)).values()
    offset = loop.iteration - kernel.body[-1].cost.latency
    released = [maximum(whole + s.cost.latency - offset, whole) for s in kernel.after if "c_l0" in s.reads]
    filled = [whole - offset + s.cost.latency for s in kernel.before if "bias_bt" in s.writes]
    if filled:
        copied, fill = kernel.before
        ahead = copied.cost.interval + fill.cost.latency  # before the loop that it is not for: that one waits
        # Behind the loop before: the fill begins no later than its own loop, however late that reads it.
        behind = maximum(copied.cost.interval, copied.cost.latency + maximum(fill.cost.latency - offset, 0))
        filled.append(whole + minimum(ahead, behind))
    in_ub = [held(kernel.after, s.name) for s in kernel.stores if s.memory == "UB"]
    return maximum(*queued, *released, *filled, *(path for path in in_ub if path is not None))
