"""The report of `explain`: the conflict in words, what to give up, the nearest tiles that fit."""

from __future__ import annotations

from functools import partial

from tilesearch.answers import ExplainAnswer
from tilesearch.report.base import Records, Report
from tilesearch.report.document import Column, Document, Listing, Table, Text, notes
from tilesearch.report.words import nearest_text, tile_text


def explain_report(answer: ExplainAnswer, subject: str = "") -> Report:
    """How an answer of `explain` is shown; `subject` says which operator on which device was asked about."""
    return Report(answer, partial(_document, answer, subject), partial(_records, answer), answer.notes)


def _document(answer: ExplainAnswer, subject: str) -> Document:
    document = Document().add(Text(_verdict(answer), strong=True), Text(subject))
    if not answer.feasible:
        sets = [_set(answer, correction) for correction in answer.corrections]
        document.add(
            Table([Column("rule"), Column("says", wraps=True)], [[name, _says(answer, name)] for name in answer.core]),
            Text(
                "Each of them is needed for this conflict; what the whole problem would need is next."
                if len(answer.core) > 1
                else ""
            ),
            Listing("to make room, drop one of these sets of rules", sets, numbered=True),
            Listing("nearest that fit", [nearest_text(n) for n in answer.nearest], numbered=True),
        )
    return document.add(notes(answer.notes))


def _verdict(answer: ExplainAnswer) -> str:
    if answer.feasible:
        return "something fits: there is no conflict to explain"
    number = len(answer.core)
    if number == 1:
        return f"nothing fits: no tile satisfies {answer.core[0]}"
    return f"nothing fits: these {number} rules contradict each other"


def _says(answer: ExplainAnswer, name: str) -> str:
    return answer.rules.get(name, "")


def _set(answer: ExplainAnswer, correction: list[str]) -> str:
    names = [name if name in answer.core else f"{name} ({_says(answer, name)})" for name in correction]
    return " and ".join(names)


def _records(answer: ExplainAnswer) -> Records:
    """One row for each rule of the core, each correction and each nearby tile."""
    rows = [["core", n, name, _says(answer, name)] for n, name in enumerate(answer.core, start=1)]
    rows += [["correction", n, "+".join(names), ""] for n, names in enumerate(answer.corrections, start=1)]
    rows += [["nearest", n, tile_text(x.tile), _changes(x.changes)] for n, x in enumerate(answer.nearest, start=1)]
    return Records(["part", "number", "item", "text"], rows)


def _changes(changes: dict[str, list[int]]) -> str:
    return ", ".join(f"{name} {pair[0]} -> {pair[1]}" for name, pair in changes.items())
