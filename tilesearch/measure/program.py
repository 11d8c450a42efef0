"""An exported kernel as something that can be compiled, checked and launched."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from tilesearch.errors import InputError, Issue
from tilesearch.kernels.export.text import torch_type
from tilesearch.specs.ops import Attention, Gemm, OpSpec, Reduction

WRONG = 2e-2
"""Relative error, in the Frobenius norm against fp32, from which on a result counts as wrong: as exported code does."""

_KERNELS = {"gemm": "gemm_kernel", "attention": "attention_kernel", "rows": "rows_kernel"}
"""The launcher's name in an exported module, and its kernel's."""


@dataclass(frozen=True)
class Compiled:
    """What the compiler made of a kernel. Bytes of shared memory and of spills a thread; None where not read."""

    shared: int | None
    registers: int | None
    spills: int | None


class _Watched:
    """Stands for a kernel in its module: keeps what launches return, or compiles without launching."""

    def __init__(self, kernel: Any, launches: bool) -> None:
        self.kernel, self.launches, self.last = kernel, launches, None

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            if self.launches:
                self.last = self.kernel[grid](*arguments, **options)
            else:
                self.last = self.kernel.warmup(*arguments, grid=grid, **options)
            return self.last

        return call


class Program(Protocol):
    """Something that can be run on inputs, and then says what the compiler made of it."""

    def __call__(self, *inputs: Any) -> Any:
        """Run it."""

    def compiled(self) -> Compiled:
        """What the last run ran."""


@dataclass
class Exported:
    """A module that `tilesearch export --to triton` wrote, loaded from its file."""

    module: ModuleType
    entry: str
    kernel: _Watched

    def __call__(self, *inputs: Any) -> Any:
        """Run the launcher."""
        return getattr(self.module, self.entry)(*inputs)

    def compiled(self) -> Compiled:
        """What the last launch ran."""
        last = self.kernel.last
        shared = getattr(getattr(last, "metadata", None), "shared", None)
        return Compiled(shared, getattr(last, "n_regs", None), getattr(last, "n_spills", None))


def load(path: Path, launches: bool = True) -> Exported:
    """The module in `path`. Without `launches` its kernel is compiled where it would be launched."""
    name = f"tilesearch_exported_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    entry = next(entry for entry, kernel in _KERNELS.items() if hasattr(module, kernel))
    watched = _Watched(getattr(module, _KERNELS[entry]), launches)
    setattr(module, _KERNELS[entry], watched)
    return Exported(module, entry, watched)


@dataclass(frozen=True)
class Inputs:
    """Arguments of an exported launcher, and the result in fp32 that torch gets from them."""

    arguments: tuple[Any, ...]
    wanted: Callable[[], Any]


def inputs_of(torch: Any, op: OpSpec, planes: bool, device: str = "cuda") -> Inputs:
    """Random normal data for `op`, as the exported launcher wants it; `planes`: matrices come with a batch axis.

    Raises `InputError` for an operator whose exported code this does not know.
    """
    if isinstance(op, Gemm):
        return _gemm(torch, op, planes, device)
    if isinstance(op, Attention):
        return _attention(torch, op, device)
    if isinstance(op, Reduction):
        return _rows(torch, op, device)
    raise InputError(Issue(f"no inputs are known for {getattr(op, 'kind', 'this operator')}", "op.kind"))


def _random(torch: Any, shape: tuple[int, ...], kind: str, device: str) -> Any:
    if device == "meta":
        return torch.empty(shape, dtype=getattr(torch, kind), device=device)
    if kind.startswith("int"):
        return torch.randint(-8, 8, shape, device=device).to(getattr(torch, kind))
    return torch.randn(shape, device=device).to(getattr(torch, kind))


def _gemm(torch: Any, op: Gemm, planes: bool, device: str) -> Inputs:
    batch = (op.batch,) if planes else ()
    a = _random(
        torch, (*batch, *((op.k, op.m) if op.trans_a else (op.m, op.k))), torch_type(op.operand("a"), op), device
    )
    b = _random(
        torch, (*batch, *((op.n, op.k) if op.trans_b else (op.k, op.n))), torch_type(op.operand("b"), op), device
    )
    rows, columns = (a.mT if op.trans_a else a), (b.mT if op.trans_b else b)
    arguments: tuple[Any, ...] = (rows, columns) if planes else (a, b)
    if op.bias:
        arguments = (*arguments, _random(torch, (op.n,), torch_type(op.operand("out"), op), device))

    def wanted() -> Any:
        product = rows.float() @ columns.float()
        return _activated(torch, op.activation, product + arguments[2].float() if op.bias else product)

    return Inputs(arguments, wanted)


def _activated(torch: Any, name: str, value: Any) -> Any:
    functions = torch.nn.functional
    if name == "none":
        return value
    return functions.gelu(value, approximate="tanh") if name == "gelu" else getattr(functions, name)(value)


def _attention(torch: Any, op: Attention, device: str) -> Inputs:
    heads, kv_len, d = op.kv_heads or op.heads, op.kv_len or op.q_len, op.head_dim or 1
    kind = torch_type(op.operand("q"), op)
    q = _random(torch, (op.batch, op.heads, op.q_len, d), kind, device)
    k = _random(torch, (op.batch, heads, kv_len, d), kind, device)
    v = _random(torch, (op.batch, heads, kv_len, op.v_head_dim or d), kind, device)

    def wanted() -> Any:
        group = op.heads // heads
        result = torch.empty((*q.shape[:3], v.shape[3]), device=q.device)
        for plane in range(op.batch * op.heads):  # one at a time: scores in fp32 are large
            b, h = divmod(plane, op.heads)
            scores = q[b, h].float() @ k[b, h // group].float().T * d**-0.5
            if op.causal:
                hidden = torch.ones_like(scores, dtype=torch.bool).triu(kv_len - op.q_len + 1)
                scores = scores.masked_fill(hidden, float("-inf"))
            if op.window is not None:
                own = torch.arange(op.q_len, device=q.device)[:, None] + kv_len - op.q_len
                far = torch.arange(kv_len, device=q.device)[None, :] - own
                scores = scores.masked_fill(far.abs() >= op.window, float("-inf"))
            result[b, h] = scores.softmax(-1) @ v[b, h // group].float()
        return result

    return Inputs((q, k, v), wanted)


def _rows(torch: Any, op: Reduction, device: str) -> Inputs:
    columns, rows = op.shape[-1], 1
    for size in op.shape[:-1]:
        rows *= size
    x = _random(torch, (rows, columns), torch_type(op.dtype, op), device)
    w = _random(torch, (columns,), torch_type(op.dtype, op), device)

    def wanted() -> Any:
        value = x.float()
        if op.function == "softmax":
            return value.softmax(-1)
        if op.function == "layernorm":
            return torch.nn.functional.layer_norm(value, (columns,), eps=1e-6)
        normed = value * (value.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt()
        return normed * w.float() if op.affine else normed

    return Inputs((x, w), wanted)


def relative_error(torch: Any, program: Callable[..., Any], inputs: Inputs, wanted: Any) -> float:
    """``|got - wanted| / |wanted|`` of one launch, whose output memory held NaN before; infinite where NaN is left."""
    poisoned = torch.full(wanted.shape, float("nan"), device=wanted.device)
    del poisoned  # the allocator hands the block out again
    got = program(*inputs.arguments).float().reshape(wanted.shape)
    error = float(((got - wanted).norm() / wanted.norm()).item())
    return error if error == error else float("inf")
