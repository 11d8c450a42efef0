"""The report of `shard`: each rank's product, its collective, and the two in sequence or in chunks."""

from __future__ import annotations

from functools import partial

from tilesearch.answers.shard import Option, ShardAnswer
from tilesearch.report.base import Records, Report
from tilesearch.report.document import Column, Document, Listing, Table, Text, notes
from tilesearch.report.words import tile_text


def shard_report(answer: ShardAnswer, subject: str = "") -> Report:
    """How an answer of `shard` is shown; `subject` says which operator on which device was asked about."""
    return Report(answer, partial(_document, answer, subject), partial(_records, answer), answer.notes)


def _document(answer: ShardAnswer, subject: str) -> Document:
    return Document().add(
        Text(headline(answer), strong=True),
        Text(subject),
        Listing(f"on each of {answer.ranks} devices", _parts(answer)),
        _options(answer),
        Listing("why", [f"{o.chunks} chunks: {o.reason}" for o in answer.options if o.chunks > 1]),
        notes(answer.notes),
    )


def headline(answer: ShardAnswer) -> str:
    """The best way and what it takes."""
    best = answer.best
    way = "in sequence" if best.chunks == 1 else f"overlapped in {best.chunks} chunks"
    speed = f"{answer.unsharded_us / best.total_us:.2f} times as fast as one device ({answer.unsharded_us:.0f} us)"
    split = f"{answer.split} split over {answer.ranks}, {word(answer.collective.op)}"
    return f"{split}: {best.total_us:.0f} us {way} ({best.low_us:.0f} to {best.high_us:.0f}), {speed}"


def word(op: str) -> str:
    """A collective as people write it."""
    return op.replace("_", "-")


def _parts(answer: ShardAnswer) -> list[str]:
    local, moved = answer.local, answer.collective
    op = local.op
    kernel = " ".join(part for part in (local.kernel, local.variant) if part)
    lasting = "" if local.sustained_us is None else f", {local.sustained_us:.1f} us under the power limit"
    floor = "; the launch floor decides that" if moved.floored else ""
    return [
        f"gemm {op['m']}x{op['n']}x{op['k']}: {tile_text(local.tile)} ({kernel}), {local.time_us:.1f} us "
        f"({local.low_us:.1f} to {local.high_us:.1f}){lasting}",
        f"{word(moved.op)} of a tensor of {moved.message_bytes / 1e6:,.2f} MB on each device: {moved.device_us:.1f} us "
        f"in a queue ({moved.wire_bytes / 1e6:,.2f} MB over the busiest link, protocol {moved.protocol})",
        f"called alone: {moved.single_us:.1f} us ({moved.low_us:.1f} to {moved.high_us:.1f}){floor}",
        f"launch floor {answer.launch_floor_us:.1f} us, the host issues a launch every {answer.enqueue_us:.1f} us",
    ]


def _options(answer: ShardAnswer) -> Table:
    columns = [
        Column(""),
        Column("chunks", right=True),
        Column("rows", right=True, drop=2),
        Column("total us", right=True),
        Column("80 % interval", right=True),
        Column("gemm us", right=True, drop=1),
        Column("collective us", right=True, drop=1),
        Column("issue us", right=True),
        Column("gain %", right=True),
        Column("overlap"),
    ]
    rows = [_option(option, option.chunks == answer.best.chunks) for option in answer.options]
    return Table(columns, rows)


def _option(option: Option, best: bool) -> list[str]:
    return [
        "*" if best else "",
        str(option.chunks),
        str(option.rows),
        f"{option.total_us:.1f}",
        f"{option.low_us:.0f} to {option.high_us:.0f}",
        f"{option.gemm_us:.1f}",
        f"{option.collective_us:.1f}",
        f"{option.issue_us:.0f}",
        f"{100 * option.gain:.1f}" if option.chunks > 1 else "",
        _verdict(option),
    ]


def _verdict(option: Option) -> str:
    if option.chunks == 1:
        return "none, in sequence"
    return option.verdict if option.verdict == "pays" else f"{option.verdict}: {option.limit}"


def _records(answer: ShardAnswer) -> Records:
    names = ["chunks", "rows", "total_us", "low_us", "high_us", "gemm_us", "collective_us", "launches", "issue_us"]
    names += ["gain", "verdict", "limit", "reason"]
    rows: list[list[object]] = []
    for option in answer.options:
        values = option.model_dump()
        rows.append([answer.split, answer.ranks, answer.collective.op, *(values[name] for name in names)])
    return Records(["split", "ranks", "collective", *names], rows)
