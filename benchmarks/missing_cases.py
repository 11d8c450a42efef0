"""How the kernels of missing_kernels.py are run: their inputs, their launches, and the same with torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import triton

from benchmarks import missing_kernels as kernels
from benchmarks.missing_kernels import Starter
from tilesearch.kernels.export.text import torch_type
from tilesearch.specs.ops import Attention, Conv2d, Elementwise, GroupedGemm, OpSpec

Tile = Mapping[str, int]
Inputs = tuple[Any, ...]


@dataclass(frozen=True)
class Own:
    """A kernel of ours: inputs on a device ("meta": shapes without memory), a launch of a tile, and torch's result."""

    inputs: Callable[[Any, str], Inputs]
    run: Callable[[Starter, Any, Tile, Inputs], Any]
    wanted: Callable[[Any, Inputs], Any]


def random(shape: tuple[int, ...], op: OpSpec, device: str, name: str = "") -> Any:
    kind = getattr(torch, torch_type(op.operand(name) if name else op.dtype, op))
    return (
        torch.empty(shape, dtype=kind, device=device)
        if device == "meta"
        else torch.randn(shape, device=device).to(kind)
    )


def like(op: OpSpec, shape: tuple[int, ...], device: Any) -> Any:
    return torch.empty(shape, dtype=getattr(torch, torch_type(op.operand("out"), op)), device=device)


def table(values: list[int], device: Any) -> Any:
    if torch.device(device).type == "meta":
        return torch.empty(len(values), dtype=torch.int32, device=device)
    return torch.tensor(values, dtype=torch.int32, device=device)


def options(tile: Tile) -> dict[str, int]:
    """A tile's variables as the kernels name them."""
    names = {"block_m": "BLOCK_M", "block_n": "BLOCK_N", "block_k": "BLOCK_K", "group_m": "GROUP_M"}
    return {names.get(n, n): v for n, v in tile.items() if n != "split_k"}


def elements_inputs(op: Elementwise, device: str) -> Inputs:
    return tuple(random(op.shape, op, device) for _ in range(op.inputs))


def elements_run(start: Starter, op: Elementwise, tile: Tile, inputs: Inputs) -> Any:
    a = inputs[0]
    out = like(op, op.shape, a.device)
    grid = (triton.cdiv(a.numel(), tile["block_m"]),)
    start(kernels.elements, grid, a, inputs[-1], out, a.numel(), INPUTS=len(inputs), **options(tile))
    return out


def elements_wanted(op: Elementwise, inputs: Inputs) -> Any:
    value = torch.nn.functional.silu(inputs[0].float())
    return value * inputs[1].float() if len(inputs) == 2 else value


def groups_inputs(op: GroupedGemm, device: str) -> Inputs:
    sizes = op.sizes
    return random((sum(sizes), op.k), op, device, "a"), random((len(sizes), op.k, op.n), op, device, "b")


_tables: dict[Any, Any] = {}


def tables_of(op: GroupedGemm, block: int, device: Any) -> tuple[Any, ...]:
    """Group, first row and end of each tile of `block` rows; made once, as a mixture of experts does when it sorts."""
    key = (op.sizes, block, str(device))
    if key not in _tables:
        tiles, first = [], 0
        for group, size in enumerate(op.sizes):
            tiles += [(group, row, first + size) for row in range(first, first + size, block)]
            first += size
        _tables[key] = tuple(table(list(column), device) for column in zip(*tiles, strict=True))
    return _tables[key]


def groups_run(start: Starter, op: GroupedGemm, tile: Tile, inputs: Inputs) -> Any:
    a, b = inputs
    found = tables_of(op, tile["block_m"], a.device)
    tiles_m, out = len(found[0]), like(op, (a.shape[0], op.n), a.device)
    grid = (tiles_m * triton.cdiv(op.n, tile["block_n"]),)
    strides = (a.stride(0), b.stride(0), b.stride(1), out.stride(0))
    start(kernels.groups, grid, a, b, out, *found, tiles_m, op.n, op.k, *strides, **options(tile))
    return out


def groups_wanted(op: GroupedGemm, inputs: Inputs) -> Any:
    parts = inputs[0].float().split(list(op.sizes))
    return torch.cat([rows @ matrix.float() for rows, matrix in zip(parts, inputs[1], strict=True)])


def convolution_inputs(op: Conv2d, device: str) -> Inputs:
    return random((op.n, op.h, op.w, op.c_in), op, device, "a"), random(
        (op.c_out, op.kh, op.kw, op.c_in), op, device, "b"
    )


def convolution_run(start: Starter, op: Conv2d, tile: Tile, inputs: Inputs) -> Any:
    (oh, ow), a = op.output_size, inputs[0]
    out = like(op, (op.n, oh, ow, op.c_out), a.device)
    m = op.n * oh * ow
    grid = (triton.cdiv(m, tile["block_m"]) * triton.cdiv(op.c_out, tile["block_n"]),)
    extents = (m, op.c_out, op.c_in, op.h, op.w, oh, ow, op.stride[0], op.pad[0])
    start(kernels.convolution, grid, *inputs, out, *extents, KH=op.kh, KW=op.kw, **options(tile))
    return out


def convolution_wanted(op: Conv2d, inputs: Inputs) -> Any:
    a, b = (x.float().permute(0, 3, 1, 2) for x in inputs)
    return torch.nn.functional.conv2d(a, b, stride=op.stride, padding=op.pad).permute(0, 2, 3, 1)


def paged_inputs(op: Attention, device: str) -> Inputs:
    heads, length, page, d = op.kv_heads or 1, op.kv_len or 1, op.page_size or 1, op.head_dim or 1
    each = -(-length // page)
    q = random((op.batch, op.heads, d), op, device)
    cache = [random((op.batch * each, page, heads, d), op, device) for _ in range(2)]
    if device == "meta":
        order = torch.empty((op.batch, each), dtype=torch.int32, device=device)
    else:
        order = torch.randperm(op.batch * each, device=device).to(torch.int32).reshape(op.batch, each)
    return (q, *cache, order)


def paged_run(start: Starter, op: Attention, tile: Tile, inputs: Inputs) -> Any:
    q, k, v, order = inputs
    heads, d, parts = op.kv_heads or 1, op.head_dim or 1, tile.get("split_k", 1)
    group, planes, length = op.heads // heads, op.batch * heads, op.kv_len or 1
    out = like(op, (op.batch, op.heads, d), q.device)
    sums = torch.empty((2, planes * parts * group), device=q.device)
    target = out if parts == 1 else torch.empty((planes * parts * group, d), device=q.device)
    block = tile["block_n"]
    per_part = triton.cdiv(triton.cdiv(length, block), parts) * block
    extents = (length, heads, order.shape[1], per_part, d**-0.5)
    same = {"GROUP": group, "D": d, "PARTS": parts}
    arguments = (q, k, v, order, target, sums[0], sums[1], *extents)
    start(kernels.paged_decode, (planes, parts), *arguments, PAGE=op.page_size, **same, **options(tile))
    if parts > 1:
        start(kernels.combine, (planes * group,), target, sums[0], sums[1], out, num_warps=4, **same)
    return out


def paged_wanted(op: Attention, inputs: Inputs) -> Any:
    q, k, v, order = inputs
    heads, length, d = op.kv_heads or 1, op.kv_len or 1, op.head_dim or 1
    rows = []
    for batch in range(op.batch):
        keys, values = (x[order[batch].long()].reshape(-1, heads, d)[:length].float().transpose(0, 1) for x in (k, v))
        queries = q[batch].float().reshape(heads, -1, d)
        rows.append(((queries @ keys.transpose(1, 2) * d**-0.5).softmax(-1) @ values).reshape(op.heads, d))
    return torch.stack(rows)


OWN: dict[str, Own] = {
    "elementwise": Own(elements_inputs, elements_run, elements_wanted),
    "grouped_gemm": Own(groups_inputs, groups_run, groups_wanted),
    "conv2d": Own(convolution_inputs, convolution_run, convolution_wanted),
    "attention": Own(paged_inputs, paged_run, paged_wanted),
}
"""By the operator's kind; attention is decode against pages."""
