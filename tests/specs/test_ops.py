"""Operators as users write them: completed fields and faults that say what is wrong."""

from __future__ import annotations

import pytest

import tilesearch as ts
from tilesearch.specs.ops import OP_KINDS, parse_op

MN = {"m": 4, "n": 5, "k": 6}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"expression": "mk,kn", "extents": MN}, r"op\.expression: 'mk,kn' does not say its output"),
        ({"expression": "mk,kn->mz", "extents": MN}, r"op\.expression: output index 'z' is in no input"),
        ({"expression": "mk,kn->mn", "extents": {"m": 4, "k": 6}}, r"op\.extents: no extent is given for index 'n'"),
        ({"expression": "mk,kn->mn", "extents": {**MN, "q": 2}}, r"op\.extents\.q: unknown index 'q'"),
        ({"expression": "mk,kn->mn", "extents": [[4, 6], [5]]}, r"op\.extents\[1\]: rank mismatch: 'kn' has 2 indices"),
        ({"expression": "mk,kn->mn", "extents": [[4, 6], [7, 5]]}, r"op\.extents\[1\]: index 'k' is 6 elsewhere and 7"),
        ({"expression": "mk,kn->mn", "extents": [[4, 6]]}, r"op\.extents: a shape for each of 2 inputs is wanted"),
        ({"expression": "mm->m", "extents": {"m": 4}}, r"op\.expression: index 'm' stands twice in 'mm'"),
        ({"expression": "m1->m", "extents": {"m": 4}}, r"op\.expression: '1' in 'm1->m' is no index"),
        ({"expression": ",k->k", "extents": {"k": 4}}, r"op\.expression: an input of ',k->k' has no index"),
        ({"expression": "mk,kn->mn", "extents": MN, "roles": ["input", "output"]}, r"op\.roles: one for each of the 2"),
        (
            {"expression": "mk,kn->mn", "extents": MN, "roles": ["input", "output", "table"]},
            r"op\.roles\[1\]: the last tensor, and no other, is the output",
        ),
        ({"expression": "mk,kn->mn", "extents": MN, "dtypes": ["fp16"]}, r"op\.dtypes: one for each of the 2 inputs"),
        ({"expression": "mk,kn->mn", "extents": {**MN, "m": 0}}, r"op\.extents\.m: an extent must be at least 1"),
    ],
)
def test_einsum_type_checks(table, message):
    with pytest.raises(ts.InputError, match=message):
        parse_op({"kind": "einsum", **table})


def test_einsum_takes_shapes():
    op = ts.Einsum(expression="mk, kn -> mn", extents=[[4, 6], [6, 5], [4, 5]])
    assert op.extents == {"m": 4, "k": 6, "n": 5}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            {"kind": "attention", "heads": 6, "kv_heads": 4, "q_len": 1, "head_dim": 8},
            r"op\.kv_heads: must divide heads",
        ),
        ({"kind": "attention", "heads": 6, "q_len": 1}, r"op\.head_dim: is required and absent"),
        ({"kind": "attention", "heads": 6, "q_len": 1, "latent_dim": 8}, r"op\.rope_dim: is required and absent"),
        (
            {"kind": "attention", "heads": 6, "q_len": 8, "kv_len": 4, "head_dim": 8, "causal": True},
            r"op\.kv_len: a mask needs every query among the keys",
        ),
        (
            {"kind": "attention", "heads": 6, "kv_heads": 2, "q_len": 1, "latent_dim": 8, "rope_dim": 2},
            r"op\.kv_heads: with latent_dim all heads share one latent row",
        ),
        ({"kind": "grouped_gemm", "n": 4, "k": 4}, r"op\.groups: is required and absent"),
        ({"kind": "grouped_gemm", "n": 4, "k": 4, "experts": 8, "tokens": 4}, r"op\.top_k: is required and absent"),
        ({"kind": "grouped_gemm", "n": 4, "k": 4, "groups": [0, 0]}, r"op\.groups: no group has a row"),
        ({"kind": "grouped_gemm", "n": 4, "k": 4, "groups": [4], "experts": 2}, r"op\.groups: groups says the rows"),
        (
            {"kind": "grouped_gemm", "n": 4, "k": 4, "experts": 2, "tokens": 4, "top_k": 3},
            r"op\.top_k: a token has at most experts = 2",
        ),
        (
            {"kind": "conv2d", "h": 4, "w": 4, "c_in": 3, "c_out": 4, "kh": 3, "kw": 3, "groups": 2},
            r"op\.c_in: must be a multiple of groups = 2, got 3",
        ),
        (
            {"kind": "conv2d", "h": 4, "w": 4, "c_in": 4, "c_out": 4, "kh": 7, "kw": 3},
            r"op\.kh: the dilated filter is larger than the padded image",
        ),
        ({"kind": "reduction", "shape": [4, 4], "axes": [2], "function": "sum"}, r"op\.axes\[0\]: shape has 2 axes"),
        ({"kind": "reduction", "shape": [4], "axes": [0, -1], "function": "sum"}, r"op\.axes: an axis is named twice"),
        ({"kind": "reduction", "shape": [4], "function": "max"}, r"op\.function: unknown value 'max'"),
        (
            {"kind": "rows", "tokens": 4, "head_dim": 4, "steps": ["rope"], "tables": [{"name": "in", "bytes": 4}]},
            r"op\.tables\[0\]\.name: the name 'in' is taken",
        ),
        ({"kind": "gemm", "m": 4, "n": 4, "k": 4, "roof": "tensor"}, r"op\.roof: a roof is named unit\.dtype"),
        ({"kind": "gemm", "m": 4, "n": 4, "k": 4, "roof": "tensor_core.fp17"}, r"op\.roof: unknown data type 'fp17'"),
    ],
)
def test_faults_name_the_key(table, message):
    with pytest.raises(ts.InputError, match=message):
        parse_op(table)


def test_operators_built_in_python_raise_the_same_error():
    with pytest.raises(ts.InputError, match=r"Gemm\.m: an extent must be at least 1, got 0"):
        ts.Gemm(m=0, n=4, k=4)


def test_formats_stand_for_their_scales():
    op = ts.BlockScaledGemm(m=4, n=4, k=4, dtype="nvfp4")
    assert (op.a, op.scale_block_a, op.scale_dtype) == ("fp4_e2m1", (1, 16), "fp8_e4m3")
    assert ts.BlockScaledGemm(m=4, n=4, k=4, dtype="mxfp8", scale_dtype="fp32").scale_dtype == "fp32"


def test_phase_follows_the_number_of_queries():
    assert ts.Attention(heads=8, q_len=1, kv_len=64, head_dim=64).phase == "decode"
    assert ts.Attention(heads=8, q_len=64, head_dim=64).phase == "prefill"


def test_routing_spreads_rows_evenly():
    assert ts.GroupedGemm(experts=4, tokens=5, top_k=2, n=8, k=8).sizes == (3, 3, 2, 2)


def test_every_kind_says_its_default_roof():
    for kind, model in OP_KINDS.items():
        if kind != "space":
            assert "roof" in (model.__doc__ or ""), kind
