"""shard: one GEMM over several devices, its collective, and whether overlapping the two pays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilesearch.answers.shard import CollectiveTime, LocalGemm, Option, ShardAnswer, Verdict
from tilesearch.api.context import DeviceLike, KernelLike, make
from tilesearch.api.sharding import Local, Split, local_gemm, local_op, message_bytes
from tilesearch.api.sharding_words import limit_of, notes_of, reason_of
from tilesearch.api.timing import UNMEASURED
from tilesearch.errors import InputError, Issue, suggest
from tilesearch.models.time.link import MEASURED_RANKS, LinkConstants, Transfer, link_of, transfer, waited_for
from tilesearch.models.time.overlap import Queue
from tilesearch.specs.devices import TimeError
from tilesearch.specs.ops import Gemm, OpSpec
from tilesearch.specs.problems import Problem

CHUNKS = (2, 4, 8)
"""Numbers of chunks that are tried when none is asked for."""
MOST_CHUNKS = 64

ALLOWED: dict[str, tuple[str, ...]] = {"row": ("all_reduce", "reduce_scatter"), "column": ("all_gather",)}
"""The collectives that a split needs; the first is the default."""

RESOLUTION = 0.05
"""Gains within this share of the sequence's time are a draw: repeated measurements of one queue differ by as much."""


@dataclass(frozen=True)
class Plan:
    """What was asked, checked."""

    ranks: int
    split: Split
    collective: str
    chunks: tuple[int, ...]


def shard(
    op: OpSpec | Problem,
    device: DeviceLike | None = None,
    *,
    ranks: int = 2,
    split: str = "row",
    collective: str | None = None,
    chunks: int | Sequence[int] | None = None,
    kernel: KernelLike | None = None,
) -> ShardAnswer:
    """Split a GEMM over `ranks` devices of one domain: each rank's part, the collective, in sequence or overlapped.

    ``row`` splits K and adds the partial results up (`collective` ``all-reduce`` or ``reduce-scatter``); ``column``
    splits N and gathers A's rows first (``all-gather``). `chunks` of rows overlap the two on two streams (default: 2,
    4 and 8 are tried). Raises `InputError` for other operators and for what the device's file does not know.
    """
    return shard_problem(make(op, device, kernel=kernel), ranks, split, collective, chunks)


def shard_problem(
    problem: Problem,
    ranks: int = 2,
    split: str = "row",
    collective: str | None = None,
    chunks: int | Sequence[int] | None = None,
) -> ShardAnswer:
    """`shard` for a problem that is ready."""
    op = problem.op
    if not isinstance(op, Gemm):
        message = f"only a gemm is split over devices, got {op.kind}"  # type: ignore[attr-defined]
        raise InputError(Issue(message, "op.kind", problem.source, "write its matrix product as a gemm"))
    link = link_of(problem.device)
    if isinstance(link, str):
        raise InputError(Issue(link, "device", hint="a [link] table with bandwidth and domain makes it known"))
    plan = _plan(op, link, ranks, split, collective, chunks)
    return _answer(problem, op, plan, link)


def _plan(
    op: Gemm, link: LinkConstants, ranks: int, split: str, collective: str | None, chunks: int | Sequence[int] | None
) -> Plan:
    """The question, checked; every fault at once."""
    issues: list[Issue] = []
    if split not in ALLOWED:
        raise InputError(Issue(f"unknown split {split!r}", "split", hint=suggest(split, list(ALLOWED))))
    if ranks < 2:
        issues.append(Issue(f"at least 2 devices are wanted, got {ranks}", "ranks"))
    elif ranks > link.domain:
        message = f"{ranks} devices are more than the {link.domain} that one domain joins"
        issues.append(Issue(message, "ranks", hint="what lies between domains is not in the device's file"))
    name, length = ("k", op.k) if split == "row" else ("n", op.n)
    if ranks > length:
        issues.append(Issue(f"{name} = {length} cannot be split over {ranks} devices", "ranks"))
    wanted = (collective or ALLOWED[split][0]).replace("-", "_")
    if wanted not in ALLOWED[split]:
        allowed = ", ".join(ALLOWED[split]).replace("_", "-")
        message = f"{wanted.replace('_', '-')!r} does not complete a {split} split"
        issues.append(Issue(message, "collective", hint=f"allowed: {allowed}"))
    asked = (chunks,) if isinstance(chunks, int) else tuple(CHUNKS if chunks is None else chunks)
    most = min(op.m, MOST_CHUNKS)
    if chunks is not None:
        wrong = [count for count in asked if not 1 <= count <= most]
        issues += [Issue(f"1 to {most} chunks of rows are possible, got {count}", "chunks") for count in wrong]
    if issues:
        raise InputError(issues)
    fitting = sorted({c for c in asked if 1 < c <= most})
    return Plan(ranks, "row" if split == "row" else "column", wanted, (1, *fitting))


def _answer(problem: Problem, op: Gemm, plan: Plan, link: LinkConstants) -> ShardAnswer:
    sized: dict[int, Local] = {}
    for rows in {rows for count in plan.chunks for rows in chunk_rows(op.m, count)}:
        sized[rows] = local_gemm(problem, local_op(op, plan.split, plan.ranks, rows))
    local = sized[op.m]
    whole = transfer(plan.collective, message_bytes(op, plan.split, plan.ranks, op.m), plan.ranks, link)
    queues = {count: _queue(op, plan, link, sized, count) for count in plan.chunks}
    measured = link.strength == "calibrated" and plan.ranks == MEASURED_RANKS
    errors = problem.device.link.errors if measured and problem.device.link is not None else {}
    validated = measured and local.validated
    options = [_option(op, plan, queues, count, errors if validated else {}) for count in plan.chunks]
    best = min(options, key=lambda option: (option.verdict in ("a draw", "does not pay"), option.total_us))
    return ShardAnswer(
        problem=problem.name,
        device=problem.device.name,
        op=op.model_dump(exclude_none=True),
        split=plan.split,
        ranks=plan.ranks,
        domain=link.domain,
        local=_local(local),
        collective=_collective(whole, errors),
        sequential_us=options[0].total_us,
        unsharded_us=waited_for(local_gemm(problem, op).used_us, link),
        options=options,
        best=best,
        strength="not validated" if link.strength == "calibrated" and not validated else link.strength,
        launch_floor_us=link.launch_floor,
        enqueue_us=link.enqueue,
        notes=notes_of(problem, op, plan.split, plan.ranks, local, link),
    )


def chunk_rows(m: int, count: int) -> list[int]:
    """The rows of each of `count` chunks: as even as whole rows allow, the larger ones first."""
    least, more = divmod(m, count)
    return [least + (i < more) for i in range(count)]


def _queue(op: Gemm, plan: Plan, link: LinkConstants, sized: dict[int, Local], count: int) -> Queue:
    rows = chunk_rows(op.m, count)
    moved = [transfer(plan.collective, message_bytes(op, plan.split, plan.ranks, r), plan.ranks, link) for r in rows]
    first = "gemm" if plan.split == "row" else "collective"
    return Queue([sized[r].used_us for r in rows], [t.device_us for t in moved], first, link)  # type: ignore[arg-type]


def _option(op: Gemm, plan: Plan, queues: dict[int, Queue], count: int, errors: dict[str, TimeError]) -> Option:
    queue, sequence = queues[count], queues[1]
    total = queue.total_us
    gain = 1 - total / sequence.total_us
    verdict: Verdict = "sequence"
    if count > 1:
        verdict = "pays" if gain > RESOLUTION else "a draw" if gain >= -RESOLUTION else "does not pay"
    error = errors.get("in sequence" if count == 1 else "in chunks", UNMEASURED)
    return Option(
        chunks=count,
        rows=chunk_rows(op.m, count)[0],
        total_us=total,
        low_us=total * error.low_80,
        high_us=total * error.high_80,
        gemm_us=sum(queue.gemm_us),
        collective_us=sum(queue.collective_us),
        launches=queue.launches,
        issue_us=queue.issue_us,
        gain=gain,
        verdict=verdict,
        limit=limit_of(queue, sequence),
        reason=reason_of(queue, sequence),
    )


def _local(local: Local) -> LocalGemm:
    metrics = local.candidate.metrics
    assert metrics.time_low_us is not None, "filled with the time"
    assert metrics.time_high_us is not None, "filled with the time"
    return LocalGemm(
        op=local.op.model_dump(exclude_none=True),
        kernel=local.kernel.language,
        variant=local.kernel.variant,
        tile=local.candidate.tile.as_dict(),
        time_us=local.time_us,
        low_us=metrics.time_low_us,
        high_us=metrics.time_high_us,
        sustained_us=local.sustained_us,
    )


def _collective(found: Transfer, errors: dict[str, TimeError]) -> CollectiveTime:
    error = errors.get("launch floor" if found.floored else "collective", UNMEASURED)
    return CollectiveTime(
        op=found.op,
        message_bytes=found.message_bytes,
        wire_bytes=round(found.wire_bytes),
        protocol=found.protocol,
        device_us=found.device_us,
        single_us=found.single_us,
        low_us=found.single_us * error.low_80,
        high_us=found.single_us * error.high_80,
        floored=found.floored,
    )
