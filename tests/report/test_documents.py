"""Documents as terminal text, markdown and CSV."""

import csv
import io
import json

import pytest

from tilesearch.answers import VerifyAnswer
from tilesearch.report import Format, Records, render
from tilesearch.report.base import to_csv, to_json
from tilesearch.report.document import Column, Document, Listing, Table, Text, notes
from tilesearch.report.markdown import markdown
from tilesearch.report.terminal import terminal
from tilesearch.report.verify import verify_report

WIDE = Table(
    [
        Column("name"),
        Column("number", right=True, drop=1),
        Column("less", drop=2),
        Column("text", wraps=True),
    ],
    [["first", "1", "x" * 10, "a long text that wraps " * 4], ["second", "23", "y", "short"]],
)


def test_columns_give_way_by_importance():
    at_100 = terminal(Document().add(WIDE), width=100)
    assert "hidden" not in at_100
    at_50 = terminal(Document().add(WIDE), width=50)
    assert "(hidden at 50 columns: less)" in at_50
    at_40 = terminal(Document().add(WIDE), width=40)
    assert "(hidden at 40 columns: number, less)" in at_40


@pytest.mark.parametrize("width", [1, 20, 40, 57, 80, 100, 300])
def test_no_line_is_wider_than_the_terminal(width):
    document = Document().add(Text("word " * 60), WIDE, Listing("list", ["item " * 40], numbered=True), Text("x"))
    for line in terminal(document, width=width).splitlines():
        assert len(line) <= max(width, 40)
        assert line == line.rstrip()


def test_nothing_is_lost_where_there_is_too_little_room():
    table = Table([Column("key"), Column("value")], [["k" * 30, "v" * 30]])
    text = terminal(Document().add(table), width=40)
    assert text.count("k") == 31
    assert text.count("v") == 31


def test_right_columns_end_together():
    lines = terminal(Document().add(Table([Column("n", right=True)], [["1"], ["234"]]))).splitlines()
    assert lines == ["  n", "───", "  1", "234"]


def test_markup_of_other_languages_is_text():
    document = Document().add(Text("[bold]x[/bold] :smile:"), Table([Column("a")], [["[red]y[/red]"]]))
    text = terminal(document)
    assert "[bold]x[/bold] :smile:" in text
    assert "[red]y[/red]" in text


def test_bold_only_where_asked():
    document = Document().add(Text("title", strong=True), WIDE)
    assert "\x1b" not in terminal(document)
    assert terminal(document, bold=True).startswith("\x1b[1mtitle\x1b[0m")


def test_quiet_leaves_notes_out():
    document = Document().add(Text("answer"), Text("legend", note=True), notes(["a note"]))
    assert terminal(document) == "answer\n\nlegend\n\nnotes:\n  - a note\n"
    assert terminal(document, quiet=True) == "answer\n"
    assert markdown(document, quiet=True) == "answer\n"


def test_empty_blocks_are_left_out():
    assert Document().add(Text(""), Listing("x", []), Table([Column("a")], [])).blocks == []


def test_markdown():
    table = Table([Column("rule"), Column("n", right=True)], [["a | b", "1"], ["two\nlines", "2"]], title="rules")
    document = Document().add(Text("head", strong=True), table, Listing("next", ["x", "y"], numbered=True))
    assert markdown(document) == (
        "**head**\n\n**rules**\n\n| rule | n |\n|---|---:|\n| a \\| b | 1 |\n| two lines | 2 |\n\n"
        "**next**\n\n1. x\n2. y\n"
    )


def test_csv_quotes_and_leaves_cells_empty():
    text = to_csv(Records(["a", "b"], [["x,y", None], ['"', True], ["two\nlines", 0]]))
    assert "\r" not in text
    assert list(csv.reader(io.StringIO(text))) == [["a", "b"], ["x,y", ""], ['"', "true"], ["two\nlines", "0"]]


def test_json_has_no_number_that_json_lacks():
    answer = VerifyAnswer(
        kind="times", rows=0, agree=0, skipped=0, disagree=[], stats={"mape": float("nan"), "worst": float("inf")}
    )
    text = to_json(answer)
    assert json.loads(text, parse_constant=pytest.fail)["stats"] == {"mape": None, "worst": None}
    assert to_json([answer]) == json.dumps([json.loads(text)], indent=2) + "\n"


def test_verify_tables_and_rows():
    answer = VerifyAnswer(
        kind="times",
        rows=3,
        agree=1,
        skipped=1,
        disagree=[{"row": 7, "expected": {"blocks": 1}, "got": [1, 2]}],
        stats={"mape": 0.123456789, "top1": {"time": 1.0, "rows": list(range(9))}},
    )
    text = render(verify_report(answer), Format.TABLE)
    assert text.startswith("times: 3 rows, 1 agree, 1 disagree, 1 skipped\n")
    for shown in ('{"blocks": 1}', "[1, 2]", "0.123457", "top1: time", "9: 0, 1, 2, 3, 4, 5, …"):
        assert shown in text
    assert render(verify_report(answer), Format.CSV).splitlines() == [
        "kind,row,expected,got",
        'times,7,"{""blocks"": 1}","[1, 2]"',
    ]
