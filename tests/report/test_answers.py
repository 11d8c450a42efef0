"""What the tables of answers say, for answers of every status."""

import pytest

import tilesearch as ts
from tilesearch.answers import Candidate, Counts, Metrics, SolveAnswer, SpaceSummary, Tile
from tilesearch.report import Format, render
from tilesearch.report.check import check_report
from tilesearch.report.devices import shown
from tilesearch.report.explain import explain_report
from tilesearch.report.solve import solve_report

OP = ts.Gemm(m=4096, n=4096, k=4096, dtype="fp16")
TOO_BIG = {"block_m": 256, "block_n": 256, "block_k": 64, "num_stages": 4}


def _solved(**changes):
    candidate = Candidate(
        rank=1,
        tied=3,
        verdict="fits",
        tile=Tile(block_m=64, block_n=32, num_warps=4),
        metrics=Metrics(traffic_bytes=5_000_000, priority=77, tail_fill=0.5),
        binding=None,
    )
    return SolveAnswer(
        **{
            "problem": "p",
            "device": "d",
            "op": {"kind": "gemm", "m": 1, "n": 2, "k": 3, "dtype": "fp16"},
            "kernel": "generic",
            "engine": "vector",
            "rank": "carver",
            "space": SpaceSummary(variables={"block_m": [64], "block_n": [32, 64], "num_warps": [4]}, cartesian=2),
            "counts": Counts(candidates=9, feasible=4, soft=2, unknown=1, rejected={"C1.x": 2, "C2.y": 0}),
            "status": "complete",
            "complete": True,
            "proved_optimal": True,
            "elapsed_s": 0.25,
            "candidates": [candidate],
            "notes": ["a note"],
            **changes,
        }
    )


def _table(answer):
    return render(solve_report(answer), Format.TABLE)


def test_solve_table():
    text = _table(_solved())
    assert text.startswith("p on d: gemm 1x2x3 fp16; generic kernel; ranked by carver, (traffic + 1) x waves\n")
    assert (
        "9 candidates: 4 fit, 2 break only soft rules, 1 need a limit that is not known, 2 rejected: C1.x 2\n" in text
    )
    row = next(line for line in text.splitlines() if "64x32" in line)
    assert row.split() == ["1=", "64x32", "w4", "5.0", "-", "-", "-", "-", "-", "50.0", "77"]
    assert "rank 1 is one of 3" in text
    assert "complete: every candidate was judged; 1 tile listed (vector engine, 0.25 s)" in text
    assert text.endswith("notes:\n  - a note\n")


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("optimal", "proved: no tile is better than the 1 tile listed"),
        ("feasible", "partial: stopped by a limit"),
    ],
)
def test_solve_statuses(status, said):
    assert said in _table(_solved(status=status))


def test_solve_without_a_tile():
    nothing = Counts(candidates=9, feasible=None, soft=None, unknown=None, rejected=None)
    text = _table(_solved(status="infeasible", candidates=[], counts=nothing))
    assert "9 candidates, not counted one by one" in text
    assert "proved: no tile fits; `tilesearch explain` says" in text
    assert "stopped by a limit before" in _table(_solved(status="unknown", candidates=[], counts=nothing))
    assert "a limit that others need is not known" in _table(_solved(status="unknown", candidates=[]))


def test_solve_by_time_and_with_soft_tiles():
    answer = _solved(rank="time")
    answer.candidates[0].metrics.time_us = 41.25
    answer.candidates[0].verdict = "spills"
    text = _table(answer)
    header = next(line for line in text.splitlines() if "tile" in line and "#" in line)
    assert "time us" in header
    assert "verdict" in header
    assert "key" not in header
    assert "overlaps the best tile's time interval" in text


def test_solve_by_time_shows_ties_and_both_levels_where_the_set_was_not_listed():
    times = [(100.0, 90.0, 110.0), (115.0, 105.0, 130.0), (200.0, 180.0, 220.0)]
    first = _solved().candidates[0]
    listed = [
        first.model_copy(
            update={
                "rank": place,
                "tied": None if place < 3 else 1,
                "metrics": Metrics(
                    time_us=t, time_low_us=low, time_high_us=high, l2_bytes=30_000_000, dram_bytes=20_000_000
                ),
            }
        )
        for place, (t, low, high) in enumerate(times, start=1)
    ]
    text = render(solve_report(_solved(rank="time", candidates=listed)), Format.TABLE)
    assert [mark for mark in ("1=", "2=", "3=") if mark in text] == ["1=", "2="]
    assert "how many do was not counted" in text
    assert "L2 MB" in text
    assert "DRAM MB" in text
    assert "30.0" in text
    assert "20.0" in text


def test_check_puts_violations_first():
    text = render(check_report(ts.check(OP, "h200", TOO_BIG), "about it"), Format.TABLE)
    assert text.startswith("256x256x64 s4 w8 does not fit: it breaks C1.shared_memory, C2.accumulators\n\nabout it\n")
    marks = [line.split()[0] for line in text.splitlines() if line[:2] in ("NO", "ok", "- ")]
    assert marks == sorted(marks, key=["NO", "ok", "-"].index)
    assert marks[:2] == ["NO", "NO"]
    assert "256.0 KB" in text
    assert "4 * (256 * 64 * 2 + 64 * 256 * 2) = 262144 B > 232448 B" in text
    assert "  1. 256x128x64 s4 w8 (block_n 256 -> 128)" in text


def test_check_of_a_tile_that_fits():
    text = render(check_report(ts.check(OP, "h200", TOO_BIG | {"block_n": 128, "num_stages": 3})), Format.TABLE)
    assert "fits; the tightest rule is C1.shared_memory, 36.6 % left" in text.replace("\n", " ")
    assert "NO" not in text
    assert "nearest" not in text


def test_check_marks_soft_and_unknown_rules():
    answer = ts.check(OP, "h200", TOO_BIG)
    first, second, *others = answer.rules
    soft = first.model_copy(update={"hard": False})
    unknown = second.model_copy(update={"ok": None, "limit": None, "detail": "not judged: nobody knows"})
    answer = answer.model_copy(update={"verdict": "unknown", "rules": [soft, unknown, *others], "nearest": []})
    text = render(check_report(answer), Format.TABLE)
    assert text.startswith(f"256x256x64 s4 w8 cannot be judged: a limit is not known that {second.id} needs")
    assert any(line.startswith("soft  C1.shared_memory") for line in text.splitlines())
    assert any(line.startswith("?") and "nobody knows" in line for line in text.splitlines())
    assert "no tile near it fits" in text
    spills = render(check_report(answer.model_copy(update={"verdict": "spills"})), Format.TABLE)
    assert "runs, but badly: it breaks C1.shared_memory" in spills


def test_explain():
    answer = ts.explain(OP, "h200", rules=["block_m >= 256", "block_n >= 256", "num_warps <= 8"])
    text = render(explain_report(answer), Format.TABLE)
    assert text.startswith("nothing fits: these 4 rules contradict each other\n")
    assert "block_n >= 256" in text
    assert "to make room, drop one of these sets of rules:\n  1. user.1\n" in text
    assert "nearest that fit:\n  1. " in text
    alone = ts.explain(OP, "h200", rules=["block_m < 0"])
    assert "nothing fits: no tile satisfies user.1" in render(explain_report(alone), Format.TABLE)
    fits = ts.explain(OP, "h200")
    assert render(explain_report(fits), Format.TABLE).startswith("something fits")


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "", "-"),
        ("unknown", "B", "unknown"),
        (132, "", "132"),
        (233472, "B", "233472 B = 228 KB"),
        (128, "B", "128 B"),
        (62914560, "B", "62914560 B"),
        (989.5e12, "FLOP/s", "989.5 TFLOP/s"),
        (4.8e12, "B/s", "4800 GB/s"),
        (1.98e9, "Hz", "1980 MHz"),
        (0.5, "us", "0.5 us"),
        ([32, 64], "B", "32, 64 B"),
    ],
)
def test_device_numbers(value, unit, text):
    assert shown(value, unit) == text
