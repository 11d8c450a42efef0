"""The latency model against the compiled pass, and its modes."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from tilesearch.api.verify import verify
from tilesearch.errors import InputError, UnknownLimitError
from tilesearch.models.ascend import (
    LatencyModel,
    Loop,
    Node,
    Phase,
    Side,
    branch,
    count,
    loop,
    per_core,
    row_width,
    sequence,
)
from tilesearch.models.ascend.geometry import elements
from tilesearch.models.ascend.model import TaskCost, leaf
from tilesearch.specs.devices import load_device

DATA = Path(__file__).parents[2] / "data" / "ascend"
SHIPPED = LatencyModel(load_device("ascend950"), "shipped")
INTENDED = LatencyModel(load_device("ascend950"), "intended")
SEED = LatencyModel(load_device("ascend950"), "seed")


def test_every_recorded_task_agrees_to_the_cycle():
    answer = verify("ascend-tasks", [DATA / "task_costs.json.gz"])
    assert (answer.rows, answer.agree, answer.skipped, answer.disagree) == (1535, 1535, 0, [])
    assert len(answer.stats["families"]) == 26


def test_a_wrong_row_is_found(tmp_path):
    row = {"family": "gm_l1", "input": {"bytes": 65536}, "latency": 846, "ii": 655}
    path = tmp_path / "rows.json"
    path.write_text(json.dumps({"cases": {"gm_l1": [row], "warp": [{**row, "family": "warp"}]}}))
    answer = verify("ascend-tasks", [path])
    assert (answer.agree, answer.skipped) == (0, 1)
    assert answer.disagree[0].got == {"ii": 656}
    path.write_text(json.dumps({"cases": {"gm_l1": [{**row, "input": {}}]}}))
    with pytest.raises(InputError, match=r"input\.bytes"):
        verify("ascend-tasks", [path])
    path.write_text(
        json.dumps({"cases": {"l1_l0": [{**row, "id": "odd", "family": "l1_l0", "input": {"bytes": 64, "dst": "l9"}}]}})
    )
    with pytest.raises(InputError, match="odd: ascend950 has no path 'l1_l9'"):
        verify("ascend-tasks", [path])


@pytest.mark.parametrize(
    ("cost", "expected"),
    [
        (SHIPPED.copy("gm_l1", 256 * 128 * 2), (846, 656)),
        (SHIPPED.copy("gm_l1", 224 * 128 * 2), (764, 574)),
        (SHIPPED.cube("bf16", 256, 224, 128, in_l1=True), (1800, 1792)),
        (SHIPPED.copy("l0c_ub_dual", 128 * 224 * 4, 224 * 4), (951, 898)),
        (SHIPPED.vector([("minmax", 128 * 224)], read_bytes=128 * 224 * 4), (563, 563)),
        (SHIPPED.copy("ub_gm", 128 * 224 * 4, 224 * 4), (2175, 1995)),
    ],
)
def test_the_official_example(cost, expected):
    assert (cost.latency, cost.interval) == expected


def test_intended_charges_operands_in_l1_to_mte1():
    assert INTENDED.operand_load("bf16", 256, 224, 128) == 259 + 227
    cost = INTENDED.cube("bf16", 256, 224, 128, in_l1=True)
    assert (cost.latency, cost.interval, cost.pipes) == (1800, 1792, frozenset(("M", "MTE1")))
    flat = INTENDED.cube("bf16", 16, 512, 16, in_l1=True)
    assert flat.interval == 3 + 2 + 3 + 64 > SHIPPED.cube("bf16", 16, 512, 16, in_l1=True).interval


def test_intended_counts_special_functions():
    work = {"operations": [("special", 8192)], "read_bytes": 32768}
    assert SHIPPED.vector(**work).latency == 128
    assert INTENDED.vector(**work).latency == 1024
    five = [("sub", 8192), ("mul", 8192), ("special", 8192), ("minmax", 8192), ("mul", 8192)]
    assert (SHIPPED.vector(five).latency, INTENDED.vector(five).latency) == (645, 1668)


def test_seed_does_not_round():
    assert SEED.copy("gm_l1", 122880).interval == Fraction(122880, 100)
    assert SEED.operand_load("bf16", 256, 224, 128) == 256
    five = [("mul", 8192)] * 4
    in_l1 = SEED.cube("bf16", 256, 224, 128, in_l1=True)
    assert (in_l1.interval, in_l1.latency, in_l1.pipes) == (1792, 1800, frozenset(("M", "MTE1")))
    flat = SEED.cube("bf16", 16, 512, 16, in_l1=True)
    assert flat.interval == 512 * 16 * 2 // 256
    assert round(SEED.vector([*five, ("mul", 8192)]).latency) == 803
    assert SEED.vector([*five, ("special", 8192)]).latency == Fraction(4 * 8192, 51) + 1024
    assert SEED.cube("bf16", 256, 200, 128).interval == SEED.cube("bf16", 256, 208, 128).interval


def test_what_is_not_known_is_said():
    older = LatencyModel(load_device("ascend910b1"))
    with pytest.raises(UnknownLimitError, match="ascend910b1: the latency of the path gm_l1 is not known"):
        older.copy("gm_l1", 4096)
    with pytest.raises(UnknownLimitError, match="Cube for bf16"):
        older.cube("bf16", 16, 16, 16)
    with pytest.raises(UnknownLimitError, match="Vector"):
        older.vector([("add", 1)])
    with pytest.raises(UnknownLimitError, match="has no path 'l0c_ub'"):
        older.copy("l0c_ub", 4096)
    with pytest.raises(InputError, match="no Cube rate for fp64"):
        SHIPPED.cube("fp64", 16, 16, 16)
    with pytest.raises(InputError, match="h200 is nvidia"):
        LatencyModel(load_device("h200"))


def test_a_leaf_adds_memory_and_compute():
    a, b = SHIPPED.copy("gm_l1", 16384), SHIPPED.copy("gm_l1", 32768)
    product = SHIPPED.cube("bf16", 128, 256, 64)
    both = leaf([("gm_l1", a), ("gm_l1", b)], [product])
    assert (both.latency, both.interval) == (354 + 518 + 520, 512)
    assert leaf([("gm_l1", a), ("gm_l1", b)]).interval == 164 + 328
    assert leaf([("gm_l1", a), ("gm_ub", b)]).interval == 328
    assert leaf(products=[product, product]).latency == 512 + 512 + 8
    assert leaf(scalar=True) == TaskCost(1, 1, frozenset("S"))


def test_composition():
    assert sequence([(354, 164), (518, 328)]) == (682, 492)
    assert loop((211, 64), 5) == (467, 320)
    assert loop((10, 2), SHIPPED.trips()) == (99 * 2 + 10, 200)
    assert branch([(5, 9), (7, 3)]) == (7, 9)
    assert per_core([Phase(((10, 4), (12, 3)))]) == (12, 4)
    assert per_core([Phase(((10, 4),)), Phase(((6, 2),))], repeats=3) == (48, 48)


def test_operations_run_as_often_as_their_loops():
    loops = [Loop("i", 7), Loop("one", 1), Loop("j", None)]
    body = [Node("mul", frozenset("i")), Node("add", frozenset("j")), Node("div")]
    assert count(loops, body, SHIPPED.trips()) == [("mul", 7), ("add", 700), ("div", 1)]


@pytest.mark.parametrize(
    ("sides", "width"),
    [
        ([Side((64, 128), (128, 1)), Side((64, 128), (128, 1))], None),
        ([Side((64, 128), (512, 1)), Side((64, 128), (128, 1))], 512),
        ([Side((64, 128), (512, 1)), Side((64, 128), (96, 1))], 512),
        ([Side((1, 128), (512, 1)), Side((1, 128), (128, 1))], None),
        ([Side((64, 1), (512, 1)), Side((64, 1), (1, 1))], 4),
        ([Side((None, 128), (128, 1)), Side((None, 128), (128, 1))], None),
        ([Side((64, None), (512, 1)), Side((64, 128), (128, 1))], 0),
        ([Side((2, 32, 128), (65536, 512, 1)), Side((64, 128), (128, 1))], 0),
    ],
)
def test_geometry(sides, width):
    assert row_width(sides, 32) == width


def test_elements_of_a_region():
    assert elements([64, None, None], [64, 32, None], [64, 16, 8]) == 64 * 16 * 8
    assert elements([None], [None], [None]) == 1
