"""FlashAttention's loop over keys on one AI core: two products on the Cube, the softmax between them on Vector."""

from __future__ import annotations

from dataclasses import dataclass

from tilesearch.program.form import Program, Tensor
from tilesearch.rules.ascend import costs
from tilesearch.rules.ascend.costs import Mode
from tilesearch.rules.ascend.gemm import OUT_PATH, copy_name
from tilesearch.rules.ascend.kernel import Kernel, Statement, Store
from tilesearch.rules.expr import Expr, ceildiv, const, maximum
from tilesearch.rules.geometry import Geometry, storage
from tilesearch.rules.limits import number
from tilesearch.specs.devices.ascend import AscendDevice
from tilesearch.specs.dtypes import DType, dtype

_STATISTICS = 3  # values a row that live from step to step: its maximum, its sum, and the factor to rescale by
_BAND_NOTE = "cycles count every key block of a tile: what the mask leaves out is not taken off"


@dataclass(frozen=True)
class _Tile:
    """A tile's trees: queries, keys, and the sizes of a key and a value."""

    m: Expr
    n: Expr
    d: Expr
    dv: Expr
    kind: DType
    acc: DType
    q: Tensor
    k: Tensor
    v: Tensor | None
    lanes: int

    @property
    def rows(self) -> Expr:
        """Rows of one Vector core."""
        return ceildiv(self.m, self.lanes)


def _tile(program: Program, geometry: Geometry, device: AscendDevice) -> _Tile:
    first = program.contractions[0]
    m, n, d = (geometry.tile(program.dim(name)) for name in (first.m, first.n, first.k))
    dv = geometry.tile(program.dim(program.contractions[1].n))
    names = {t.name: t for t in program.tensors}
    kind = first.computed or names["q"].dtype
    lanes = number(device, "vector_per_cube")
    return _Tile(m, n, d, dv, kind, first.acc, names["q"], names["k"], names.get("v"), lanes)


def stores_of(program: Program, geometry: Geometry, device: AscendDevice) -> tuple[Store, ...]:
    """The buffers of a tile. Keys and values have `num_stages` versions; what lies between the steps of one
    iteration has more than one where there is room. The latent part of MLA's key is its value, stored once.
    """
    t = _tile(program, geometry, device)
    stores = [
        Store("q_l1", "L1", storage(t.m * t.d, t.q.dtype)),
        Store("k_l1", "L1", storage(t.n * t.d, t.k.dtype), pipelined=True),
        Store("p_l1", "L1", storage(t.m * t.n, t.kind), elastic=True),
        Store("a_l0", "L0A", maximum(storage(t.m * t.d, t.kind), storage(t.m * t.n, t.kind))),
        Store("b_l0", "L0B", maximum(storage(t.n * t.d, t.kind), storage(t.n * t.dv, t.kind))),
        Store("s_l0", "L0C", storage(t.m * t.n, t.acc), elastic=True),
        Store("pv_l0", "L0C", storage(t.m * t.dv, t.acc), elastic=True),
        Store("s_ub", "UB", storage(t.rows * t.n, t.acc), elastic=True),
        Store("p_ub", "UB", storage(t.rows * t.n, t.kind), elastic=True),
        Store("pv_ub", "UB", storage(t.rows * t.dv, t.acc), elastic=True),
        Store("o_ub", "UB", storage(t.rows * t.dv, t.acc)),
        Store("row_ub", "UB", storage(t.rows * _STATISTICS, dtype("fp32")), elastic=True),
    ]
    if t.v is not None:
        stores.insert(2, Store("v_l1", "L1", storage(t.n * t.dv, t.v.dtype), pipelined=True))
    return tuple(stores)


def attention_kernel(program: Program, geometry: Geometry, device: AscendDevice, mode: Mode, stages: Expr) -> Kernel:
    """One step of keys: load, scores, out to UB, softmax, back to L1, product with the values, rescale and add.

    Vector work of a score: the program's softmax terms; of an output element: the rescaling and the addition.
    """
    t = _tile(program, geometry, device)
    stores = stores_of(program, geometry, device)
    size = {s.name: s.size for s in stores}
    scores, outputs = t.rows * t.n, t.rows * t.dv
    softmax = [
        ("special" if "sfu." in x.unit else "mul", scores) for x in program.terms[1:3] for _ in range(x.per_point)
    ]
    value = "v_l1" if t.v is not None else "k_l1"

    def product(m: Expr, n: Expr, k: Expr) -> costs.Cost:
        operands = (storage(m * k, t.kind), storage(n * k, t.kind))
        return costs.cube(device, costs.cube_kind(t.kind), m, n, k, mode, operands)

    def load(name: str) -> Statement:
        return Statement(copy_name(name), costs.copy(device, "gm_l1", size[name], None, mode), (), (name,))

    def out(name: str, source: str, target: str, width: Expr) -> Statement:
        cost = costs.copy(device, OUT_PATH, size[target], storage(width, t.acc), mode)
        return Statement(name, cost, (source,), (target,))

    rescale = costs.vector(device, [("mul", outputs), ("add", outputs)], 0, size["pv_ub"] + size["o_ub"], mode)
    body = [
        load("k_l1"),
        Statement("q k^T", product(t.m, t.n, t.d), ("q_l1", "k_l1"), ("s_l0",)),
        out("scores out", "s_l0", "s_ub", t.n),
        Statement("softmax", costs.vector(device, softmax, 0, size["s_ub"], mode), ("s_ub",), ("p_ub", "row_ub")),
        Statement("to fractals", costs.scatter(device, t.kind, t.kind, t.rows, t.n), ("p_ub",), ("p_ub",)),
        Statement("p to L1", costs.copy(device, "ub_l1", size["p_ub"], None, mode), ("p_ub",), ("p_l1",)),
        *([load("v_l1")] if t.v is not None else []),
        Statement("p v", product(t.m, t.dv, t.n), ("p_l1", value), ("pv_l0",)),
        out("p v out", "pv_l0", "pv_ub", t.dv),
        Statement("rescale and add", rescale, ("pv_ub", "row_ub", "o_ub"), ("o_ub",)),
    ]
    keys = program.dim(program.contractions[0].n)
    divide = costs.vector(device, [("div", outputs)], 0, size["o_ub"], mode)
    result = program.outputs[0]
    store = costs.copy(device, "ub_gm", storage(outputs, result.dtype), storage(t.dv, result.dtype), mode)
    return Kernel(
        tuple(body),
        ceildiv(const(keys.extent, keys.name), t.n),
        stores,
        stages,
        before=(load("q_l1"),),
        after=(Statement("divide", divide, ("o_ub",), ("o_ub",)), Statement("store", store, ("o_ub",), ())),
        notes=(_BAND_NOTE,) if program.band is not None else (),
    )
