"""Every recorded instance: at least as good as the best known, proved, and accepted by the checker."""

import json
from statistics import median
from time import process_time

import pytest

from tests.scheduling.problems import instances, problem
from tilesearch.api.verify import verify
from tilesearch.scheduling import schedule_line, schedule_loop
from tilesearch.scheduling.check import line_violations, violations

LOOPS = [i for i in instances() if i["kind"] == "loop"]
LINES = [i for i in instances() if i["kind"] == "line"]


@pytest.mark.parametrize("instance", LOOPS, ids=lambda i: i["id"])
def test_loops(instance):
    loop = problem(instance)
    found = schedule_loop(loop)
    assert found.ii <= instance["reference"]["best_II_known"]
    assert found.status == found.iteration_status == found.bytes_status == "optimal"
    assert violations(loop, found.ii, found.starts, found.versions) == []
    assert found.bounds.best <= found.ii
    if found.ii == instance["answer"]["II"]:
        assert found.iteration <= instance["answer"]["makespan_one_iteration"]


@pytest.mark.parametrize("instance", LINES, ids=lambda i: i["id"])
def test_lines(instance):
    line = problem(instance)
    found = schedule_line(line)
    assert found.ii == instance["reference"]["best_makespan_known"]
    assert found.status == "optimal"
    assert line_violations(line, found.starts) == []


@pytest.mark.parametrize("instance", LOOPS, ids=lambda i: i["id"])
def test_the_checker_accepts_the_recorded_schedules(instance):
    answer = instance["answer"]
    loop = problem(instance)
    assert violations(loop, answer["II"], answer["start_times"], answer["buffer_versions"]) == []
    assert loop.iteration(answer["start_times"]) == answer["makespan_one_iteration"]
    assert all(
        ours <= theirs
        for ours, theirs in zip(
            loop.versions(answer["II"], answer["start_times"]), answer["buffer_versions"], strict=True
        )
    )
    assert violations(loop, answer["II"] - 1, answer["start_times"], answer["buffer_versions"]) != [] or (
        answer["II"] > instance["reference"]["best_II_known"]
    )


def test_proofs_take_a_fraction_of_the_recorded_time():
    schedule_loop(problem(LOOPS[0]))  # imports
    ratios = []
    for instance in LOOPS:
        loop = problem(instance)
        begin = process_time()
        schedule_loop(loop, goal="period")
        ratios.append(instance["answer"]["solve_cpu_seconds"] / max(process_time() - begin, 1e-6))
    assert median(ratios) > 50


def test_verify(tmp_path):
    path = tmp_path / "schedules.json"
    path.write_text(json.dumps({"instances": instances()}))
    answer = verify("ascend-schedules", [path])
    assert (answer.rows, answer.agree, answer.disagree) == (54, 54, [])
    assert answer.stats["optimal"] == answer.stats["loops"] == 42
    better = {**instances()[4], "reference": {"best_II_known": 1, "status": "proved"}}
    path.write_text(json.dumps([better]))
    assert verify("ascend-schedules", [path]).disagree[0].expected["at most"] == 1
