"""Triton code for GEMM, attention and row reductions: kernel, launcher, and a comparison with torch."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import indent
from typing import Any

from tilesearch.kernels.base import language_data
from tilesearch.kernels.export.text import ACTIVATIONS, fill, refuse, tile_text, torch_type, triton_type
from tilesearch.kernels.versions import parse_version, version_of
from tilesearch.specs.devices import Device, NvidiaDevice
from tilesearch.specs.kernels import KernelSpec
from tilesearch.specs.ops import Attention, Gemm, OpSpec, Reduction

_SHARES = 5
_RAGGED = 5  # added to the small shape that is checked on a CPU, so that edges are met
_MAIN = """if __name__ == "__main__":
    device = "cuda" if torch.cuda.is_available() else "cpu"
    {shape} = {extents} if device == "cuda" else {small}
    torch.manual_seed(0)
{inputs}
    got = gemm({arguments}).float()
    wanted = {wanted}
    error = ((got - wanted).norm() / wanted.norm()).item()
    print(f"relative error {{error:.2e}}")
    assert error < 2e-2, error"""


def code(op: OpSpec, device: Device, kernel: KernelSpec, tile: Mapping[str, int]) -> str:
    """A module that runs. Raises `InputError` for an operator or a variant without a template."""
    if isinstance(op, Gemm):
        through_tma = kernel.variant in ("tma", "persistent_tma") or (
            kernel.variant == "persistent" and isinstance(device, NvidiaDevice) and device.tma is not None
        )
        if kernel.variant in ("persistent_pointer",) or (kernel.variant == "persistent" and not through_tma):
            raise refuse(op, "triton", "persistent blocks that load by pointers")
        if through_tma:
            return _gemm_tma(op, device, kernel, tile)
        return _gemm_stream_k(op, device, tile) if kernel.variant == "stream_k" else _gemm_pointer(op, device, tile)
    if isinstance(op, Attention):
        return _attention(op, device, tile)
    if isinstance(op, Reduction):
        return _reduction(op, device, tile)
    raise refuse(op, "triton")


def _common(op: OpSpec, device: Device, what: str, tile: Mapping[str, int]) -> dict[str, Any]:
    return {"title": f"{what} in Triton for {device.name}.", "tile_text": tile_text(tile), **tile}


def _gemm_values(op: Gemm, device: Device, tile: Mapping[str, int], indent: str) -> dict[str, Any]:
    if op.c_in:
        raise refuse(op, "triton", "c_in")
    acc = triton_type(op.operand("acc"), op)
    activation = ACTIVATIONS[op.activation]
    return {
        **_common(op, device, f"{op.operand('a')} GEMM, {op.m} x {op.n} x {op.k},", tile),
        "acc": acc,
        "zero": "0.0" if acc.startswith("float") else "0",
        "out": torch_type(op.operand("out"), op),
        "activation": f"{indent}{activation}" if activation else "",
    }


def _operand(name: str, shape: str, kind: str) -> str:
    if kind.startswith("int"):
        return f"    {name} = torch.randint(-8, 8, ({shape}), device=device).to(torch.{kind})"
    return f"    {name} = torch.randn({shape}, device=device).to({checked_type(kind)})"


def checked_type(kind: str) -> str:
    """The type in which the module checks itself: Triton's interpreter on a CPU has no product of bf16."""
    return 'torch.bfloat16 if device == "cuda" else torch.float16' if kind == "bfloat16" else f"torch.{kind}"


def _reference(op: Gemm, product: str, bias: bool) -> str:
    """The same with torch, in fp32."""
    functions = {"none": "{}", "relu": "({}).relu()", "sigmoid": "({}).sigmoid()", "tanh": "({}).tanh()"}
    functions |= {
        "silu": "torch.nn.functional.silu({})",
        "gelu": 'torch.nn.functional.gelu({}, approximate="tanh")',
    }
    return functions[op.activation].format(product + (" + bias.float()" if bias else ""))


def _gemm_pointer(op: Gemm, device: Device, tile: Mapping[str, int]) -> str:
    return fill("triton_gemm_pointer", _planes(op, device, tile, "    ") | {"split_k": tile.get("split_k", 1)})


def _gemm_stream_k(op: Gemm, device: Device, tile: Mapping[str, int]) -> str:
    values = _planes(op, device, tile, " " * 12)
    # The small shape of a CPU has too few tiles for all SMs: a few shares cut them where they do not end.
    return fill(
        "triton_gemm_stream_k", values | {"programs": f"{_sms(device)} if a.device.type != 'cpu' else {_SHARES}"}
    )


def _sms(device: Device) -> int:
    """Blocks of a persistent launch: one on each SM."""
    return int(device.sm_count.value or 1) if isinstance(device, NvidiaDevice) and device.sm_count.known else 1


def _planes(op: Gemm, device: Device, tile: Mapping[str, int], indent: str) -> dict[str, Any]:
    """Values of a kernel that loads by pointers, from matrices with a batch axis."""
    values = _gemm_values(op, device, tile, indent)
    acc = torch_type(op.operand("acc"), op)
    values |= {"partial": acc, "group_m": tile.get("group_m", 8)}
    shapes = {"a": ("k, m", ".transpose(1, 2)") if op.trans_a else ("m, k", "")}
    shapes["b"] = ("n, k", ".transpose(1, 2)") if op.trans_b else ("k, n", "")
    inputs = [
        _operand(name, f"batch, {shape}", torch_type(op.operand(name), op)) + turn
        for name, (shape, turn) in shapes.items()
    ]
    if op.bias:
        inputs.append(f"    bias = torch.randn(n, device=device).to(torch.{values['out']})")
    small = (min(op.batch, 2), 2 * tile["block_m"] + _RAGGED, tile["block_n"] + _RAGGED, 3 * tile["block_k"] + _RAGGED)
    values["main"] = _MAIN.format(
        shape="batch, m, n, k",
        extents=(op.batch, op.m, op.n, op.k),
        small=small,
        inputs="\n".join(inputs),
        arguments="a, b, bias" if op.bias else "a, b",
        wanted=_reference(op, "a.float() @ b.float()", op.bias),
    )
    return values


_TILE = "    tile = tl.program_id(0)\n"
_TILES = """    tiles = tl.cdiv(M, BLOCK_M) * tl.cdiv(N, BLOCK_N)
    for tile in tl.range(tl.program_id(0), tiles, programs, flatten=True):
"""


def _gemm_tma(op: Gemm, device: Device, kernel: KernelSpec, tile: Mapping[str, int]) -> str:
    data = language_data("triton")
    first = data["descriptors_since"]["value"]
    if version_of(kernel, data["versions"]) < parse_version(first):
        raise refuse(op, "triton", f"tensor descriptors before Triton {first}")
    for wrong, why in ((op.batch > 1, "a batch"), (op.bias, "a bias"), (tile.get("split_k", 1) > 1, "split_k")):
        if wrong:
            raise refuse(op, "triton", f"{why} through the TMA")
    persistent = (kernel.variant or "").startswith("persistent")
    values = _gemm_values(op, device, tile, "")
    a_shape, b_shape = ("k, m" if op.trans_a else "m, k"), ("n, k" if op.trans_b else "k, n")
    a_at, k_at, b_at = "tile_m * BLOCK_M", "k * BLOCK_K", "tile_n * BLOCK_N"
    m, n, k = tile["block_m"], tile["block_n"], tile["block_k"]
    values |= {
        "group_m": tile.get("group_m", 8),
        "jit": '(do_not_specialize=["programs"])' if persistent else "",
        "programs_argument": " programs," if persistent else "",
        "programs": f"min(tiles, {_sms(device)})" if persistent else "tiles",
        "a_index": f"{k_at}, {a_at}" if op.trans_a else f"{a_at}, {k_at}",
        "b_index": f"{b_at}, {k_at}" if op.trans_b else f"{k_at}, {b_at}",
        "a_turn": ".T" if op.trans_a else "",
        "b_turn": ".T" if op.trans_b else "",
        "a_shape": f"[{a_shape.upper()}]",
        "b_shape": f"[{b_shape.upper()}]",
        "a_extents": "a.shape[1], a.shape[0]" if op.trans_a else "a.shape",
        "n_axis": 0 if op.trans_b else 1,
        "a_block": f"{k}, {m}" if op.trans_a else f"{m}, {k}",
        "b_block": f"{n}, {k}" if op.trans_b else f"{k}, {n}",
    }
    inputs = [
        _operand(name, shape, torch_type(op.operand(name), op)) for name, shape in (("a", a_shape), ("b", b_shape))
    ]
    body = fill("triton_gemm_tma_tile", values)
    # A loop around the one tile of a block, even of a single trip, would keep the operands' buffers beside the store's.
    head, depth = (_TILES, 8) if persistent else (_TILE, 4)
    values["tiles"] = head + indent("\n".join(line for line in body.splitlines() if line), " " * depth)
    product = f"a{'.T' if op.trans_a else ''}.float() @ b{'.T' if op.trans_b else ''}.float()"
    values["main"] = _MAIN.format(
        shape="m, n, k",
        extents=(op.m, op.n, op.k),
        small=(2 * m + 16, n + 16, 3 * k + 16),  # rows of whole 16 B, as a tensor map needs them
        inputs="\n".join(inputs),
        arguments="a, b",
        wanted=_reference(op, product, False),
    )
    return fill("triton_gemm_tma", values)


def _attention(op: Attention, device: Device, tile: Mapping[str, int]) -> str:
    for wrong, why in (
        (op.latent_dim is not None, "MLA"),
        (op.page_size is not None, "pages"),
        (op.phase == "decode", "packed heads (decode)"),
        (tile.get("split_k", 1) > 1, "split_k"),
    ):
        if wrong:
            raise refuse(op, "triton", why)
    kv_heads, kv_len, d = op.kv_heads or op.heads, op.kv_len or op.q_len, op.head_dim or 1
    dv = op.v_head_dim or d
    group = op.heads // kv_heads
    q_small = tile["block_m"] + _RAGGED
    values = {
        **_common(op, device, f"{op.operand('q')} attention,", tile),
        "causal": op.causal,
        "window": op.window or 0,
        "out": torch_type(op.operand("out"), op),
        "operand": checked_type(torch_type(op.operand("q"), op)),
        "extents": (op.batch, op.heads, kv_heads, op.q_len, kv_len, d, dv),
        "small": (1, 2 * group, 2, q_small, max(q_small, tile["block_n"] + _RAGGED), d, dv),
    }
    return fill("triton_attention", values)


_ROWS = {
    "softmax": (
        'float("-inf")',
        ["e = tl.exp(x - tl.max(x, 1)[:, None])", "y = e / tl.sum(e, 1)[:, None]"],
        "x.softmax(-1)",
    ),
    "rmsnorm": (
        "0.0",
        ["y = x * tl.rsqrt(tl.sum(x * x, 1) / cols + 1e-6)[:, None]"],
        "x * (x.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt()",
    ),
    "layernorm": (
        "0.0",
        [
            "x = tl.where(inside, x - (tl.sum(x, 1) / cols)[:, None], 0.0)",
            "y = x * tl.rsqrt(tl.sum(x * x, 1) / cols + 1e-6)[:, None]",
        ],
        "torch.nn.functional.layer_norm(x, (n,), eps=1e-6)",
    ),
}
"""A function to what pads its rows, its lines in Triton, and the same in torch."""


def _reduction(op: Reduction, device: Device, tile: Mapping[str, int]) -> str:
    if op.function not in _ROWS:
        raise refuse(op, "triton", f"the function {op.function}")
    rank = len(op.shape)
    if tuple(axis % rank for axis in op.axes) != (rank - 1,):
        raise refuse(op, "triton", "axes other than the last")
    padding, lines, wanted = _ROWS[op.function]
    if op.affine and op.function != "softmax":
        if op.function == "layernorm":
            raise refuse(op, "triton", "layernorm's weight and bias (affine = false has a template)")
        lines = [*lines, "y *= tl.load(w_ptr + c, mask=c < cols, other=0.0).to(tl.float32)[None, :]"]
        wanted += " * w"
    columns, rows = op.shape[-1], 1
    for size in op.shape[:-1]:
        rows *= size
    values = {
        **_common(op, device, f"{op.function} over rows of {columns},", tile),
        "fill": padding,
        "body": "\n".join(f"    {line}" for line in lines),
        "wanted": wanted,
        "out": torch_type(op.operand("out"), op),
        "operand": torch_type(op.dtype, op),
        "extents": (rows, columns),
        "small": (2 * tile["block_m"] + 1, columns),
    }
    return fill("triton_reduction", values)
