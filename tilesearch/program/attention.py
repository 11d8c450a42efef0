"""Attention in the program form: FlashAttention's loop over keys."""

from __future__ import annotations

from tilesearch.program.form import Axis, Band, Contraction, Dim, Held, Program, Role, Tensor, Term, flattened
from tilesearch.program.units import SPECIAL, indexed, matrix_unit, scalar_unit, split_over
from tilesearch.specs.dtypes import DType, dtype
from tilesearch.specs.ops import Attention


def lower_attention(op: Attention) -> Program:
    """A block keeps its tile of q and streams k and v past it; scores and output accumulate in registers.

    flops for each (query, key) that the mask keeps: 2 d for the scores, 2 dv for the output, 4 for the softmax
    (scale, max, subtract, sum) and one exponential; 1 for each output element (the division by the sum). Keys
    that no query sees are left out of the program. A split leaves fp32 outputs and one log-sum-exp a row.
    """
    kv_heads, group = op.kv_heads or 1, op.heads // (op.kv_heads or 1)
    d, dv = _head_dims(op)
    kv_len = (op.kv_len or 1) - _hidden(op)
    rows = _rows(op, group)
    acc = dtype(op.operand("acc"))
    roof = op.roof or matrix_unit(op.operand("q"))
    scalar = scalar_unit(acc.name)
    scores = ("batch", "kv_head", "group", "q", "kv")
    return Program(
        kind="attention",
        dims=(
            Dim("batch", op.batch),
            Dim("kv_head", kv_heads),
            *rows,
            Dim("kv", kv_len, "block_n", reduce=True),
            Dim("d", d, reduce=True, whole=True),
            Dim("dv", dv, whole=True),
        ),
        tensors=_tensors(op, kv_heads, group, kv_len, d, dv),
        terms=(
            Term("q k^T", roof, 2, (*scores, "d")),
            Term("softmax arithmetic", scalar, 4, scores),
            Term("softmax exponential", SPECIAL, 1, scores),
            Term("p v", roof, 2, (*scores, "dv")),
            Term("division by the sum", scalar, 1, ("batch", "kv_head", "group", "q", "dv")),
        ),
        roof=roof,
        contractions=_contractions(op, rows[-1].name, acc),
        held=(Held("scores", (rows[-1].name, "kv"), acc), Held("output", (rows[-1].name, "dv"), acc)),
        split=split_over("kv", acc, statistics=op.batch * op.heads * op.q_len),
        band=_band(op, kv_len),
        profile="decode" if op.phase == "decode" else "matrix",
        constants={**op.constants, "head_dim": d, "v_head_dim": dv},
    )


def _head_dims(op: Attention) -> tuple[int, int]:
    """Sizes of a key and of a value."""
    if op.latent_dim is not None and op.rope_dim is not None:
        return op.latent_dim + op.rope_dim, op.latent_dim
    head_dim = op.head_dim or 1
    return head_dim, op.v_head_dim or head_dim


def _hidden(op: Attention) -> int:
    """Keys before the window of the first query: no query sees them."""
    return 0 if op.window is None else max(0, (op.kv_len or 1) - op.q_len - op.window + 1)


def _rows(op: Attention, group: int) -> tuple[Dim, ...]:
    """The dimensions whose rows a block takes: of one head, or of all heads of a group packed together."""
    if op.phase == "decode":
        return (flattened("m", {"group": group, "q": op.q_len}, "block_m"),)
    return Dim("group", group), Dim("q", op.q_len, "block_m")


def _band(op: Attention, kv_len: int) -> Band | None:
    """The mask: query i stands at key ``i + kv_len - q_len``."""
    if not op.causal and op.window is None:
        return None
    own = kv_len - op.q_len
    low = -op.q_len if op.window is None else own - op.window + 1
    high = own if op.causal or op.window is None else own + op.window - 1
    everything = low <= 1 - op.q_len and high >= kv_len - 1
    return None if everything else Band("q", "kv", low, high)


def _tensors(op: Attention, kv_heads: int, group: int, kv_len: int, d: int, dv: int) -> tuple[Tensor, ...]:
    heads = {"batch": op.batch, "kv_head": kv_heads}
    queries = {**heads, "group": group, "q": op.q_len}
    q = Tensor("q", Role.INPUT, dtype(op.operand("q")), indexed({**queries, "d": d}), staged=True)
    out = Tensor("out", Role.OUTPUT, dtype(op.operand("out")), indexed({**queries, "dv": dv}))
    k = Tensor("k", Role.INPUT, dtype(op.operand("k")), indexed({**heads, "kv": kv_len, "d": d}), staged=True)
    v = Tensor("v", Role.INPUT, dtype(op.operand("v")), indexed({**heads, "kv": kv_len, "dv": dv}), staged=True)
    keys = (k, v) if op.latent_dim is None else (k,)  # the latent part of MLA's key is its value
    if op.page_size is None:
        return (q, *keys, out)
    # Pages are looked up for a block's whole run of keys, before the mask is known; the first may be partly hidden.
    start = _hidden(op) % op.page_size
    pages = Axis(-(-(start + kv_len) // op.page_size), (("kv", 1),), offset=start, divisor=op.page_size)
    table = Tensor("block_table", Role.TABLE, dtype("int32"), (*indexed({"batch": op.batch}), pages), masked=False)
    return (q, *keys, table, out)


def _contractions(op: Attention, rows: str, acc: DType) -> tuple[Contraction, ...]:
    computed = dtype(op.operand("q"))
    value = "k" if op.latent_dim is not None else "v"
    return (
        Contraction(rows, "kv", "d", "q", "k", acc, computed),
        Contraction(rows, "dv", "kv", "scores", value, acc, computed),
    )
