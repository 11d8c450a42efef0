"""Figures of fusion and split: section 5.1's decisions, and sin(cos(x)) of section 1.1."""

from __future__ import annotations

from functools import cache

from tilesearch.answers.fuse import FuseAnswer, FuseOption
from tilesearch.api.fuse import fuse
from tilesearch.api.verify.figures.registry import figure
from tilesearch.api.verify.figures.roofs import DEVICE, POLICY, seed_device
from tilesearch.specs.ops import Attention, Chain, Gemm

_PART = {"kind": "elementwise", "shape": [4096, 4096], "arithmetic_per_element": 0, "special_per_element": 1}


@figure("sincos.split")
def sincos_split_us() -> float:
    """Memory bound of sin(cos(x)) as two kernels, us."""
    chain = Chain(ops=({"name": "cos", **_PART}, {"name": "sin", "input_from": "cos.out", **_PART}))
    apart = next(o for o in fuse(chain, DEVICE, policy=POLICY).options if o.name == "split")
    return 1e6 * apart.bytes / seed_device().effective_bandwidth(POLICY).value


@cache
def _decision(name: str) -> FuseAnswer:
    """The text's two decisions: of a skinny product it counts outputs and partials, of attention all bytes."""
    if name == "skinny":
        op = Gemm(m=1024, n=1024, k=16384, dtype="fp16", out="fp32")
        tiles = {"block_m": 128, "block_n": 128, "split_k": [1, 8]}
        return fuse(op, DEVICE, space=tiles, policy=POLICY, count="outputs")
    decode = Attention(phase="decode", heads=32, q_len=1, kv_len=131072, head_dim=128, dtype="fp16")
    return fuse(decode, DEVICE, space={"split_k": [1, 64]}, policy=POLICY)


def _versions(name: str) -> tuple[FuseOption, FuseOption]:
    whole, parts, *_ = _decision(name).options
    return whole, parts


@figure("split.{}.A")
def whole_mb(name: str) -> float:
    """Bytes without a split, MB."""
    return _versions(name)[0].bytes / 1e6


@figure("split.{}.B")
def parts_mb(name: str) -> float:
    """Bytes with the split, partials written and read, MB."""
    return _versions(name)[1].bytes / 1e6


@figure("split.{}.delta")
def delta_mb(name: str) -> float:
    """What the split saves, MB: less than nothing."""
    whole, parts = _versions(name)
    return (whole.bytes - parts.bytes) / 1e6


@figure("split.{}.gridA")
def whole_grid(name: str) -> float:
    """Blocks without a split."""
    return _versions(name)[0].grid


@figure("split.{}.gridB")
def parts_grid(name: str) -> float:
    """Blocks with the split."""
    return _versions(name)[1].grid


@figure("split.{}.winner")
def winner(name: str) -> str:
    """The version that wins."""
    return _decision(name).decision
