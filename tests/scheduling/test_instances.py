"""Every recorded instance: at least as good as the best known, proved, and accepted by the checker."""

import json
from statistics import median
from time import process_time

import pytest

from tests.scheduling.problems import instances, problem
from tilesearch.api.verify import verify
from tilesearch.errors import InputError
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


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("buffer_sizes", [2**63], "buffer 0: 0 to 1099511627776 B are wanted"),
        ("data_deps", [[0, 0, 2**63, 1]], "a distance of 0 to 1024 iterations is wanted"),
        ("memory_groups", [[2**63, 0]], "memory 0: at most"),
        ("manual_stages", [2**63], "a stage from 0 to 1024 is wanted"),
        ("latencies", [2**63], "0 to 1099511627776 cycles are wanted"),
    ],
)
def test_numbers_that_pass_64_bits_are_refused(tmp_path, key, value, message):
    args = {"num_stages": 1, "latencies": [1], "iis": [1], "resource_flags": [1], "buffer_sizes": [1]}
    args |= {"manual_schedule": key == "manual_stages", key: value}
    path = tmp_path / "schedules.json"
    path.write_text(json.dumps({"instances": [{"kind": "loop", "id": "far", "args": args}]}))
    with pytest.raises(InputError, match=message):
        verify("ascend-schedules", [path])
