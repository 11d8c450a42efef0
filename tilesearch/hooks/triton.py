"""A pruner for ``triton.autotune``: configurations that cannot run are dropped before they are compiled.

>>> from tilesearch.hooks.triton import early_config_prune
>>> @triton.autotune(configs=CONFIGS, key=["M", "N", "K"],
...                  prune_configs_by={"early_config_prune": early_config_prune})     # doctest: +SKIP

reads a GEMM's extents from the arguments called M, N and K and its types and layouts from the tensors. For another
operator, device or ranking, make a pruner first:

>>> early_config_prune(op=lambda a: Gemv(n=a["N"], k=a["K"]), top=20)                   # doctest: +SKIP
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilesearch.api.context import DeviceLike, KernelLike
from tilesearch.api.prune import prune
from tilesearch.errors import InputError, Issue
from tilesearch.kernels.base import language_data
from tilesearch.specs.devices import Device, load_device
from tilesearch.specs.ops import Gemm, OpSpec
from tilesearch.specs.validation import validate

OpLike = OpSpec | Callable[[Mapping[str, Any]], OpSpec]
_SHOWN = 3
_EXTENTS = ("m", "n", "k")
_SAY = "say which operator it is: early_config_prune(op=lambda args: …)"


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
            kernel=self.kernel if self.kernel is not None else kernel_of(arguments),
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
    configs: list[Any] | None = None, named_args: Mapping[str, Any] | None = None, **options: Any
) -> Any:
    """Prune ``triton.Config`` objects, or, called with keywords alone, make a pruner that does.

    A pruner is made of `op`, an operator or a function from the kernel's arguments to one (default: a GEMM read
    from M, N and K), `device` (default: where the tensors are), `kernel`, `rank`, `top` and `allow_soft`, as in
    `tilesearch.prune`. In a call with configurations, as Triton makes it, keywords are the kernel's own
    arguments, whatever they are called; only an operator for `op` and a device's name, path or data for
    `device` are this function's.
    """
    if configs is None:
        return Pruner(**options)
    own: dict[str, Any] = {}
    if isinstance(options.get("op"), OpSpec):
        own["op"] = options.pop("op")
    if isinstance(options.get("device"), str | Path | Device):
        own["device"] = options.pop("device")
    return Pruner(**own)(configs, named_args or {}, **options)


@dataclass(frozen=True)
class _Tensor:
    """A matrix among the arguments: its type, extents and strides, and whether a descriptor holds it."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    described: bool


def _tensors(arguments: Mapping[str, Any]) -> list[_Tensor]:
    """The tensors among a kernel's arguments, in order, those behind descriptors as well."""
    found = []
    for value in arguments.values():
        base = getattr(value, "base", None)
        described = hasattr(value, "block_shape") and hasattr(base, "dtype")
        dtype = getattr(base, "dtype", None) if described else getattr(value, "dtype", None)
        if dtype is None or not hasattr(value, "shape"):
            continue
        shape = tuple(int(extent) for extent in value.shape)
        if described:
            strides = tuple(int(stride) for stride in value.strides)
        elif callable(getattr(value, "stride", None)):
            strides = tuple(int(value.stride(axis)) for axis in range(len(shape)))
        else:
            continue
        found.append(_Tensor(str(dtype), shape, strides, described))
    return found


def kernel_of(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Triton of the version at hand, through the TMA where an argument is a tensor descriptor."""
    through_tma = any(tensor.described for tensor in _tensors(arguments))
    return {"language": "triton", **_version(), **({"variant": "tma"} if through_tma else {})}


def _version() -> dict[str, str]:
    """The version of the Triton that is running, where the rules know it."""
    own = ".".join(str(getattr(sys.modules.get("triton"), "__version__", "")).split(".")[:2])
    return {"version": own} if own in language_data("triton")["versions"] else {}


def gemm_of(arguments: Mapping[str, Any]) -> Gemm:
    """A GEMM from a kernel's arguments: extents M, N and K; types and layouts of its matrices.

    Of the tensors with two axes, A is the first that is M x K or K x M, B the next that is K x N or N x K, and
    the output the next that is M x N. Where there are none, the first two types count, or fp16, with a warning.
    Raises `InputError` for extents that are no GEMM's.
    """
    by_name = {str(name).lower(): value for name, value in arguments.items()}
    missing = [name for name in _EXTENTS if not _is_whole(by_name.get(name))]
    if missing:
        message = f"the kernel has no whole number called {', '.join(name.upper() for name in missing)}"
        raise InputError(Issue(message, "named_args", hint=_SAY))
    m, n, k = (int(by_name[name]) for name in _EXTENTS)
    given: dict[str, Any] = {"m": m, "n": n, "k": k}
    validate(Gemm, given, prefix="named_args")
    matrices = [tensor for tensor in _tensors(arguments) if len(tensor.shape) == 2]
    a, b = _take(matrices, (m, k)), _take(matrices, (k, n))
    if a is not None and b is not None:
        given |= {"a": a.dtype, "b": b.dtype, "trans_a": _is_turned(a, (m, k)), "trans_b": _is_turned(b, (k, n))}
        out = next((tensor for tensor in matrices if tensor.shape == (m, n)), None)
        given |= {} if out is None else {"out": out.dtype}
    else:
        types = [tensor.dtype for tensor in _tensors(arguments)][:2]
        given |= dict(zip(("a", "b"), types, strict=False))
        assumed = f"A and B are taken to be {' and '.join(types) or 'fp16'}, as row-major matrices"
        warnings.warn(f"tilesearch: no tensors are {m}x{k} and {k}x{n}: {assumed} ({_SAY})", stacklevel=3)
    return validate(Gemm, given, prefix="named_args")


def _is_whole(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool) and not hasattr(value, "shape")


def _take(matrices: list[_Tensor], extents: Sequence[int]) -> _Tensor | None:
    """The first of the matrices that has these extents, either way round, taken out of the list."""
    for place, tensor in enumerate(matrices):
        if sorted(tensor.shape) == sorted(extents):
            return matrices.pop(place)
    return None


def _is_turned(tensor: _Tensor, extents: tuple[int, int]) -> bool:
    """Whether the matrix runs along its first extent in memory: given whole, by columns, or turned, by rows."""
    by_columns = tensor.strides[0] == 1 and tensor.strides[1] != 1
    return by_columns if tensor.shape == extents else not by_columns


def device_of(arguments: Mapping[str, Any]) -> Device:
    """The device that the tensors are on, by its name or its compute capability. Raises `InputError`."""
    bare = [getattr(value, "base", value) for value in arguments.values()]
    tensor = next((v for v in bare if getattr(getattr(v, "device", None), "type", "") == "cuda"), None)
    if tensor is None:
        raise InputError(Issue("no tensor is on a GPU", "device", hint='name one: early_config_prune(device="h200")'))
    import torch  # the caller has it: its tensor is here

    properties: Any = torch.cuda.get_device_properties(tensor.device)
    try:
        return load_device(properties.name)
    except InputError:
        return load_device(f"cc{properties.major}{properties.minor}")
