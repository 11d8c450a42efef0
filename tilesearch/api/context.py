"""From what a caller gives to a checked problem, and from there to a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from tilesearch.errors import InputError, Issue
from tilesearch.kernels import Context, build_model
from tilesearch.program import lower
from tilesearch.rules.model import Model
from tilesearch.specs.devices import Device, load_device
from tilesearch.specs.kernels import KernelSpec, ModelSpec, RulesSpec
from tilesearch.specs.ops import OpSpec
from tilesearch.specs.problems import Problem, ProblemFile, canonical_space, warp_of
from tilesearch.specs.validation import validate

DeviceLike = str | Path | Device
KernelLike = str | Mapping[str, Any] | KernelSpec


def make(
    op: OpSpec | Problem,
    device: DeviceLike | None = None,
    *,
    kernel: KernelLike | None = None,
    space: Mapping[str, Any] | None = None,
    rules: Sequence[str] | Mapping[str, Any] | RulesSpec | None = None,
    model: Mapping[str, Any] | ModelSpec | None = None,
    search: Mapping[str, Any] | None = None,
) -> Problem:
    """A problem from an operator and a device, or a loaded problem with parts replaced.

    Every argument is what the table of a problem file holds; `rules` may be just a list of expressions and
    `kernel` just a language's name. Raises `InputError` naming every fault.
    """
    if isinstance(op, Problem):
        base = op if device is None else op.replace(device=resolve_device(device))
    elif isinstance(op, OpSpec):
        if device is None:
            raise InputError(Issue("is required and absent", "device", hint="for example solve(op, 'h200')"))
        base = Problem(op=op, device=resolve_device(device), name=type(op).__name__.lower())
    else:
        raise InputError(Issue(f"an operator or a problem is wanted, got {type(op).__name__}", "op"))
    given = {"kernel": _table("language", kernel), "rules": _rules(rules), "model": model, "search": search}
    changes = {name: value for name, value in given.items() if value is not None}
    issues = [
        Issue(f"a table is wanted, got {type(value).__name__}", name)
        for name, value in {**given, "space": space}.items()
        if value is not None and not isinstance(value, Mapping | BaseModel)
    ]
    if issues:
        raise InputError(issues)
    if space is not None:
        changes["space"] = {**base.space, **canonical_space(space, "", issues, warp_of(base.device))}
    if issues:
        raise InputError(issues)
    if not changes:
        return base
    spec = validate(ProblemFile, {"device": "", "op": {}, **{k: _plain(v, base, k) for k, v in changes.items()}})
    return base.replace(**{name: getattr(spec, name) for name in changes})


def resolve_device(device: DeviceLike) -> Device:
    """The device of a name, a path or a device. Raises `InputError` for anything else."""
    if not isinstance(device, str | Path | Device):
        raise InputError(Issue(f"a name, a path or a device is wanted, got {type(device).__name__}", "device"))
    return device if isinstance(device, Device) else load_device(device)


def _table(key: str, value: KernelLike | None) -> Any:
    return {key: value} if isinstance(value, str) else value


def _rules(rules: Sequence[str] | Mapping[str, Any] | RulesSpec | None) -> Any:
    if isinstance(rules, str):
        return {"extra": [rules]}
    return {"extra": list(rules)} if isinstance(rules, Sequence) else rules


def _plain(value: Any, base: Problem, name: str) -> Any:
    """A table over what the problem already says."""
    table = value.model_dump() if hasattr(value, "model_dump") else dict(value)
    if name in ("space", "kernel"):
        return table
    return {**getattr(base, name).model_dump(), **table}


def context_of(problem: Problem) -> Context:
    """A problem as a kernel language sees it."""
    return Context(
        program=lower(problem.op),
        device=problem.device,
        kernel=problem.kernel,
        model=problem.model,
        rules=problem.rules,
        space=problem.space,
        source=problem.source,
    )


def model_of(problem: Problem) -> Model:
    """The model of a problem. Raises `InputError` for what the operator, device and language cannot have."""
    return build_model(context_of(problem))
