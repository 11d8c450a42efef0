"""A GEMM as users write it for `triton.autotune`, in a module that processes which compile can import."""

from __future__ import annotations

import os
import time
from typing import Any

import triton
import triton.language as tl

from tilesearch.measure.compile import Built


@triton.jit
def gemm(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(M, BLOCK_M)
    per_group = GROUP_M * tl.cdiv(N, BLOCK_N)
    first = pid // per_group * GROUP_M
    rows = min(tiles_m - first, GROUP_M)
    tile_m = first + pid % per_group % rows
    tile_n = pid % per_group // rows
    offs_m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    a = a_ptr + (offs_m % M)[:, None] * stride_am + offs_k[None, :]
    b = b_ptr + offs_k[:, None] * stride_bk + (offs_n % N)[None, :]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(tl.cdiv(K, BLOCK_K)):
        left = K - k * BLOCK_K
        tile_a = tl.load(a, mask=offs_k[None, :] < left, other=0.0)
        tile_b = tl.load(b, mask=offs_k[:, None] < left, other=0.0)
        acc = tl.dot(tile_a, tile_b, acc)
        a += BLOCK_K
        b += BLOCK_K * stride_bk
    c = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :]
    tl.store(c, acc.to(tl.float16), mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


def grid_of(meta: dict[str, Any]) -> tuple[int]:
    return (triton.cdiv(meta["M"], meta["BLOCK_M"]) * triton.cdiv(meta["N"], meta["BLOCK_N"]),)


def precompile(place: int, shape: tuple[int, int, int], config: dict[str, int]) -> Built:
    """Compile one configuration for a shape's divisibility into Triton's cache: what a worker does."""
    import torch

    start = time.perf_counter()
    m, n, k = shape
    try:
        a, b, c = (torch.empty(s, dtype=torch.float16, device="meta") for s in ((m, k), (k, n), (m, n)))
        kernel = gemm.warmup(a, b, c, m, n, k, k, n, n, grid=(1,), **config)
        shared = kernel.metadata.shared
    except Exception as error:
        return Built(place, time.perf_counter() - start, f"{type(error).__name__}: {error}"[:300])
    return Built(place, time.perf_counter() - start, shared=shared)


def use_cache(folder: str) -> None:
    os.environ["TRITON_CACHE_DIR"] = folder
