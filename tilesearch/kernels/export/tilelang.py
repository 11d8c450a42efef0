"""TileLang code for GEMM: a kernel factory, and a comparison with torch."""

from __future__ import annotations

from collections.abc import Mapping

from tilesearch.kernels.export.text import fill, refuse, tile_text, torch_type
from tilesearch.rules.limits import number
from tilesearch.specs.devices import Device
from tilesearch.specs.kernels import KernelSpec
from tilesearch.specs.ops import Gemm, OpSpec


def code(op: OpSpec, device: Device, kernel: KernelSpec, tile: Mapping[str, int]) -> str:
    """A module that runs. Raises `InputError` for what the template does not cover."""
    if not isinstance(op, Gemm):
        raise refuse(op, "tilelang")
    for wrong, why in (
        (op.batch > 1, "a batch"),
        (op.bias or op.c_in or op.activation != "none", "an epilogue"),
        (tile.get("split_k", 1) > 1, "split_k"),
        (op.operand("a") != op.operand("b"), "two operand types"),
    ):
        if wrong:
            raise refuse(op, "tilelang", why)
    a_order = "K, M" if op.trans_a else "M, K"
    b_order = "N, K" if op.trans_b else "K, N"
    tiles = {"M": "block_M", "N": "block_N", "K": "block_K"}
    starts = {"M": "by * block_M", "N": "bx * block_N", "K": "ko * block_K"}
    panel = tile.get("group_m", 1)
    values = {
        "title": f"{op.operand('a')} GEMM, {op.m} x {op.n} x {op.k}, in TileLang for {device.name}.",
        "tile_text": tile_text(tile),
        **tile,
        "threads": tile["num_warps"] * number(device, "warp_size"),
        "a_shape": a_order,
        "b_shape": b_order,
        "a_tile": ", ".join(tiles[x] for x in a_order.split(", ")),
        "b_tile": ", ".join(tiles[x] for x in b_order.split(", ")),
        "a_from": ", ".join(starts[x] for x in a_order.split(", ")),
        "b_from": ", ".join(starts[x] for x in b_order.split(", ")),
        "turned": (", transpose_A=True" if op.trans_a else "") + (", transpose_B=True" if op.trans_b else ""),
        "a_turn": ".T" if op.trans_a else "",
        "b_turn": ".T" if op.trans_b else "",
        "swizzle": f"            T.use_swizzle(panel_size={panel})\n" if panel > 1 else "",
        "operand": torch_type(op.operand("a"), op),
        "acc": torch_type(op.operand("acc"), op),
        "out": torch_type(op.operand("out"), op),
        "m": op.m,
        "n": op.n,
        "k": op.k,
    }
    return fill("tilelang_gemm", values)
