"""schedule: the answer, its picture, the command."""

import json
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest

import tilesearch as ts
from tilesearch.api.context import context_of
from tilesearch.cli import run
from tilesearch.errors import InputError
from tilesearch.kernels.ascend import kernel_of, tile_variables
from tilesearch.report.gantt import svg_gantt, text_gantt
from tilesearch.rules.geometry import Geometry
from tilesearch.scheduling import schedule_loop
from tilesearch.scheduling.check import violations
from tilesearch.scheduling.kernel import Tiled

PROBLEM = ts.load_problem("problems/ascend_gemm_relu.toml")
TILE = "block_m=256,block_n=224,block_k=128,num_stages=2"
COMMAND = ["schedule", "problems/ascend_gemm_relu.toml", "--tile", TILE]
KEYS = ["ii", "status", "lower_bounds", "starts", "stages", "versions", "latency", "critical_cycle", "binding"]


@pytest.mark.parametrize("engine", ["auto", "cpsat", "z3"])
def test_the_official_example(engine):
    answer = ts.schedule(PROBLEM, tile=TILE, engine=engine)
    assert (answer.ii, answer.status, answer.binding) == (1800, "optimal", "Cube")
    assert set(answer.versions.values()) == {2}
    assert (answer.iteration, answer.latency, answer.tiles.latency) == (3220, 30220, 33909)
    assert answer.critical_cycle.text == "copy A + copy B on MTE2 = 1230 < gemm 1800: Cube binds"
    assert answer.lower_bounds["proved"] == 1800
    assert (answer.pipes["MTE1"], answer.pipes["MTE2"], answer.pipes["Cube"]) == (486, 1230, 1792)
    assert answer.violations == []


def test_two_versions_are_enough_where_the_seed_wants_three():
    one, two = (ts.schedule(PROBLEM, tile=TILE.replace("stages=2", f"stages={s}")) for s in (1, 2))
    assert (one.ii, two.ii) == (3220, 1800)
    assert one.binding.startswith("buffer")
    seed = ts.schedule(PROBLEM, tile=TILE, model={"latency": "seed"})
    assert seed.tiles is None
    assert "seed" in seed.notes[0]


def test_pictures():
    answer = ts.schedule(PROBLEM, tile=TILE)
    lines = text_gantt(answer, 100)
    assert max(map(len, lines)) <= 100
    assert [line.split()[0] for line in lines[:3]] == ["MTE2", "MTE2", "Cube"]
    assert "000000" in lines[2]
    root = ElementTree.fromstring(svg_gantt(answer))
    assert root.tag.endswith("svg")
    assert len(list(root.iter("{http://www.w3.org/2000/svg}rect"))) == 1 + 2 * 3 * 3
    nothing = answer.model_copy(update={"starts": {}, "ii": None})
    assert (text_gantt(nothing), svg_gantt(nothing)) == ([], "")


def test_png(tmp_path, capsys, monkeypatch):
    file = tmp_path / "gantt.png"
    assert run([*COMMAND, "--png", str(file)]) == 0
    assert file.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    assert run([*COMMAND, "--png", str(file)]) == 2
    assert "tilesearch[png]" in capsys.readouterr().err


def test_command(capsys, tmp_path):
    assert run([*COMMAND, "--format", "json", "--svg", str(tmp_path / "gantt.svg")]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert list(answer)[: len(KEYS)] == KEYS
    assert (answer["ii"], answer["latency"]) == (1800, 30220)
    assert (tmp_path / "gantt.svg").read_text().startswith("<svg")
    for style in ("table", "md", "csv"):
        assert run([*COMMAND, "--format", style]) == 0
        assert "gemm" in capsys.readouterr().out
    assert run([*COMMAND, "--svg", str(tmp_path / "no" / "such.svg")]) == 2
    assert "such.svg" in capsys.readouterr().err
    assert run(["schedule", "problems/gemm4096.toml", "--tile", "block_m=128"]) == 2
    assert "schedules are of Ascend devices" in capsys.readouterr().err


def test_what_does_not_fit_has_no_schedule(capsys):
    huge = TILE.replace("block_k=128", "block_k=1024")
    assert ts.schedule(PROBLEM, tile=huge).status == "infeasible"
    assert run([*COMMAND[:2], "--tile", huge]) == 1
    assert "no schedule: proved" in capsys.readouterr().out
    capsys.readouterr()
    assert run([*COMMAND[:2], "--tile", TILE.replace("block_n=224,block_k=128", "block_n=64,block_k=256")]) == 1
    assert "C1.l0a is broken: 256 * 256 * 2 = 131072 B > 65536 B" in capsys.readouterr().out
    askew = ts.schedule(PROBLEM, tile=TILE.replace("block_n=224", "block_n=200"))
    assert (askew.status, askew.starts) == ("infeasible", {})
    assert any(note.startswith("C3.align_l1 is broken: 200 * 2 = 400 B") for note in askew.notes)
    sides = ",".join(f"block_{name}={2**31 - 1}" for name in "mnk")
    assert ts.schedule(PROBLEM, tile=sides).status == "infeasible"
    with pytest.raises(InputError, match="no such variable"):
        ts.schedule(PROBLEM, tile=TILE + ",num_warps=4")


def test_as_many_versions_as_event_ids_and_as_fit():
    many = TILE.replace("stages=2", "stages=100")
    answer = ts.schedule(PROBLEM, tile=many)
    assert (answer.ii, answer.status) == (1800, "optimal")
    assert answer.notes == ["num_stages 100: the schedule has 8 versions at most, one an event id"]
    assert ts.schedule(PROBLEM, tile=many, rules={"off": ["C4.event_ids"]}).notes == []


def test_rules_that_only_filter_do_not_stop_a_schedule():
    answer = ts.schedule(PROBLEM, tile=TILE.replace("block_n=224", "block_n=64"))
    assert (answer.status, answer.binding) == ("optimal", "MTE2")
    assert answer.notes == ["II.cube_covers_mte2 is broken: 512 cycles < 820 cycles"]


def test_one_task_that_fills_its_pipe_needs_no_search_to_explain():
    softmax = ts.Reduction(shape=[32768, 4096], axes=[1], function="softmax", dtype="bf16")
    answer = ts.schedule(softmax, "ascend950", {"block_m": 8, "num_stages": 2})
    assert answer.critical_cycle.text == "load x on MTE2 = 656 < vector 3336: Vector binds"
    assert not answer.critical_cycle.order_matters


def test_the_starts_of_the_shipped_scheduler_replay():
    context = context_of(PROBLEM)
    geometry = Geometry(context.program, frozenset(tile_variables(context.program)))
    tile = {"block_m": 256, "block_n": 224, "block_k": 128, "num_stages": 2}
    tiled = Tiled(kernel_of(context, geometry), tile, {"L1": 524288})
    body = tiled.body()
    found = schedule_loop(body)
    shipped = replace(found, starts=(954, 0, 1800))
    for starts, whole in ((found, (30220, 33909)), (shipped, (30600, 34289))):
        assert violations(body, 1800, starts.starts, (2, 2)) == []
        loop = tiled.tiles(body, starts)
        assert (body.latency(1800, starts.starts, tiled.trips), schedule_loop(loop).iteration) == whole
