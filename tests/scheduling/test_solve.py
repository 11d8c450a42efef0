"""The official example, the engines against one another, and what an answer says of itself."""

from dataclasses import replace

import pytest

from tests.scheduling.problems import official, random_loop
from tilesearch.errors import InputError
from tilesearch.scheduling import Edge, Exclusion, Line, Loop, Task, schedule_line, schedule_loop
from tilesearch.scheduling.check import line_violations, violations
from tilesearch.scheduling.explain import explain
from tilesearch.scheduling.probe import Budget


def test_the_official_example():
    loop = official()
    found = schedule_loop(loop)
    assert (found.ii, found.status, found.versions) == (1800, "optimal", (2, 2))
    assert (found.iteration, found.iteration_status) == (3220, "optimal")
    assert found.bytes == 2 * (65536 + 57344)
    assert loop.latency(found.ii, found.starts, 16) == 30220
    shipped = (954, 0, 1800)
    assert violations(loop, 1800, shipped, (2, 2)) == []
    assert loop.latency(1800, shipped, 16) == 30600
    assert "gemm -> gemm at distance 1: 1799 cycles, 1800 are needed" in violations(loop, 1799, shipped, (2, 2))
    assert explain(loop, found).text == "copy A + copy B on MTE2 = 1230 < gemm 1800: Cube binds"
    assert explain(loop, found).binding == "Cube"


def test_one_version_waits_for_the_buffer():
    found = schedule_loop(official(stages=1))
    assert found.ii == 3220
    assert found.versions == (1, 1)
    assert explain(official(stages=1), found).binding.startswith("buffer")


@pytest.mark.parametrize("seed", range(60))
def test_engines_agree(seed):
    loop = random_loop(seed)
    answers = []
    for engine in ("search", "z3"):
        try:
            found = schedule_loop(loop, engine=engine)
        except InputError as error:
            answers.append(str(error))
            continue
        assert not found.starts or violations(loop, found.ii, found.starts, found.versions) == []
        answers.append((found.status, found.ii, found.iteration, found.iteration_status, found.bytes))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("seed", range(100, 108))
def test_cpsat_agrees(seed):
    loop = random_loop(seed)
    ours, theirs = (schedule_loop(loop, engine=e, goal="period") for e in ("search", "cpsat"))
    assert (ours.status, ours.ii) == (theirs.status, theirs.ii)


@pytest.mark.parametrize("engine", ["search", "cpsat", "z3"])
def test_every_engine_solves_the_official_example(engine):
    found = schedule_loop(official(), engine=engine)
    assert (found.ii, found.iteration, found.versions, found.status) == (1800, 3220, (2, 2), "optimal")
    assert set(found.engines) == {engine}


def test_a_spent_budget_is_unknown_and_never_a_fallback():
    loop = official()
    found = schedule_loop(loop, engine="search", budget=Budget(nodes=1))
    assert found.status in ("optimal", "feasible", "unknown")
    nothing = schedule_loop(_tangled(), engine="search", budget=Budget(seconds=0, nodes=1))
    assert (nothing.status, nothing.starts, nothing.ii) == ("unknown", (), 0)
    assert nothing.lower >= nothing.bounds.best


def _tangled():
    """Three tasks in each other's way: the first earliest schedule is not valid."""
    tasks = tuple(Task(f"t{i}", 10, 10, frozenset({"V"})) for i in range(3))
    exclusions = tuple(Exclusion(i, j, 10, 10) for i in range(3) for j in range(i))
    return Loop(tasks, (Edge(0, 2, 15, 0), Edge(1, 2, 15, 0)), exclusions)


def test_what_has_no_schedule():
    loop = official()
    tiny = replace(loop, groups=(replace(loop.groups[0], capacity=1000),))
    assert schedule_loop(tiny).status == "infeasible"
    with pytest.raises(InputError, match="wait for one another within one iteration: copy A -> gemm"):
        schedule_loop(replace(loop, edges=(*loop.edges, Edge(2, 0, 1, 0))))
    with pytest.raises(InputError, match="there is no task 7"):
        replace(loop, edges=(Edge(0, 7, 1),))
    with pytest.raises(InputError, match="did you mean 'cpsat'"):
        schedule_loop(loop, engine="cpsatt")
    with pytest.raises(InputError, match="nothing to schedule"):
        Loop((), ())


def test_orders():
    loop = official()
    staged = replace(loop, stages=(0, 0, 1), pipe_order=((0, 1),))
    found = schedule_loop(staged)
    assert violations(staged, found.ii, found.starts, found.versions) == []
    assert [s // found.ii for s in found.starts] == [0, 0, 1]
    behind = replace(loop, stage_order=((2, 0),))
    held = schedule_loop(behind)
    assert held.starts[2] // held.ii <= held.starts[0] // held.ii
    assert violations(behind, held.ii, held.starts, held.versions) == []


def test_the_checker_finds_every_kind_of_fault():
    loop = replace(official(), offset=False, stage_order=((2, 0),), groups=official().groups)
    text = "\n".join(violations(loop, 1000, (0, 100, 2500), (3, 2)))
    for part in ("holds its pipe", "are needed", "overlap (MTE2)", "later stage", "3 versions"):
        assert part in text
    small = replace(loop, groups=(replace(loop.groups[0], capacity=100_000),))
    assert "L1: 122880 B > 100000 B" in violations(small, 4000, (0, 656, 1420), (1, 1))
    assert violations(loop, 1800, (0, 656), (2, 2)) == [
        "the schedule does not have one start a task and one count a buffer"
    ]
    assert violations(loop, 0, (0, 656, 1420), (2, 2)) != []
    assert any("before 0" in v for v in violations(loop, 1800, (-1, 656, 1420), (2, 2)))
    pair = Loop((Task("a", 1, 1, frozenset("V")), Task("b", 1, 1, frozenset("V"))), (), offset=False)
    assert violations(pair, 5, (0, 9), ()) == ["the tasks of V start 9 cycles apart, not less than 5"]


def test_lines():
    tasks = (Task("load", 10, 5), Task("load 2", 10, 5), Task("work", 7, 7))
    line = Line(tasks, (Edge(0, 2, 10), Edge(1, 2, 10)), (Exclusion(0, 1, 5, 5, "MTE2"),))
    found = schedule_line(line)
    assert (found.ii, found.status) == (22, "optimal")
    assert line_violations(line, found.starts) == []
    assert len(line_violations(line, (0, 1, 2))) == 3
    ordered = replace(line, order=((1, 0),))
    assert schedule_line(ordered).starts[1] <= schedule_line(ordered).starts[0]
    assert schedule_line(line, engine="z3").ii == 22


def test_what_is_too_large_is_named_with_its_bytes():
    loop = official()
    full = replace(loop, groups=(replace(loop.groups[0], name="L1", capacity=100_000),))
    found = schedule_loop(full)
    assert found.status == "infeasible"
    names = ", ".join(b.name for b in loop.buffers)
    assert found.notes == (f"L1: one version of {names} takes 122880 B > 100000 B",)


def test_an_unproved_period_is_not_explained_away():
    loop = official()
    best = schedule_loop(loop)
    slow = replace(best, status="feasible", ii=2000)
    assert violations(loop, 2000, slow.starts, slow.versions) == []
    why = explain(loop, slow)
    assert (why.binding, why.cycle.arcs, why.order_matters) == ("nothing", (), False)
    assert why.text == "2000 is the best period found; nothing in it forbids less"
