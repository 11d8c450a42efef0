"""Collectives and queues: what must hold whatever the constants are, and how near the H200's come."""

from dataclasses import replace
from pathlib import Path

import pytest

from tilesearch.api import verify
from tilesearch.models.time.link import COLLECTIVES, LinkConstants, link_of, pipelined, transfer, waited_for, wire_bytes
from tilesearch.models.time.link_fit import Call, fit_link
from tilesearch.models.time.overlap import Queue
from tilesearch.specs.devices import load_device

DATA = Path(__file__).resolve().parents[2] / "data"
MB = 10**6
LINK = link_of(load_device("h200"))
assert isinstance(LINK, LinkConstants)

# Costs nothing but the work itself.
FREE = replace(LINK, launch_floor=0.0, start=0.0, enqueue=0.0, handover=0.0, overlap_progress=1.0)


@pytest.mark.parametrize(
    ("op", "ranks", "factor"),
    [
        ("all_reduce", 2, 1),
        ("all_reduce", 8, 1.75),
        ("reduce_scatter", 2, 0.5),
        ("reduce_scatter", 4, 0.75),
        ("all_gather", 2, 1),
        ("all_gather", 4, 3),
        ("broadcast", 8, 1),
    ],
)
def test_what_the_busiest_link_carries(op, ranks, factor):
    assert wire_bytes(op, 1000, ranks) == 1000 * factor


@pytest.mark.parametrize("op", COLLECTIVES)
def test_longer_messages_take_longer_and_approach_the_bandwidth(op):
    times = [transfer(op, 1 << power, 2, LINK) for power in range(10, 36)]
    assert [t.device_us for t in times] == sorted(t.device_us for t in times)
    assert [t.single_us for t in times] == sorted(t.single_us for t in times)
    rate = times[-1].wire_bytes / times[-1].device_us
    assert 0.95 < rate / (LINK.bandwidth * LINK.shares[op]) <= 1
    assert times[-1].protocol == "simple"
    assert times[0].protocol == "ll"


@pytest.mark.parametrize("op", COLLECTIVES)
def test_small_messages_show_the_one_floor(op):
    small = transfer(op, 1024, 2, LINK)
    assert small.floored
    assert small.single_us == LINK.launch_floor == waited_for(0.0, LINK)
    assert not transfer(op, 1 << 28, 2, LINK).floored


def test_more_ranks_take_longer():
    for op in COLLECTIVES:
        times = [transfer(op, 64 * MB, ranks, LINK).device_us for ranks in range(2, 9)]
        assert times == sorted(times)


@pytest.mark.parametrize("op", COLLECTIVES)
@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_the_pipeline_is_at_its_best(op, ranks):
    steps = ranks - 1 if op != "all_reduce" else 2 * (ranks - 1)
    fill, least = (steps, 1) if op == "broadcast" else (1, steps)
    for bytes_us in (0.1, 10.0, 1000.0):
        tried = [(fill + k) * (2.0 + bytes_us / k) for k in range(least, 400)]
        assert pipelined(op, ranks, bytes_us, 2.0) <= min(tried) * (1 + 1e-9)
        assert pipelined(op, ranks, bytes_us, 2.0) >= 0.9 * min(tried)


@pytest.mark.parametrize("first", ["gemm", "collective"])
def test_a_queue_without_costs(first):
    assert Queue([100.0], [60.0], first, FREE).total_us == 160
    assert Queue([50.0, 50.0], [30.0, 30.0], first, FREE).total_us == 130
    assert Queue([25.0] * 4, [40.0] * 4, first, FREE).total_us == 185


def test_launches_hold_up_short_kernels():
    link = replace(FREE, enqueue=40.0)
    queue = Queue([1.0] * 4, [1.0] * 4, "gemm", link)
    assert queue.total_us == 7 * 40 + 1
    assert queue.issue_us == 8 * 40
    assert queue.losses()["launches"] == pytest.approx(queue.total_us - 5)


def test_a_product_beside_a_collective_is_slower():
    link = replace(FREE, overlap_progress=0.25)
    # The second product makes 10 of its 50 us beside the first collective's 40 us.
    queue = Queue([50.0, 50.0], [40.0, 40.0], "gemm", link)
    assert queue.total_us == 50 + 40 + 40 + 40
    assert queue.losses()["contention"] == pytest.approx(30)
    assert Queue([50.0, 50.0], [40.0, 40.0], "gemm", replace(link, overlap_progress=1.0)).total_us == 140


@pytest.mark.parametrize("progress", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("first", ["gemm", "collective"])
def test_a_queue_is_never_shorter_than_its_parts(first, progress):
    link = replace(LINK, overlap_progress=progress)
    for count in (1, 2, 8):
        queue = Queue([200.0 / count] * count, [300.0 / count] * count, first, link)
        assert queue.total_us >= 300 + link.start
        collectives, gemms = queue.spans()
        spans = zip(gemms, collectives, strict=True)
        for gemm, collective in spans:
            before, after = (gemm, collective) if first == "gemm" else (collective, gemm)
            assert after.start >= before.end + link.handover


def test_the_floor_holds_for_a_queue():
    assert Queue([0.1], [0.1], "gemm", LINK).total_us == LINK.launch_floor


def test_a_fit_finds_what_made_the_calls():
    made = replace(LINK, launch_floor=50.0, enqueue=30.0, start=12.0, shares=dict.fromkeys(COLLECTIVES, 0.7))
    calls = []
    for op in COLLECTIVES:
        for power in range(10, 31):
            moved = transfer(op, 1 << power, 2, made)
            calls.append(Call(op, 1 << power, moved.single_us, max(made.enqueue, moved.device_us)))
    found = fit_link(calls, 2, LINK)
    assert (found.launch_floor, found.enqueue) == (50, 30)
    assert found.start == pytest.approx(12)
    assert found.shares == pytest.approx(made.shares, abs=2e-3)


def test_which_devices_have_a_link():
    assert LINK.strength == "calibrated"
    for name in ("h100_sxm", "a100_40gb", "a100_80gb", "h20", "b200"):
        link = link_of(load_device(name))
        assert isinstance(link, LinkConstants)
        assert link.strength == "datasheet only"
        assert link.bandwidth == load_device(name).interconnect.value / 2e6
    for name in ("rtx4090", "l40s", "h100_pcie"):
        assert "[link]" in link_of(load_device(name))
    assert "NVIDIA" in link_of(load_device("mi300x"))


def test_the_files_constants_are_those_of_the_fit():
    """The numbers in the device file are what the fit finds; rounding apart."""
    from tilesearch.api.verify.collectives.judge import Judge
    from tilesearch.api.verify.collectives.rows import read_run

    run = read_run(DATA / "collectives.json")
    fitted = fit_link(run.calls, run.ranks, LINK)
    assert fitted.shares == pytest.approx(LINK.shares, abs=2e-3)
    assert fitted.launch_floor == pytest.approx(LINK.launch_floor, rel=0.01)
    assert fitted.enqueue == pytest.approx(LINK.enqueue, rel=0.01)
    assert fitted.start == pytest.approx(LINK.start, rel=0.01)
    whole = Judge(run, LINK).without_product(None)
    assert whole.handover == pytest.approx(LINK.handover, abs=1)
    assert whole.overlap_progress == pytest.approx(LINK.overlap_progress, abs=0.015)


def test_verify_collectives_meets_its_bounds():
    """Issue 5: large ones within 15 % each, smaller ones within 20 % in the median, overlap judged."""
    answer = verify("collectives", [DATA / "collectives.json"])
    assert answer.disagree == []
    stats = answer.stats
    large, small = stats["collectives of 16 MiB and more"], stats["smaller collectives"]
    wide, narrow = stats["products in sequence, M >= 1024"], stats["smaller products in sequence"]
    assert (large["rows"], small["rows"], wide["rows"], narrow["rows"]) == (20, 36, 8, 4)
    assert large["worst"] <= 0.15
    assert large["left out"]["worst"] <= 0.15
    assert small["median"] <= 0.20
    assert small["left out"]["median"] <= 0.20
    assert wide["worst"] <= 0.15
    assert narrow["median"] <= 0.20
    assert narrow["left out"]["median"] <= 0.20
    assert stats["products in 2 chunks, M >= 4096"]["left out"]["worst"] <= 0.15
    overlap, below = stats["overlap in 2 chunks, M >= 4096"], stats["overlap in 2 chunks, below"]
    assert overlap["verdict"] == overlap["rows"] == 3
    assert below["verdict"] == below["launch floor named"] == below["rows"] == 3
