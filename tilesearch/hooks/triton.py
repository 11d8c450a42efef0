"""A pruner for ``triton.autotune``: configurations that cannot run are dropped before they are compiled.

>>> @triton.autotune(configs=CONFIGS, key=["M", "N", "K"],
...                  prune_configs_by={"early_config_prune": early_config_prune})     # doctest: +SKIP

reads a GEMM's extents from the arguments called M, N and K and its types from the first tensors. For another
operator, device or ranking, call it with keywords first:

>>> early_config_prune(op=lambda a: Gemv(n=a["N"], k=a["K"]), top=20)                   # doctest: +SKIP
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tilesearch.api.context import DeviceLike, KernelLike
from tilesearch.api.prune import prune
from tilesearch.errors import InputError, Issue
from tilesearch.specs.devices import Device, load_device
from tilesearch.specs.ops import Gemm, OpSpec

OpLike = OpSpec | Callable[[Mapping[str, Any]], OpSpec]
_SHOWN = 3


@dataclass(frozen=True)
class Pruner:
    """What ``prune_configs_by`` calls: configurations and the kernel's arguments in, configurations out."""

    op: OpLike | None = None
    device: DeviceLike | None = None
    kernel: KernelLike | None = None
    rank: str | None = None
    top: int | None = None
    allow_soft: bool = True

    def __call__(self, configs: list[Any], named_args: Mapping[str, Any], **meta: Any) -> list[Any]:
        """The configurations that run, best first. Where none does, all of them, with a warning that says why."""
        arguments = {**named_args, **meta}
        op = self.op(arguments) if callable(self.op) else self.op
        answer = prune(
            configs,
            op if op is not None else gemm_of(arguments),
            self.device if self.device is not None else device_of(arguments),
            kernel=self.kernel,
            rank=self.rank,
            top=self.top,
            allow_soft=self.allow_soft,
        )
        if answer.kept:
            return [kept.config for kept in answer.kept]
        reasons = "; ".join(f"{r.config}: {', '.join(r.violations)}" for r in answer.rejected[:_SHOWN])
        warnings.warn(f"tilesearch: none of {len(configs)} configurations fits ({reasons}, …)", stacklevel=2)
        return configs


def early_config_prune(
    configs: list[Any] | None = None,
    named_args: Mapping[str, Any] | None = None,
    *,
    op: OpLike | None = None,
    device: DeviceLike | None = None,
    kernel: KernelLike | None = None,
    rank: str | None = None,
    top: int | None = None,
    allow_soft: bool = True,
    **meta: Any,
) -> Any:
    """Prune ``triton.Config`` objects, or, called with keywords alone, make a pruner that does.

    `op` is an operator or a function from the kernel's arguments to one (default: a GEMM read from M, N and K);
    `device` defaults to the one that the tensors are on; the rest is as in `tilesearch.prune`.
    """
    pruner = Pruner(op, device, kernel, rank, top, allow_soft)
    if configs is None:
        return pruner
    return pruner(configs, named_args or {}, **meta)


def gemm_of(arguments: Mapping[str, Any]) -> Gemm:
    """A GEMM from a kernel's arguments: extents M, N and K, types of the first tensors. Raises `InputError`."""
    by_name = {str(name).lower(): value for name, value in arguments.items()}
    missing = [name for name in ("m", "n", "k") if not isinstance(by_name.get(name), int)]
    if missing:
        message = f"the kernel has no whole number called {', '.join(name.upper() for name in missing)}"
        hint = "say which operator it is: early_config_prune(op=lambda args: …)"
        raise InputError(Issue(message, "named_args", hint=hint))
    tensors = [value for value in arguments.values() if hasattr(value, "dtype") and hasattr(value, "stride")]
    types = [str(t.dtype) for t in tensors]
    operands = dict(zip(("a", "b"), types, strict=False))
    out = {"out": types[2]} if len(types) > 2 else {}
    extents = {name: int(by_name[name]) for name in ("m", "n", "k")}
    return Gemm.model_validate({**extents, **operands, **out, "trans_b": _is_transposed(tensors, extents)})


def _is_transposed(tensors: list[Any], extents: Mapping[str, int]) -> bool:
    """Whether the second tensor runs along K in memory."""
    if len(tensors) < 2 or len(tensors[1].shape) != 2:
        return False
    rows, columns = tensors[1].shape
    along_rows = tensors[1].stride(0) == 1
    return along_rows if (rows, columns) == (extents["k"], extents["n"]) else not along_rows


def device_of(arguments: Mapping[str, Any]) -> Device:
    """The device that the tensors are on, by its name or its compute capability. Raises `InputError`."""
    tensor = next((v for v in arguments.values() if getattr(getattr(v, "device", None), "type", "") == "cuda"), None)
    if tensor is None:
        raise InputError(Issue("no tensor is on a GPU", "device", hint='name one: early_config_prune(device="h200")'))
    import torch  # the caller has it: its tensor is here

    properties: Any = torch.cuda.get_device_properties(tensor.device)
    try:
        return load_device(properties.name)
    except InputError:
        return load_device(f"cc{properties.major}{properties.minor}")
