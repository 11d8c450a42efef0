"""Kernels of operators that `export` has no template for: elements, groups, convolutions, decode against pages.

Each is written as its users write it, and takes a tile's variables under the project's names. A module that processes
which compile can import; needs torch and Triton.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import triton
import triton.language as tl


@triton.jit
def elements(a_ptr, b_ptr, out_ptr, count, INPUTS: tl.constexpr, BLOCK_M: tl.constexpr):
    """silu(a), or silu(a) * b."""
    at = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    inside = at < count
    value = tl.load(a_ptr + at, mask=inside, other=0.0).to(tl.float32)
    value = value * tl.sigmoid(value)
    if INPUTS == 2:
        value = value * tl.load(b_ptr + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(out_ptr + at, value.to(out_ptr.dtype.element_ty), mask=inside)


@triton.jit
def raster(tile, tiles_m, tiles_n, GROUP_M: tl.constexpr):
    """Row and column of a tile: groups of GROUP_M rows of tiles, down the rows first."""
    per_group = GROUP_M * tiles_n
    first = tile // per_group * GROUP_M
    rows = min(tiles_m - first, GROUP_M)
    return first + tile % per_group % rows, tile % per_group // rows


@triton.jit
def groups(
    a_ptr, b_ptr, out_ptr, group_ptr, row_ptr, end_ptr, tiles_m, N, K, stride_a, stride_bg, stride_bk, stride_o,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    """Rows of a, sorted by group, times their group's matrix; tables say each tile's group, first row and last row."""
    tile_m, tile_n = raster(tl.program_id(0), tiles_m, tl.cdiv(N, BLOCK_N), GROUP_M)
    group = tl.load(group_ptr + tile_m).to(tl.int64)
    end = tl.load(end_ptr + tile_m)
    offs_m = tl.load(row_ptr + tile_m) + tl.arange(0, BLOCK_M)
    offs_n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    a = a_ptr + tl.minimum(offs_m, end - 1)[:, None] * stride_a + offs_k[None, :]
    b = b_ptr + group * stride_bg + offs_k[:, None] * stride_bk + (offs_n % N)[None, :]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        left = K - k
        tile_a = tl.load(a, mask=offs_k[None, :] < left, other=0.0)
        tile_b = tl.load(b, mask=offs_k[:, None] < left, other=0.0)
        acc = tl.dot(tile_a, tile_b, acc)
        a += BLOCK_K
        b += BLOCK_K * stride_bk
    out = out_ptr + offs_m[:, None] * stride_o + offs_n[None, :]
    tl.store(out, acc.to(out_ptr.dtype.element_ty), mask=(offs_m[:, None] < end) & (offs_n[None, :] < N))


@triton.jit
def convolution(
    a_ptr, b_ptr, out_ptr, M, N, C, H, W, OH, OW, STRIDE, PAD,
    KH: tl.constexpr, KW: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    """Implicit GEMM of images [n, H, W, C] and filters [N, KH, KW, C] into [n, OH, OW, N]: a place of the filter
    and some channels a step.
    """
    tile_m, tile_n = raster(tl.program_id(0), tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), GROUP_M)
    offs_m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    image, top, left = offs_m // (OH * OW), offs_m // OW % OH * STRIDE - PAD, offs_m % OW * STRIDE - PAD
    chunks = tl.cdiv(C, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(KH * KW * chunks):
        place = step // chunks
        c = step % chunks * BLOCK_K + offs_k
        y, x = top + place // KW, left + place % KW
        inside = (offs_m < M) & (y >= 0) & (y < H) & (x >= 0) & (x < W)
        a = a_ptr + ((image * H + y) * W + x)[:, None] * C + c[None, :]
        b = b_ptr + (offs_n % N)[None, :] * (KH * KW * C) + place * C + c[:, None]
        tile_a = tl.load(a, mask=inside[:, None] & (c[None, :] < C), other=0.0)
        tile_b = tl.load(b, mask=c[:, None] < C, other=0.0)
        acc = tl.dot(tile_a, tile_b, acc)
    out = out_ptr + offs_m[:, None] * N + offs_n[None, :]
    tl.store(out, acc.to(out_ptr.dtype.element_ty), mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


@triton.jit
def paged_decode(
    q_ptr, k_ptr, v_ptr, table_ptr, out_ptr, top_ptr, sum_ptr, kv_len, heads, pages, per_part, scale,
    GROUP: tl.constexpr, PAGE: tl.constexpr, D: tl.constexpr, PARTS: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """One query of GROUP heads that share keys; keys and values [page, PAGE, heads, D], their pages in a table.

    With several PARTS each leaves its sums, its largest score and its sum of exponentials, in fp32.
    """
    plane = tl.program_id(0)
    part = tl.program_id(1)
    batch, head = plane // heads, plane % heads
    offs_m, offs_d = tl.arange(0, BLOCK_M), tl.arange(0, D)
    rows = offs_m < GROUP
    q = tl.load(q_ptr + (plane * GROUP + offs_m)[:, None] * D + offs_d[None, :], mask=rows[:, None], other=0.0)
    highest = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    for start in range(part * per_part, min(kv_len, (part + 1) * per_part), BLOCK_N):
        key = start + tl.arange(0, BLOCK_N)
        there = key < kv_len
        page = tl.load(table_ptr + batch * pages + key // PAGE, mask=there, other=0)
        at = (page * PAGE + key % PAGE).to(tl.int64) * heads + head
        k = tl.load(k_ptr + at[None, :] * D + offs_d[:, None], mask=there[None, :], other=0.0)
        scores = tl.where(there[None, :], tl.dot(q, k) * (scale * 1.4426950408889634), float("-inf"))
        top = tl.maximum(highest, tl.max(scores, 1))
        p = tl.exp2(scores - top[:, None])
        shrink = tl.exp2(highest - top)
        total = total * shrink + tl.sum(p, 1)
        acc = acc * shrink[:, None]
        v = tl.load(v_ptr + at[:, None] * D + offs_d[None, :], mask=there[:, None], other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc)
        highest = top
    row = (plane * PARTS + part) * GROUP + offs_m
    if PARTS == 1:
        acc = acc / total[:, None]
    else:
        tl.store(top_ptr + row, highest, mask=rows)
        tl.store(sum_ptr + row, total, mask=rows)
    tl.store(out_ptr + row[:, None] * D + offs_d[None, :], acc.to(out_ptr.dtype.element_ty), mask=rows[:, None])


@triton.jit
def combine(
    parts_ptr, top_ptr, sum_ptr, out_ptr, GROUP: tl.constexpr, D: tl.constexpr, PARTS: tl.constexpr
):  # fmt: skip
    """One row of the output from its parts."""
    plane, row = tl.program_id(0) // GROUP, tl.program_id(0) % GROUP
    part, offs_d = tl.arange(0, PARTS), tl.arange(0, D)
    at = (plane * PARTS + part) * GROUP + row
    top = tl.load(top_ptr + at)
    share = tl.exp2(top - tl.max(top, 0))
    total = tl.sum(share * tl.load(sum_ptr + at), 0)
    acc = tl.sum(share[:, None] * tl.load(parts_ptr + at[:, None] * D + offs_d[None, :]), 0) / total
    tl.store(out_ptr + tl.program_id(0) * D + offs_d, acc.to(out_ptr.dtype.element_ty))


class Starter:
    """Launches kernels, or compiles them where they would be launched; keeps what the last one was made into."""

    def __init__(self, launches: bool = True) -> None:
        self.launches, self.last = launches, None

    def __call__(self, kernel: Any, grid: tuple[int, ...], *arguments: Any, **options: Any) -> None:
        run = kernel[grid] if self.launches else partial(kernel.warmup, grid=grid)
        made = run(*arguments, **options)
        self.last = self.last or made  # the first kernel is the tile's
