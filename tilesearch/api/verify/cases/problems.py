"""From a report to a problem: operator, kernel language and tile, with what a report leaves out filled in.

Extents that a report does not give follow from the tile, so that nothing is masked; an operand's layout that
it does not give is the one along the reduction. Neither changes a build's resources.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tilesearch.api.verify.cases.rows import Case, SkippedError
from tilesearch.specs.ops import Attention, BlockScaledGemm, Elementwise, Gemm, OpSpec

_EXTENT = 4096
_LANGUAGES = {
    "triton": "triton",
    "tilelang": "tilelang",
    "cutlass3": "cutlass",
    "cutlass2": "cutlass",
    "cutlass": "cutlass",
    # Hand-written tiles: what is staged and nothing else.
    "cute": "generic",
    "cute-dsl": "generic",
    "cutedsl": "generic",
}
_TILE = ("block_m", "block_n", "block_k", "num_stages", "num_warps", "split_k")


@dataclass(frozen=True)
class Posed:
    """A case as a problem."""

    op: OpSpec
    kernel: dict[str, str]
    tile: dict[str, int]


def pose(case: Case) -> Posed:
    """The problem of a case. Raises `SkippedError` where the operator or the tile is not known."""
    for words, builder in _OPERATORS:
        if any(word in case.op.kind for word in words):
            op, tile, variant = builder(case)
            break
    else:
        raise SkippedError(f"no operator here is a {case.op.kind}")
    if case.frontend not in _LANGUAGES:
        raise SkippedError(f"no kernel language here is {case.frontend}")
    kernel = {"language": _LANGUAGES[case.frontend]}
    version = _version(case)
    if version:
        kernel["version"] = version
    if variant:
        kernel["variant"] = variant
    return Posed(op, kernel, tile)


def _version(case: Case) -> str | None:
    """The compiler's version; the newest where the report gives none or only a lower bound."""
    text = case.compiler_version or ""
    if case.frontend == "cutlass3" and "consumer_regs" in case.config:
        return "3.5" if case.config["consumer_regs"] < 240 else "4.0"
    return None if not text or ">" in text else text


def _tile(case: Case, **defaults: int) -> dict[str, int]:
    tile = {**defaults, **{name: case.config[name] for name in _TILE if name in case.config}}
    if "threads" in case.config:
        threads = case.number("threads")
        if threads % 32:
            raise SkippedError("threads that are no whole warps")
        tile["num_warps"] = threads // 32
    return tile


def _dtypes(case: Case, *names: str) -> dict[str, str]:
    spelled = {"16-bit": "fp16"}
    given = {n: spelled.get(case.op.dtypes[n], case.op.dtypes[n]) for n in names if n in case.op.dtypes}
    if "a" in given and "b" not in given and "b" in names:
        given["b"] = given["a"]
    return given


Built = tuple[OpSpec, dict[str, int], str | None]


def _gemm(case: Case) -> Built:
    tile = _tile(case, block_k=64)
    for short, name in (("m", "block_m"), ("n", "block_n"), ("k", "block_k")):
        if name not in case.config and isinstance(case.config.get(short), int):
            tile[name] = case.config[short]
    if "block_m" not in tile or "block_n" not in tile:
        raise SkippedError("the report does not give the tile")
    shapes = case.op.shapes
    extents = {
        "m": shapes.get("M", max(tile["block_m"], 1)),
        "n": shapes.get("N", max(_EXTENT, tile["block_n"])),
        "k": shapes.get("K", _EXTENT),
        "batch": shapes.get("B", 1),
    }
    types = _dtypes(case, "a", "b", "acc", "out")
    types.setdefault("out", types.get("a", "fp16") if types.get("a") not in ("fp8", "tf32") else "fp16")
    if _is_block_scaled(case):
        scaled = BlockScaledGemm(m=extents["m"], n=extents["n"], k=extents["k"])
        return scaled, tile, None
    op = Gemm.model_validate({**extents, **types, "trans_b": True})
    persistent = case.config.get("persistent") or "persistent" in case.op.kind
    return op, tile, "persistent" if persistent else None


def _is_block_scaled(case: Case) -> bool:
    """Whether the report says that the operands carry scales for blocks of elements."""
    said = [case.op.kind, *case.op.shapes, *case.op.dtypes, *case.config]
    return any("scale" in word or "block_shape" in word for word in said)


def _attention(case: Case) -> Built:
    shapes, tile = case.op.shapes, _tile(case)
    head_dim = shapes.get("D_qk", shapes.get("D"))
    if head_dim is None or "block_m" not in tile or "block_n" not in tile:
        raise SkippedError("the report does not give the head dim and the tile")
    kind = _dtypes(case, "qkv", "q").popitem()[1] if case.op.dtypes else "fp16"
    op = Attention(
        batch=shapes.get("B", 1),
        heads=shapes.get("H", 16),
        kv_heads=shapes.get("Hkv"),
        q_len=shapes.get("S", _EXTENT),
        head_dim=head_dim,
        v_head_dim=shapes.get("D_v", head_dim),
        dtype=kind,
    )
    return op, tile, None


def _elementwise(case: Case) -> Built:
    width = next(
        (case.config[n] for n in ("n", "block", "block_m", "block_size") if isinstance(case.config.get(n), int)), None
    )
    if width is None:
        raise SkippedError("the report does not give the width of the block")
    tile = {name: value for name, value in _tile(case).items() if name == "num_warps"}
    op = Elementwise(shape=(max(width, _EXTENT),), inputs=1, outputs=1, dtype=_dtypes(case, "x").get("x", "fp32"))
    return op, {**tile, "block_m": width}, None


_OPERATORS: tuple[tuple[tuple[str, ...], Callable[[Case], Any]], ...] = (
    (("attention_fwd",), _attention),
    (("gemm", "bmm", "matmul", "lora", "dot"), _gemm),
    (("elementwise", "softmax", "norm", "reduc"), _elementwise),
)
"""Words in an operator's name, and how such a case is posed; the first that matches counts."""
