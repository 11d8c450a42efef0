"""Running carver: the search of one policy, and what the public templates return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from tilesearch.errors import InputError, Issue, suggest
from tilesearch.models.carver.device import CarverDevice, load_device
from tilesearch.models.carver.emit import emit
from tilesearch.models.carver.graph import Graph
from tilesearch.models.carver.parameters import FlashAttention, read_parameters
from tilesearch.models.carver.policies import DefaultPolicy, TensorCorePolicy
from tilesearch.models.carver.result import CarverRun, Failure, Setting
from tilesearch.models.carver.search import base_tile, ladder, rank, search
from tilesearch.models.carver.templates import build
from tilesearch.models.carver.tensorize import tensorize
from tilesearch.models.carver.threads import UnplacedFactorError

PolicyName = Literal["default", "tc"]

TOP = 20

_BIAS = "the bias placeholder and the bias stage share a name, and tensors are looked up by name"
_CHAIN = "the template asserts that both products can be rewritten: "
_UNTENSORIZED = "carver uses DefaultPolicy: "


def run(
    template: str,
    params: Mapping[str, Any],
    device: CarverDevice | str,
    policy: PolicyName,
    topk: int = TOP,
) -> CarverRun:
    """One search of carver 0.1.15 with the policy that is named, whatever the template would take.

    A run that carver cannot make holds no rows; its `failure` says why. Raises `InputError` for parameters,
    devices and names that carver does not have.
    """
    device = load_device(device) if isinstance(device, str) else device
    if policy not in ("default", "tc"):
        raise InputError(Issue(f"unknown policy {policy!r}", "policy", hint=suggest(str(policy), ["default", "tc"])))
    p = read_parameters(template, params)
    name = (TensorCorePolicy if policy == "tc" else DefaultPolicy).name
    made = CarverRun(template, dict(params), device, name)
    if getattr(p, "with_bias", False):
        return replace(made, failure=Failure("error", _BIAS))
    matrix = tensorize(p, device)
    if isinstance(matrix, str) and isinstance(p, FlashAttention):
        return replace(made, failure=Failure("error", _CHAIN + matrix))
    if isinstance(matrix, str) and policy == "tc":
        return replace(made, failure=Failure("not_applicable", _UNTENSORIZED + matrix))
    if policy == "tc" and isinstance(matrix, Graph):
        return _search(made, TensorCorePolicy(matrix, device), topk)
    # The chain is only ever built of rewritten nodes; a single function is searched as it was written.
    graph = matrix if isinstance(p, FlashAttention) and isinstance(matrix, Graph) else build(p)
    return _search(made, DefaultPolicy(graph, device), topk)


def recommended(template: str, params: Mapping[str, Any], device: CarverDevice | str, topk: int = TOP) -> CarverRun:
    """The run behind the template's own `recommend_hints`: the policy that it picks.

    TensorCorePolicy for every function that can be rewritten, with no fallback if it returns nothing, but for
    FlashAttention, which falls back.
    """
    first = run(template, params, device, "tc", topk)
    falls_back = isinstance(read_parameters(template, params), FlashAttention) and not first.hints
    if falls_back or (first.failure is not None and first.failure.kind == "not_applicable"):
        return run(template, params, device, "default", topk)
    return first


def _search(made: CarverRun, policy: DefaultPolicy, topk: int) -> CarverRun:
    graph = policy.graph
    if not graph.output.space:
        raise InputError(Issue("carver needs an output axis longer than one", "params"))
    base = base_tile(graph)
    steps = tuple(ladder(extent, start) for extent, start in zip(graph.output.space, base, strict=True))
    tensor_cores = isinstance(policy, TensorCorePolicy)
    setting = Setting(
        base_tile=base,
        steps=steps,
        rstep_candidates=policy.candidates,
        rstep_init=policy.rstep_init,
        pipeline_stage=policy.pipeline_stage if tensor_cores else None,
        use_async_copy=policy.use_async_copy if isinstance(policy, TensorCorePolicy) else None,
    )
    rows, cap_hit = search(steps, policy.evaluate)
    ranking = rank(rows)
    shape_ok = tuple(policy.shape_ok(rows[number]) for number in ranking)
    order = [number for number, ok in zip(ranking, shape_ok, strict=True) if ok]
    try:
        trials, hints = emit(policy, rows, order, topk)
    except UnplacedFactorError:
        return replace(made, failure=Failure("error", "a factor of the thread count fits on no axis"))
    return replace(
        made,
        graph=graph,
        setting=setting,
        rows=tuple(rows),
        ranking=ranking,
        shape_ok=shape_ok,
        trials=tuple(trials),
        hints=tuple(hints),
        cap_hit=cap_hit,
    )
