"""Operators in words: ``gemm 4096x4096x4096 fp16 -> fp32``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

OpTable = Mapping[str, Any]

_UNSAID = (None, False, "", "none")


def op_text(op: OpTable) -> str:
    """An operator in words, from the table that describes it."""
    kind = str(op.get("kind", "operator"))
    return _WORDS.get(kind, _plainly)(op)


def _plainly(op: OpTable) -> str:
    """Every key that is not a data type, as it stands."""
    skipped = {"kind", "dtype", "a", "b", "acc", "out", "scale"}
    said = [f"{name}={_value(value)}" for name, value in op.items() if name not in skipped and value not in _UNSAID]
    return _joined(str(op.get("kind", "operator")), *said, _types(op))


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        entries = ", ".join(f"{key}: {entry}" for key, entry in value.items())
        return str(value["name"]) if "name" in value else f"{{{entries}}}"
    return "[" + ", ".join(map(_value, value)) + "]" if isinstance(value, list | tuple) else str(value)


def _types(op: OpTable) -> str:
    """``fp16``, ``fp16 x int8``, ``fp16 -> bf16``: the inputs' types, and the output's where it is stated."""
    a, b = op.get("a", op.get("dtype", "")), op.get("b", op.get("dtype", ""))
    inputs = str(a) if a == b else f"{a} x {b}"
    return f"{inputs} -> {op['out']}" if op.get("out") else inputs


def _shape(op: OpTable, *names: str) -> str:
    return "x".join(str(op.get(name, "?")) for name in names)


def _joined(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _listed(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _acc(op: OpTable) -> str:
    return f"accumulated in {op['acc']}" if op.get("acc") else ""


def _gemm(op: OpTable) -> str:
    batch = f"{op['batch']} x " if op.get("batch", 1) != 1 else ""
    extras = [name.replace("_", " ") for name in ("trans_a", "trans_b", "bias", "c_in") if op.get(name)]
    activation = "" if op.get("activation") in _UNSAID else str(op["activation"])
    return _listed(f"gemm {batch}{_shape(op, 'm', 'n', 'k')} {_types(op)}", _acc(op), *extras, activation)


def _block_scaled(op: OpTable) -> str:
    blocks = " and ".join("x".join(map(str, op.get(name, ()))) for name in ("scale_block_a", "scale_block_b"))
    head = f"block-scaled gemm {_shape(op, 'm', 'n', 'k')} {_types(op)}"
    return _listed(head, _acc(op), f"{op.get('scale_dtype')} scales for {blocks}")


def _grouped(op: OpTable) -> str:
    groups = op.get("groups")
    if groups:
        rows = f"{len(groups)} groups of {min(groups)} to {max(groups)} rows"
    else:
        rows = f"{op.get('experts')} experts, {op.get('tokens')} tokens to {op.get('top_k')} each"
    return _listed(f"grouped gemm, {rows}, n x k {_shape(op, 'n', 'k')} {_types(op)}", _acc(op))


def _gemv(op: OpTable) -> str:
    batch = f"{op['batch']} x " if op.get("batch", 1) != 1 else ""
    return _listed(f"gemv {batch}{_shape(op, 'n', 'k')} {_types(op)}", _acc(op))


def _attention(op: OpTable) -> str:
    kv_heads = op.get("kv_heads") or op.get("heads")
    heads = f"{op.get('heads')} heads" + (f" on {kv_heads}" if kv_heads != op.get("heads") else "")
    extents = f"{_shape(op, 'batch')} x {heads}, {_shape(op, 'q_len')} queries x {op.get('kv_len')} keys"
    wide = op.get("v_head_dim")
    width = f"head {op.get('head_dim')}{f' -> {wide}' if wide not in (None, op.get('head_dim')) else ''}"
    if op.get("latent_dim"):
        width = f"latent {op['latent_dim']} + rope {op.get('rope_dim', 0)}"
    types = list(dict.fromkeys(str(op.get(name) or op.get("dtype")) for name in "qkv"))
    said = [
        "causal" if op.get("causal") else "",
        f"window {op['window']}" if op.get("window") else "",
        f"pages of {op['page_size']}" if op.get("page_size") else "",
    ]
    return _listed(_joined("attention", str(op.get("phase") or ""), extents), width, *said, "/".join(types))


def _conv2d(op: OpTable) -> str:
    images = (
        f"conv2d {_shape(op, 'n', 'h', 'w', 'c_in')} -> {op.get('c_out')} channels, kernel {_shape(op, 'kh', 'kw')}"
    )
    usual = {"stride": (1, 1), "pad": (0, 0), "dilation": (1, 1)}
    pairs = {name: tuple(op.get(name) or value) for name, value in usual.items()}
    said = [f"{name} {'x'.join(map(str, pair))}" for name, pair in pairs.items() if pair != usual[name]]
    groups = f"{op['groups']} groups" if op.get("groups", 1) != 1 else ""
    return _listed(images, *said, groups, _types(op), _acc(op))


def _reduction(op: OpTable) -> str:
    shape = "x".join(map(str, op.get("shape", ())))
    axes = ", ".join(map(str, op.get("axes", ())))
    return f"{op.get('function', 'reduction')} of {shape} over axis {axes} {_types(op)}"


def _elementwise(op: OpTable) -> str:
    shape = "x".join(map(str, op.get("shape", ())))
    work = f"{op.get('arithmetic_per_element', 0)} + {op.get('special_per_element', 0)} special operations an element"
    return f"elementwise {shape}, {op.get('inputs')} in, {op.get('outputs')} out, {work}, {_types(op)}"


def _rows(op: OpTable) -> str:
    tables = ", ".join(str(table.get("name")) for table in op.get("tables", ()))
    heads = " + ".join(map(str, op.get("heads", ())))
    steps = ", ".join(map(str, op.get("steps", ())))
    head = f"rows ({steps}) of {op.get('tokens')} tokens x {heads} heads x {op.get('head_dim')}"
    return _listed(_joined(head, _types(op)), f"tables {tables}" if tables else "")


def _einsum(op: OpTable) -> str:
    extents = " ".join(f"{name}={size}" for name, size in dict(op.get("extents", {})).items())
    types = list(dict.fromkeys(op.get("dtypes") or [op.get("dtype")]))
    return f"einsum {op.get('expression')}, {extents}, {'/'.join(map(str, types))}"


def _chain(op: OpTable) -> str:
    return " > ".join(f"{link['name']} ({op_text(link['op'])})" for link in op.get("ops", ()))


_WORDS: dict[str, Callable[[OpTable], str]] = {
    "chain": _chain,
    "gemm": _gemm,
    "block_scaled_gemm": _block_scaled,
    "grouped_gemm": _grouped,
    "gemv": _gemv,
    "attention": _attention,
    "conv2d": _conv2d,
    "reduction": _reduction,
    "elementwise": _elementwise,
    "rows": _rows,
    "einsum": _einsum,
}
