"""Ledger, traffic and grid of every operator against a brute-force count, over random small shapes and tiles."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.program import walks
from tests.program.interpreter import count
from tilesearch.kernels.generic import tile_variables
from tilesearch.program import Role, lower
from tilesearch.rules.evaluate import evaluate
from tilesearch.rules.geometry import Geometry
from tilesearch.specs.ops import (
    Attention,
    BlockScaledGemm,
    Conv2d,
    Einsum,
    Elementwise,
    Gemm,
    Gemv,
    GroupedGemm,
    Reduction,
    Rows,
)

quick = settings(max_examples=25, deadline=None)
few = st.integers(1, 6)
tiles = st.integers(1, 8)


def agrees(op, walk, tile, entry=None, statistics=0):
    """Compare everything; `entry` gives the elements of one of the walk's entries, 1 by default."""
    entry = entry or {}
    program = lower(op)
    values = {**dict.fromkeys(tile_variables(program), 1), **tile}
    geometry = Geometry(program, frozenset(values))
    found = count(walk)
    assert evaluate(geometry.grid(), values) == found.grid

    moved, written = 0, 0
    for tensor in program.tensors:
        if tensor.role is Role.INTERMEDIATE:
            continue
        size = entry.get(tensor.name, 1)
        once = tensor.dtype.storage_bytes(found.once.get(tensor.name, 0) * size)
        assert program.tensor_bytes(tensor) == once, tensor.name
        if tensor.role is Role.OUTPUT:
            written += found.once[tensor.name] * size
            moved += once
        else:
            read = tensor.dtype.storage_bytes(found.reads.get(tensor.name, 0) * size)
            assert evaluate(geometry.reads(tensor), values) == read, tensor.name
            moved += read
    parts = tile.get("split_k", 1)
    if parts > 1:
        moved += 2 * parts * (written + statistics) * program.split.partial.bits // 8
    assert evaluate(geometry.traffic(), values) == moved

    assert {term.name: program.term_flops(term) for term in program.terms} == found.work
    assert program.flops == sum(found.work.values())


@quick
@given(st.data())
def test_gemm(data):
    m, n, k, batch = (data.draw(few) for _ in range(4))
    options = {"bias": data.draw(st.booleans()), "c_in": data.draw(st.booleans())}
    op = Gemm(m=m, n=n, k=k, batch=batch, activation=data.draw(st.sampled_from(["none", "relu"])), **options)
    tile = {"block_m": data.draw(tiles), "block_n": data.draw(tiles), "split_k": data.draw(st.integers(1, k))}
    agrees(op, walks.gemm(op, tile), tile)


@quick
@given(st.data())
def test_gemv(data):
    n, k, batch = (data.draw(few) for _ in range(3))
    op = Gemv(n=n, k=k, batch=batch)
    tile = {"block_n": data.draw(tiles), "split_k": data.draw(st.integers(1, k))}
    agrees(op, walks.gemv(op, tile), tile)


@quick
@given(st.data())
def test_grouped_gemm(data):
    sizes = data.draw(st.lists(st.integers(0, 7), min_size=1, max_size=4).filter(any))
    op = GroupedGemm(groups=sizes, n=data.draw(few), k=data.draw(few))
    tile = {"block_m": data.draw(tiles), "block_n": data.draw(tiles), "split_k": data.draw(st.integers(1, op.k))}
    agrees(op, walks.grouped_gemm(op, tile), tile)


@quick
@given(st.data())
def test_grouped_gemm_of_a_mixture_of_experts(data):
    experts = data.draw(few)
    top_k = data.draw(st.integers(1, experts))
    op = GroupedGemm(experts=experts, tokens=data.draw(few), top_k=top_k, n=data.draw(few), k=data.draw(few))
    tile = {"block_m": data.draw(tiles), "block_n": data.draw(tiles), "split_k": data.draw(st.integers(1, op.k))}
    agrees(op, walks.grouped_gemm(op, tile), tile)


def attention_agrees(data, **options):
    kv_heads, group = data.draw(st.integers(1, 2)), data.draw(st.integers(1, 3))
    q_len = data.draw(st.integers(1, 6))
    kv_len = q_len + data.draw(st.integers(0, 5))
    heads = (
        {"heads": kv_heads * group} if "latent_dim" in options else {"heads": kv_heads * group, "kv_heads": kv_heads}
    )
    op = Attention(batch=data.draw(st.integers(1, 2)), q_len=q_len, kv_len=kv_len, **heads, **options)
    reached = len({j for i in range(q_len) for j in range(kv_len) if walks._visible(op, i, j)})
    tile = {"block_m": data.draw(tiles), "split_k": data.draw(st.integers(1, min(3, reached)))}
    walk, entry = walks.attention(op, tile)
    agrees(op, walk, tile, entry, statistics=op.batch * op.heads * op.q_len)


@quick
@given(st.data(), st.sampled_from(["prefill", "decode"]))
def test_attention(data, phase):
    attention_agrees(data, head_dim=3, v_head_dim=2, phase=phase)


@quick
@given(st.data(), st.sampled_from(["prefill", "decode"]))
def test_causal_attention(data, phase):
    attention_agrees(data, head_dim=3, causal=True, phase=phase)


@quick
@given(st.data(), st.sampled_from(["prefill", "decode"]), st.booleans())
def test_windowed_attention(data, phase, causal):
    attention_agrees(data, head_dim=2, causal=causal, window=data.draw(st.integers(1, 5)), phase=phase)


@quick
@given(st.data(), st.sampled_from(["prefill", "decode"]), st.booleans())
def test_paged_attention(data, phase, causal):
    options = {"page_size": data.draw(st.integers(1, 5)), "window": data.draw(st.none() | st.integers(1, 5))}
    attention_agrees(data, head_dim=2, causal=causal, phase=phase, **options)


@quick
@given(st.data(), st.sampled_from(["prefill", "decode"]))
def test_latent_attention(data, phase):
    attention_agrees(data, latent_dim=3, rope_dim=2, causal=data.draw(st.booleans()), phase=phase)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_conv2d(data):
    kh, kw = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    dilation = (data.draw(st.integers(1, 2)), data.draw(st.integers(1, 2)))
    pad = (data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2)))
    groups = data.draw(st.integers(1, 2))
    op = Conv2d(
        n=data.draw(st.integers(1, 3)),
        h=data.draw(st.integers(max(1, dilation[0] * (kh - 1) + 1 - 2 * pad[0]), 9)),
        w=data.draw(st.integers(max(1, dilation[1] * (kw - 1) + 1 - 2 * pad[1]), 9)),
        c_in=groups * data.draw(st.integers(1, 2)),
        c_out=groups * data.draw(st.integers(1, 2)),
        kh=kh,
        kw=kw,
        stride=(data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))),
        pad=pad,
        dilation=dilation,
        groups=groups,
    )
    parts = data.draw(st.integers(1, op.c_in // groups))
    tile = {"block_m": data.draw(st.integers(1, 40)), "block_n": data.draw(st.integers(1, 3)), "split_k": parts}
    agrees(op, walks.conv2d(op, tile), tile)


@quick
@given(st.data(), st.sampled_from(["softmax", "layernorm", "rmsnorm", "sum", "argmax"]))
def test_reduction(data, function):
    shape = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    axes = data.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1))
    op = Reduction(shape=shape, axes=sorted(axes), function=function, affine=data.draw(st.booleans()))
    tile = {"block_m": data.draw(tiles)}
    reduced = 1
    for axis in op.axes:
        reduced *= shape[axis]
    if function in ("sum", "argmax"):
        tile["split_k"] = data.draw(st.integers(1, reduced))
    rows = 1
    for axis, size in enumerate(shape):
        rows *= 1 if axis in axes else size
    agrees(op, walks.reduction(op, tile), tile, statistics=rows if function == "argmax" else 0)


@quick
@given(st.data())
def test_elementwise(data):
    op = Elementwise(
        shape=data.draw(st.lists(few, min_size=1, max_size=3)),
        inputs=data.draw(st.integers(0, 3)),
        outputs=data.draw(st.integers(1, 2)),
        arithmetic_per_element=data.draw(few),
        special_per_element=data.draw(st.integers(0, 2)),
        out="fp32",
    )
    tile = {"block_m": data.draw(tiles)}
    agrees(op, walks.elementwise(op, tile), tile)


@quick
@given(st.data())
def test_rows(data):
    indices = st.sampled_from([(), ("token",), ("row",), ("token", "row")])
    tables = [
        {"name": f"table{i}", "bytes": data.draw(few), "index": index}
        for i, index in enumerate(data.draw(st.lists(indices, max_size=3)))
    ]
    op = Rows(
        tokens=data.draw(few),
        heads=data.draw(st.lists(few, min_size=1, max_size=2)),
        head_dim=data.draw(few),
        steps=data.draw(st.sampled_from([["rmsnorm"], ["rope", "quant"]])),
        flops_per_element=data.draw(few),
        flops_per_row=data.draw(st.integers(0, 3)),
        tables=tables,
    )
    tile = {"tokens_per_block": data.draw(tiles), "rows_per_block": data.draw(tiles)}
    entry = {"in": op.head_dim, "out": op.head_dim, **{table["name"]: table["bytes"] for table in tables}}
    agrees(op, walks.rows(op, tile), tile, entry)


@quick
@given(st.data(), st.sampled_from(["fp32", "e8m0"]))
def test_block_scaled_gemm(data, scale):
    sizes = st.integers(1, 9)
    m, n, k = data.draw(sizes), data.draw(sizes), data.draw(sizes)
    blocks = {name: (data.draw(few), data.draw(few)) for name in ("scale_block_a", "scale_block_b")}
    op = BlockScaledGemm(m=m, n=n, k=k, scale_dtype=scale, **blocks)
    tile = {"block_m": data.draw(tiles), "block_n": data.draw(tiles), "split_k": data.draw(st.integers(1, k))}
    agrees(op, walks.block_scaled_gemm(op, tile), tile)


EXPRESSIONS = [
    "mk,kn->mn",
    "bkm,nkb->nbm",  # a batch, transposed operands
    "aik,kbc->abic",  # several indices on each side
    "ijkl,klj->ij",  # a batch and two summed indices: no index of the second alone
    "mkx,kn->mn",  # an index of the first alone is summed
    "nk,k->n",
    "k,kn->n",
    "bnk,bk->bn",
    "ij->ji",
    "ijk->j",
    "ij->",
    "i,i->",
    "mk,kn,m->mn",  # three inputs
    "ikl,kj->ij",
    "thd,td,td->thd",
    "ab,bc,cd->ad",
    "i,j->ij",
    "abc,b->abc",
]


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from(EXPRESSIONS))
def test_einsum(data, expression):
    indices = sorted(set(expression) - set(",->"))
    op = Einsum(expression=expression, extents={i: data.draw(st.integers(1, 4)) for i in indices}, dtype="fp32")
    program = lower(op)
    names = tile_variables(program)
    tile = {name: data.draw(tiles) for name in ("block_m", "block_n") if name in names}
    if "split_k" in names:
        tile["split_k"] = data.draw(st.integers(1, program.dim("sum").extent))
    walk = walks.einsum(op, tile)
    if not (len(op.inputs) - 1 + any(i not in op.output for i in indices)):
        walk.work = lambda _: {}  # a transposition computes nothing
    agrees(op, walk, tile)
