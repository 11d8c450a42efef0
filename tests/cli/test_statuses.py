"""Exit statuses, and what happens when a command is stopped or cannot print."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from tilesearch.answers import VerifyAnswer
from tilesearch.engines.vector import VectorEngine

TILE = "block_m=128,block_n=128,block_k=64,num_stages=3"
TOO_BIG = "block_m=256,block_n=256,block_k=64,num_stages=4"

UNKNOWN = 'name = "card"\ninherits = "h200"\nmax_grid = "unknown"\n'


def test_solve(cli, problem):
    assert cli("solve", problem()).status == 0
    assert cli("solve", problem(), "--rule", "block_m > 9999").status == 1


def test_check(cli, problem):
    assert cli("check", problem(), "--tile", TILE).status == 0
    assert cli("check", problem(), "--tile", TOO_BIG).status == 1


def test_explain(cli, problem):
    assert cli("explain", problem()).status == 0
    assert cli("explain", problem(), "--rule", "block_m > 9999").status == 1


def test_unknown_limit(cli, problem, tmp_path):
    (tmp_path / "card.toml").write_text(UNKNOWN)
    checked = cli("check", problem(), "--tile", TILE, "--device", "card.toml")
    assert checked.status == 3
    assert "cannot be judged" in checked.out
    assert "C4.grid" in checked.out
    solved = cli("solve", problem(), "--device", "card.toml")
    assert solved.status == 3
    assert "undecided" in solved.out


@pytest.mark.parametrize("name", ["gemm4096", "split_skinny_gemm"])
@pytest.mark.parametrize("command", ["design", "fuse"])
def test_a_time_limit_that_cuts_the_search_short(cli, command, name):
    done = cli(command, name, "--time-limit", "1e-9")
    assert done.status == 3
    assert "stopped by the time limit" in done.out
    assert "1 tile(s) share" not in done.out
    if command == "design":
        assert json.loads(cli(command, name, "--time-limit", "1e-9", "--format", "json").out)["complete"] is False
        assert done.out.count("how many tiles share the best") == 3
    assert cli(command, name).status == 0


def test_devices(cli):
    assert cli("devices").status == 0
    assert cli("devices", "show", "H200").status == 0
    assert cli("devices", "diff", "h200", "h200").out == "h200 and h200 do not differ\n"
    assert cli("devices", "show", "h201").status == 2


@pytest.mark.parametrize(("disagree", "status"), [([], 0), ([{"row": 3, "expected": 1, "got": 2}], 1)])
def test_verify(cli, monkeypatch, disagree, status):
    answer = VerifyAnswer(kind="occupancy", rows=4, agree=3, skipped=0, disagree=disagree, stats={"mape": 0.1})
    monkeypatch.setattr("tilesearch.api.verify", lambda kind, files, device: answer, raising=False)
    monkeypatch.setattr("tilesearch.api.VERIFY_KINDS", ("occupancy",), raising=False)
    done = cli("verify", "occupancy", "rows.json")
    assert done.status == status
    assert done.out.startswith("occupancy: 4 rows, 3 agree")
    assert "did you mean 'occupancy'?" in cli("verify", "ocupancy", "rows.json").err


def test_a_time_limit_with_nothing_settled(cli, problem, monkeypatch):
    def late(*_):
        raise TimeoutError("no answer before the deadline")

    monkeypatch.setattr(sys.modules["tilesearch.api.explain"], "find_conflict", late)
    done = cli("explain", problem())
    assert (done.status, done.out) == (3, "")
    assert done.err == "error: no answer before the deadline\n"


def test_ctrl_c_gives_the_partial_answer(cli, problem, monkeypatch):
    enumerate_all = VectorEngine.enumerate

    def interrupted(engine, request):
        os.kill(os.getpid(), signal.SIGINT)
        while not request.deadline.interrupted:
            time.sleep(0.001)
        return enumerate_all(engine, request)

    monkeypatch.setattr(VectorEngine, "enumerate", interrupted)
    done = cli("solve", problem())
    assert done.status == 3
    assert "partial: stopped by a limit" in done.out
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_ctrl_c_ends_the_program(cli, problem, monkeypatch):
    def stubborn(*_):
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
        raise AssertionError("not reached")

    monkeypatch.setattr(VectorEngine, "enumerate", stubborn)
    done = cli("solve", problem())
    assert (done.status, done.out, done.err) == (130, "", "")


def test_ctrl_c_elsewhere(cli, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("tilesearch.api.devices.devices", stopped)
    assert cli("devices").status == 130


def test_a_search_in_another_thread_runs(cli, problem):
    name, statuses = problem(), []
    thread = threading.Thread(target=lambda: statuses.append(cli("solve", name).status))
    thread.start()
    thread.join()
    assert statuses == [0]


def test_a_bug_is_shown_as_one(cli, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("tilesearch.api.devices.devices", broken)
    done = cli("devices")
    assert done.status == 70
    assert "ZeroDivisionError: oops" in done.err
    assert "this is a bug in tilesearch" in done.err


def _start(stdout, *arguments, **environment):
    command = [sys.executable, "-m", "tilesearch", *arguments]
    return subprocess.run(
        command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False, env={**os.environ, **environment}
    )


def test_a_broken_pipe_is_quiet():
    read, write = os.pipe()
    os.close(read)
    done = _start(write, "devices", "show", "t4")
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_said():
    with open("/dev/full", "w") as full:
        done = _start(full, "devices", "list")
    assert done.returncode == 2
    assert done.stderr.startswith("error: stdout cannot be written")
    assert "Traceback" not in done.stderr


def test_the_same_on_a_terminal_and_piped():
    pty = pytest.importorskip("pty")
    arguments = ("check", "gemm4096", "--tile", TOO_BIG)
    plain = {"COLUMNS": "100", "TERM": "dumb", "PYTHONIOENCODING": "utf-8"}
    piped = _start(subprocess.PIPE, *arguments, **plain)
    ours, theirs = pty.openpty()
    shown = _start(theirs, *arguments, **plain)
    os.close(theirs)
    text = b""
    try:
        while chunk := os.read(ours, 65536):
            text += chunk
    except OSError:  # Linux ends a terminal's output so
        pass
    assert shown.returncode == piped.returncode == 1
    assert text.decode().replace("\r\n", "\n") == piped.stdout
    assert "\x1b" not in piped.stdout
