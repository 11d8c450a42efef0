"""The report of `roofline`: the bound and its class, the ledger, the roofs, the misreadings."""

from __future__ import annotations

from functools import partial

from tilesearch.answers.roofline import Analyzer, MeasuredBytes, MeasuredTime, RateUsed, RooflineAnswer, Sweep
from tilesearch.report.base import Records, Report
from tilesearch.report.document import Block, Column, Document, Listing, Table, Text, notes
from tilesearch.report.words import ABSENT, tile_text


def roofline_report(answer: RooflineAnswer, subject: str = "") -> Report:
    """How an answer of `roofline` is shown; `subject` says which operator on which device was asked about."""
    return Report(answer, partial(_document, answer, subject), partial(_records, answer), answer.notes)


def _document(answer: RooflineAnswer, subject: str) -> Document:
    document = Document().add(Text(headline(answer), strong=True), Text(subject), Text(_summary(answer)))
    document.add(ledger_table(answer), roofs_table(answer), misreadings_table(answer))
    if answer.measured:
        document.add(measured_time(answer.measured))
    if answer.measured_bytes:
        document.add(measured_bytes(answer.measured_bytes))
    if answer.sweep:
        document.add(*_sweep(answer.sweep))
    if answer.analyzer:
        document.add(_analyzer(answer.analyzer))
    return document.add(notes([*rates_text(answer), *answer.notes]))


def headline(answer: RooflineAnswer) -> str:
    """The class and the bound in one line."""
    if answer.latency_bound:
        return (
            f"latency-bound: the bound of {answer.sol_us:.3f} us is below the {answer.launch_floor_us:.1f} us of an "
            f"empty launch ({answer.class_} by the balance)"
        )
    return f"{answer.class_}-bound on {answer.roof}: no kernel takes less than {answer.sol_us:.4g} us"


def _summary(answer: RooflineAnswer) -> str:
    special = f", {answer.special} of them special functions" if answer.special else ""
    return (
        f"{answer.flops / 1e6:,.1f} MFLOP{special}; {answer.bytes / 1e6:,.2f} MB (payload "
        f"{answer.payload_bytes / 1e6:,.2f}, look-up {answer.lookup_bytes / 1e6:,.2f}); intensity "
        f"{answer.intensity:.3f} FLOP/B against a balance of {answer.balance:.2f}; memory {answer.memory_us:.4g} us, "
        f"compute {answer.compute_us:.4g} us"
    )


def ledger_table(answer: RooflineAnswer) -> Table:
    """The ledger, term by term."""
    columns = [Column("term"), Column("flops", right=True), Column("bytes", right=True), Column("unit")]
    rows = [[t.name, _count(t.flops), _count(t.bytes), t.unit] for t in answer.terms]
    total = ["total", _count(answer.flops), _count(answer.bytes), ""]
    return Table(columns, [*rows, total], title="ledger")


def _count(number: int) -> str:
    return f"{number:,}" if number else ""


def roofs_table(answer: RooflineAnswer) -> Table:
    """What each roof of the device would make of the operator; the declared one is marked."""
    columns = [
        Column(""),
        Column("roof"),
        Column("TFLOP/s", right=True),
        Column("balance", right=True),
        Column("class"),
        Column("compute us", right=True),
        Column("calibration", drop=1),
    ]
    rows = [
        [
            "*" if roof.name == answer.roof else "",
            roof.name,
            ABSENT if roof.peak_flops is None else f"{roof.peak_flops / 1e12:.2f}",
            ABSENT if roof.balance is None else f"{roof.balance:.2f}",
            roof.class_,
            ABSENT if roof.compute_us is None else f"{roof.compute_us:.4g}",
            " ".join(filter(None, [roof.calibration or ABSENT, roof.edition])),
        ]
        for roof in answer.roofs
    ]
    return Table(columns, rows, title=f"roofs under the policy {answer.policy.name} (* declared)")


def misreadings_table(answer: RooflineAnswer) -> Table:
    """What would be misread here."""
    columns = [Column("misreading"), Column("bites"), Column("factor", right=True), Column("here", wraps=True)]
    rows = [
        [m.id, "yes" if m.holds else "no", ABSENT if m.factor is None else f"{m.factor:.2f}", m.text]
        for m in answer.misreadings
    ]
    return Table(columns, rows, title="misreadings")


def rates_text(answer: RooflineAnswer) -> list[str]:
    """The two rates that the bound rests on, with policy, calibration and edition."""
    policy = answer.policy
    return [
        f"bandwidth {policy.bandwidth.value / 1e9:,.1f} GB/s: {_origin(policy.bandwidth)}",
        f"{policy.roof.name} {policy.roof.value / 1e12:,.2f} TFLOP/s: {_origin(policy.roof)}",
    ]


def _origin(rate: RateUsed) -> str:
    edition = f", edition {rate.edition}" if rate.edition else ""
    return f"calibration {rate.calibration} ({rate.kind}{edition}); {rate.source}"


def measured_time(measured: MeasuredTime) -> Listing:
    """A measured time against the bound."""
    suspect = f"; suspect: {measured.suspect}" if measured.suspect else ""
    return Listing(
        f"measured {measured.time_us:g} us",
        [
            f"efficiency {100 * measured.efficiency:.1f} %: {measured.band}",
            f"implies {measured.implied_gbs:,.0f} GB/s and {measured.implied_tflops:,.2f} TFLOP/s",
            f"{measured.text}{suspect}",
        ],
    )


def measured_bytes(measured: MeasuredBytes) -> Listing:
    """Measured bytes against both counts."""
    caught = "" if measured.caught is None else f"; a cache caught {100 * measured.caught:.0f} % of the re-reads"
    return Listing(
        f"measured {measured.bytes / 1e6:,.2f} MB",
        [
            f"compulsory {measured.compulsory_bytes / 1e6:,.2f} MB, the blocks of {tile_text(measured.tile)} read and "
            f"write {measured.tile_bytes / 1e6:,.2f} MB",
            f"reality followed: {measured.followed}{caught}",
            measured.text,
        ],
    )


def _sweep(sweep: Sweep) -> list[Block]:
    names = " = ".join(sweep.keys)
    columns = [
        Column(names, right=True),
        Column("MFLOP", right=True, drop=1),
        Column("MB", right=True, drop=1),
        Column("FLOP/B", right=True),
        Column("class"),
        Column("bound us", right=True),
        Column("below a launch"),
    ]
    words = {True: "yes", False: "", None: "?"}
    rows = [
        [
            str(row.size),
            f"{row.flops / 1e6:,.2f}",
            f"{row.bytes / 1e6:,.2f}",
            f"{row.intensity:.2f}",
            row.class_,
            f"{row.sol_us:.4g}",
            words[row.latency_bound],
        ]
        for row in sweep.rows
    ]
    flips = [f"{flip.what}: from {flip.before} to {flip.after} at {names} = {flip.size}" for flip in sweep.flips]
    return [Table(columns, rows, title="sweep"), Listing("turns", flips or ["nothing turns in this range"])]


def _analyzer(found: Analyzer) -> Listing:
    return Listing(
        f"TileLang's Analyzer on {tile_text(found.tile)}, for reconciliation only",
        [
            f"T.gemm: {found.gemm_flops:,} operations (ledger {found.ledger_flops:,})",
            f"T.copy across global memory: {found.global_bytes:,} B (ledger {found.ledger_bytes:,})",
            f"not counted: {', '.join(found.not_counted) or 'nothing'}",
        ],
    )


def _records(answer: RooflineAnswer) -> Records:
    header = ["part", "name", "flops", "bytes", "unit", "peak_flops", "balance", "class", "compute_us"]
    rows: list[list[object]] = [["term", t.name, t.flops, t.bytes, t.unit, *[None] * 4] for t in answer.terms]
    rows += [["roof", r.name, None, None, "", r.peak_flops, r.balance, r.class_, r.compute_us] for r in answer.roofs]
    whole = [answer.flops, answer.bytes, "", None, answer.balance, answer.class_, answer.sol_us]
    rows.append(["total", answer.roof, *whole])
    if answer.sweep is not None:
        name = "=".join(answer.sweep.keys)
        rows += [
            ["sweep", f"{name}={row.size}", row.flops, row.bytes, "", None, None, row.class_, row.sol_us]
            for row in answer.sweep.rows
        ]
        rows += [
            ["turn", f"{name}={f.size}", None, None, "", None, None, f"{f.what}: {f.before} to {f.after}", None]
            for f in answer.sweep.flips
        ]
    if answer.measured is not None:
        m = answer.measured
        rows.append(["measured time", f"efficiency {m.efficiency:.4g}", *[None] * 5, m.band, m.time_us])
    if answer.measured_bytes is not None:
        b = answer.measured_bytes
        rows.append(["measured bytes", "main memory", None, b.bytes, "", None, None, b.followed, None])
        rows.append(["measured bytes", tile_text(b.tile), None, b.tile_bytes, "", None, None, "tile", None])
    if answer.analyzer is not None:
        a = answer.analyzer
        rows.append(["analyzer", tile_text(a.tile), a.gemm_flops, a.global_bytes, "", *[None] * 3, a.gemm_bound_us])
    return Records(header, rows)
