"""Kernels that Triton's compiler is asked about: a GEMM by pointers and by TMA, attention. Needs the triton extra."""

import triton
import triton.language as tl


@triton.jit
def gemm_pointer(
    a, b, c, M, N, K, sa, sb, sc,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, NK: tl.constexpr, OUT: tl.constexpr,
):  # fmt: skip
    om = tl.program_id(0) * BM + tl.arange(0, BM)
    on = tl.program_id(1) * BN + tl.arange(0, BN)
    ok = tl.arange(0, BK)
    pa = a + (om % M)[:, None] * sa + ok[None, :]
    if NK:
        pb = b + ok[:, None] + (on % N)[None, :] * sb
    else:
        pb = b + ok[:, None] * sb + (on % N)[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(tl.cdiv(K, BK)):
        ta = tl.load(pa, mask=ok[None, :] < K - k * BK, other=0.0)
        tb = tl.load(pb, mask=ok[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(ta, tb, acc)
        pa += BK
        if NK:
            pb += BK
        else:
            pb += BK * sb
    pc = c + om[:, None] * sc + on[None, :]
    tl.store(pc, acc.to(OUT), mask=(om[:, None] < M) & (on[None, :] < N))


@triton.jit
def gemm_tma(da, db, dc, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    im = tl.program_id(0) * BM
    jn = tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(tl.cdiv(K, BK)):
        acc = tl.dot(da.load([im, k * BK]), db.load([k * BK, jn]), acc)
    dc.store([im, jn], acc.to(tl.float16))


@triton.jit
def attention(
    q, k, v, o, S, sq, sk, sv, so, scale,
    BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, DV: tl.constexpr,
):  # fmt: skip
    om = tl.program_id(0) * BM + tl.arange(0, BM)
    on = tl.arange(0, BN)
    d = tl.arange(0, D)
    dv = tl.arange(0, DV)
    tq = tl.load(q + om[:, None] * sq + d[None, :], mask=om[:, None] < S, other=0.0)
    m = tl.full((BM,), float("-inf"), tl.float32)
    s = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, DV), tl.float32)
    for j in range(0, S, BN):
        n = j + on
        tk = tl.load(k + n[None, :] * sk + d[:, None], mask=n[None, :] < S, other=0.0)
        p = tl.dot(tq, tk) * scale
        p = tl.where(n[None, :] < S, p, float("-inf"))
        mn = tl.maximum(m, tl.max(p, 1))
        p = tl.exp2(p - mn[:, None])
        al = tl.exp2(m - mn)
        s = s * al + tl.sum(p, 1)
        acc = acc * al[:, None]
        tv = tl.load(v + n[:, None] * sv + dv[None, :], mask=n[:, None] < S, other=0.0)
        acc = tl.dot(p.to(tl.float16), tv, acc)
        m = mn
    acc = acc / s[:, None]
    tl.store(o + om[:, None] * so + dv[None, :], acc.to(tl.float16), mask=om[:, None] < S)
