"""Micro-benchmarks in Triton: each keeps one thing of the GPU busy, and nothing else.

`stamps` are five int64 for each program: the SM, its clock before and after, the global timer in ns before and after.
"""

from __future__ import annotations

import triton
import triton.language as tl
from triton.language.extra.cuda import globaltimer, smid


@triton.jit
def clock():
    """Cycles of this SM."""
    return tl.inline_asm_elementwise("mov.u64 $0, %clock64;", "=l", [], dtype=tl.int64, is_pure=False, pack=1)


@triton.jit
def stamp(stamps, clock_before, time_before):
    """Write the five numbers of this program; the debug barrier waits for all its warps."""
    tl.debug_barrier()
    clock_after = clock()
    time_after = globaltimer()
    at = stamps + tl.program_id(0).to(tl.int64) * 5
    tl.store(at, smid().to(tl.int64))
    tl.store(at + 1, clock_before)
    tl.store(at + 2, clock_after)
    tl.store(at + 3, time_before)
    tl.store(at + 4, time_after)


@triton.jit
def empty(out):
    """Do nothing."""


@triton.jit
def read(x, out, BLOCK: tl.constexpr, COUNT: tl.constexpr):
    """Read COUNT blocks of fp32 that lie next to each other."""
    start = tl.program_id(0).to(tl.int64) * (BLOCK * COUNT)
    acc = tl.zeros((BLOCK,), tl.float32)
    for i in tl.static_range(COUNT):
        acc += tl.load(x + start + i * BLOCK + tl.arange(0, BLOCK))
    tl.store(out + tl.program_id(0), tl.sum(acc, 0))


@triton.jit
def write(x, BLOCK: tl.constexpr, COUNT: tl.constexpr):
    """Write COUNT blocks of fp32."""
    start = tl.program_id(0).to(tl.int64) * (BLOCK * COUNT)
    for i in tl.static_range(COUNT):
        at = start + i * BLOCK + tl.arange(0, BLOCK)
        tl.store(x + at, at.to(tl.float32))


@triton.jit
def copy(x, y, BLOCK: tl.constexpr, COUNT: tl.constexpr):
    """Read and write COUNT blocks of fp32."""
    start = tl.program_id(0).to(tl.int64) * (BLOCK * COUNT)
    for i in tl.static_range(COUNT):
        at = start + i * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + at, tl.load(x + at))


@triton.jit
def reread(x, out, blocks, rounds, step, BLOCK: tl.constexpr):
    """Read blocks of a buffer again and again, past L1; programs are `step` blocks apart (0: all read the same)."""
    acc = tl.zeros((BLOCK,), tl.float32)
    place = (tl.program_id(0) * step) % blocks
    for _ in range(rounds):
        acc += tl.load(x + place * BLOCK + tl.arange(0, BLOCK), cache_modifier=".cg")
        place += 1
        place = tl.where(place >= blocks, 0, place)
    tl.store(out + tl.program_id(0), tl.sum(acc, 0))


@triton.jit
def chase(links, out, steps):
    """Follow links, each load waiting for the one before it, past L1."""
    place = tl.load(links)
    for _ in range(steps):
        place = tl.load(links + place, cache_modifier=".cg")
    tl.store(out, place)


@triton.jit
def special(x, stamps, out, rounds, BLOCK: tl.constexpr):
    """Special functions (ex2) of BLOCK values, 16 a round each."""
    value = tl.load(x + tl.arange(0, BLOCK))
    clock_before = clock()
    time_before = globaltimer()
    for _ in range(rounds):
        for _ in tl.static_range(16):
            value = tl.inline_asm_elementwise(
                "ex2.approx.ftz.f32 $0, $1;", "=r,r", [value], dtype=tl.float32, is_pure=False, pack=1
            )
    tl.store(out + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), value)
    stamp(stamps, clock_before, time_before)


@triton.jit
def dot(a, b, stamps, out, rounds, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ACC: tl.constexpr):
    """The same two tiles multiplied again and again; b is given as [BN, BK]."""
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    tile_a = tl.load(a + m[:, None] * BK + k[None, :])
    tile_b = tl.load(b + n[:, None] * BK + k[None, :])
    acc = tl.zeros((BM, BN), ACC)
    clock_before = clock()
    time_before = globaltimer()
    for _ in range(rounds):
        acc = tl.dot(tile_a, tile_b.T, acc, out_dtype=ACC)
    total = tl.sum(tl.sum(acc.to(tl.float32), 1), 0)
    tl.store(out + tl.program_id(0), total)
    stamp(stamps, clock_before, time_before)


@triton.jit
def gemm(a, b, c, stamps, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    """A GEMM of whole tiles by pointers that reads the clock and the timer at both ends."""
    clock_before = clock()
    time_before = globaltimer()
    tile = tl.program_id(0)
    tiles_m = tl.cdiv(M, BM)
    per_group = GROUP * tl.cdiv(N, BN)
    first = tile // per_group * GROUP
    rows = min(tiles_m - first, GROUP)
    offs_m = (first + tile % per_group % rows) * BM + tl.arange(0, BM)
    offs_n = tile % per_group // rows * BN + tl.arange(0, BN)
    offs_k = tl.arange(0, BK)
    at_a = a + offs_m[:, None] * K + offs_k[None, :]
    at_b = b + offs_k[:, None] * N + offs_n[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(tl.cdiv(K, BK)):
        acc = tl.dot(tl.load(at_a), tl.load(at_b), acc)
        at_a += BK
        at_b += BK * N
    tl.store(c + offs_m[:, None] * N + offs_n[None, :], acc.to(tl.float16))
    stamp(stamps, clock_before, time_before)
