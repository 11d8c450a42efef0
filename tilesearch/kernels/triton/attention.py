"""Flash attention in Triton: Q, K, V and P in shared memory, scores and output in registers."""

from __future__ import annotations

from dataclasses import dataclass

from tilesearch.errors import InputError, Issue
from tilesearch.kernels.base import Context
from tilesearch.kernels.triton.compiler import Compiler
from tilesearch.kernels.triton.operands import is_hinted
from tilesearch.kernels.triton.paths import Path, choose
from tilesearch.kernels.triton.registers import Registers
from tilesearch.kernels.versions import since
from tilesearch.program.form import Program, Role, Tensor
from tilesearch.rules.compiled import next_power_of_two
from tilesearch.rules.expr import (
    FALSE,
    TRUE,
    Expr,
    Var,
    all_of,
    any_of,
    as_expr,
    ceildiv,
    maximum,
    minimum,
    negate,
    round_up,
    select,
)  # fmt: skip
from tilesearch.rules.geometry import Geometry
from tilesearch.rules.model import named
from tilesearch.rules.nvidia import TileShape
from tilesearch.specs.dtypes import DType


@dataclass(frozen=True)
class Attention:
    """One attention kernel. Head dims are padded to powers of two, as tl.arange needs them."""

    compiler: Compiler
    program: Program
    rows: Expr
    keys: Expr
    head_dim: int
    value_dim: int
    operand: DType
    tma: bool
    path: Path
    copied: bool  # K and V come by async copies

    @property
    def stages(self) -> Expr:
        """num_stages."""
        return Var("num_stages")

    @property
    def on_wide(self) -> Expr:
        """Where the products run on an instruction that reads shared memory."""
        return any_of(self.path.wgmma, self.path.tcgen05)


def attention_of(context: Context, compiler: Compiler, geometry: Geometry, tma: bool) -> Attention:
    """The kernel of an attention program. Raises `InputError` for MLA, of which nothing was measured."""
    program = context.program
    scores, values = program.contractions
    if program.tensor(scores.b) is program.tensor(values.b):
        hint = "the generic language has the shared latent tile"
        raise InputError(Issue("the triton language has no rules for MLA yet", "op.latent_dim", context.source, hint))
    rows, keys = geometry.tile(program.dim(scores.m)), geometry.tile(program.dim(scores.n))
    head_dim = next_power_of_two(program.extent(scores.k))
    operand = scores.computed or program.dtype_of(scores.a)
    shape = TileShape(rows, keys, as_expr(head_dim), Var("num_warps"))
    path = choose(compiler, shape, operand, operand, scores.acc)
    return Attention(
        compiler=compiler,
        program=program,
        rows=rows,
        keys=keys,
        head_dim=head_dim,
        value_dim=next_power_of_two(program.extent(values.n)),
        operand=operand,
        tma=tma,
        path=path,
        copied=tma or _copied(compiler, program.tensor(scores.b), program.tensor(values.b)),
    )


def _copied(compiler: Compiler, *tensors: Tensor) -> bool:
    return compiler.async_copies and all(is_hinted(compiler, t) for t in tensors)


def shared_bytes(kernel: Attention) -> Expr:
    """``Q + buffers (K + V) + P``, with barriers and crumbs. Unit: B.

    buffers = num_stages where wgmma reads them in place, num_stages - 1 on the mma path; one stage keeps the
    larger of K and V. P passes through shared memory where the warps share the columns of the output instead
    of its rows (block_m below the head dim).
    """
    path, size = kernel.path, kernel.operand.bits
    if not path.mma and path.wgmma is FALSE and path.tcgen05 is FALSE:
        return 4 * (kernel.rows + kernel.keys) * kernel.head_dim  # Q and K staged as fp32, whatever the stages
    query = _bytes(kernel.rows * kernel.head_dim, size)
    key, value = _bytes(kernel.keys * kernel.head_dim, size), _bytes(kernel.keys * kernel.value_dim, size)
    in_turn = maximum(key, value) if _data(kernel)["in_turn"] else key + value
    buffered = buffers(kernel) * (key + value)
    if not kernel.tma:
        buffered = select(kernel.stages.eq(1), in_turn, buffered) if kernel.copied else in_turn
    total = query + buffered + _staged_p(kernel) + _extras(kernel) + _table(kernel)
    return (
        maximum(total, _bytes(kernel.rows * kernel.value_dim, kernel.program.outputs[0].dtype.bits))
        if kernel.tma
        else total
    )


def _bytes(elements: Expr, bits: int) -> Expr:
    return elements * bits // 8


def buffers(kernel: Attention) -> Expr:
    """Buffers of K and of V. Behind a table of pages half of the stages go to the table (compiled 3.6)."""
    spare = kernel.compiler.spare_buffers(kernel.operand.bits)
    narrow = _ahead_of_table(kernel) if is_paged(kernel.program) else kernel.stages - spare
    return select(kernel.on_wide, kernel.stages, maximum(1, narrow))


def is_paged(program: Program) -> bool:
    """Whether keys and values are found through a table of pages."""
    return any(tensor.role is Role.TABLE for tensor in program.tensors)


def _ahead_of_table(kernel: Attention) -> Expr:
    """Steps by which each of two loads in a row, the table's and the key's, runs in front of its use."""
    return maximum(0, kernel.stages - 1) // 2


def _table(kernel: Attention) -> Expr:
    """Bytes of the table's entries under way: in the keys' layout and in the values', which agree where no thread
    shares an entry with another.
    """
    if not is_paged(kernel.program):
        return as_expr(0)
    layouts = select(kernel.keys >= Var("num_warps") * kernel.compiler.lanes, 1, 2)
    entry = next(t for t in kernel.program.tensors if t.role is Role.TABLE).dtype.bits // 8
    return select(kernel.on_wide, 0, _ahead_of_table(kernel) * layouts * entry * kernel.keys)


def _staged_p(kernel: Attention) -> Expr:
    return select(_p_is_shared(kernel), _bytes(kernel.rows * kernel.keys, kernel.operand.bits), 0)


def _p_is_shared(kernel: Attention) -> Expr:
    """Where P passes through shared memory to the second product."""
    wide = _data(kernel)["wide_p"] and kernel.operand.bits >= 32
    return all_of(negate(kernel.on_wide), TRUE if wide else kernel.rows < kernel.value_dim)


def _data(kernel: Attention) -> dict[str, int | bool]:
    rows = kernel.compiler.data["attention"]
    return since(rows, kernel.compiler.version)


def _extras(kernel: Attention) -> Expr:
    """Barriers, and what a version adds for the statistics of the rows."""
    stages, size = kernel.stages, kernel.compiler.number("barrier_bytes")
    if kernel.tma:
        plain = round_up(size * stages, 2 * size) + size * stages  # one array for K, one for V, 16 B aligned
        if kernel.program.band is None:
            return plain
        again = kernel.compiler.data["attention_tma"]["causal_bytes"]
        return select(stages * kernel.keys > kernel.rows, again, plain)
    data = _data(kernel)
    on_wgmma = select(stages > 1, int(data["wgmma"]) + int(data["rows"]) * kernel.rows, int(data["mma"]))
    on_mma = select(_p_is_shared(kernel), 0 if data["in_turn"] else int(data["mma"]), int(data["mma"]))
    return select(kernel.path.tcgen05, 4 * size, select(kernel.path.wgmma, on_wgmma, on_mma))


def registers_of(kernel: Attention, threads: Expr) -> Registers:
    """Scores and output of a thread, and what it must hold of them at once."""
    data = kernel.compiler.data["registers"]
    own, overhead = data["attention"], kernel.compiler.overhead
    # Warps stand along the rows: beyond one for each 16 rows they hold copies of the same scores.
    along = named(
        "warps_along_rows", minimum(Var("num_warps"), maximum(1, kernel.rows // kernel.compiler.fragment_rows)), "warps"
    )
    copies = select(kernel.on_wide, along * kernel.compiler.lanes, threads)
    scores = ceildiv(kernel.rows * kernel.keys, copies)
    output = ceildiv(kernel.rows * kernel.value_dim, threads)
    causal = own["causal"] if kernel.program.band is not None else 0
    used = overhead + output + scores * own["scores_percent"] // 100
    live = output + ceildiv(scores, 2) + own["live_base"] + causal
    # Where the warps share the keys, each keeps its share of K and V as operands.
    share = ceildiv(kernel.keys * maximum(kernel.head_dim, kernel.value_dim) * kernel.operand.bits, 32 * threads)
    crowded = all_of(negate(kernel.on_wide), kernel.rows < kernel.compiler.fragment_rows * Var("num_warps"))
    both = scores + output + share
    crowded_use = maximum(own["shared_least"], both * own["shared_percent"] // 100)
    cap = kernel.compiler.register_cap(threads)
    return Registers(
        accumulators=named("accumulators_per_thread", scores + output, "registers"),
        live=named("live_registers", select(crowded, both + own["shared_base"], live), "registers"),
        used=minimum(cap, select(crowded, crowded_use, used)),
        cap=cap,
        source=own["source"],
    )
