"""shard: what each rank multiplies, messages, refusals, strength and reasons."""

import pytest

import tilesearch as ts
from tilesearch.api.shard import chunk_rows

OP = ts.Gemm(m=4096, n=8192, k=8192, dtype="fp16")


def test_row_split():
    answer = ts.shard(OP, "h200", ranks=2, split="row", chunks=2)
    assert (answer.local.op["m"], answer.local.op["n"], answer.local.op["k"]) == (4096, 8192, 4096)
    assert (answer.collective.op, answer.collective.message_bytes) == ("all_reduce", 4096 * 8192 * 2)
    assert [o.chunks for o in answer.options] == [1, 2]
    assert answer.sequential_us == answer.options[0].total_us
    assert answer.strength == "calibrated"
    for option in answer.options:
        assert option.low_us < option.total_us < option.high_us
    assert answer.local.low_us < answer.local.time_us < answer.local.high_us
    local = ts.solve(
        ts.Gemm(m=4096, n=8192, k=4096, dtype="fp16"), "h200", kernel={"language": "triton", "variant": "tma"}
    )
    assert answer.local.time_us == local.best.metrics.time_us


def test_column_split_gathers_the_rows_of_a():
    answer = ts.shard(OP, "h200", ranks=4, split="column", chunks=[2])
    assert (answer.local.op["m"], answer.local.op["n"], answer.local.op["k"]) == (4096, 2048, 8192)
    assert (answer.collective.op, answer.collective.message_bytes) == ("all_gather", 1024 * 8192 * 2)
    assert answer.strength == "not validated"
    assert any("not validated" in note for note in answer.notes)


def test_reduce_scatter_moves_half_of_all_reduce():
    reduce = ts.shard(OP, "h200", chunks=1)
    scatter = ts.shard(OP, "h200", collective="reduce-scatter", chunks=1)
    assert scatter.collective.wire_bytes * 2 == reduce.collective.wire_bytes
    assert scatter.sequential_us < reduce.sequential_us


def test_the_launch_floor_is_the_reason_where_products_are_small():
    answer = ts.shard(ts.Gemm(m=64, n=8192, k=28672, dtype="fp16"), "h200", chunks=2)
    chunked = answer.options[1]
    assert (chunked.verdict, chunked.limit) == ("does not pay", "launch floor")
    assert "2 launches more take the host 74 us" in chunked.reason
    assert answer.best.chunks == 1
    assert answer.collective.message_bytes == 64 * 8192 * 2
    assert answer.collective.floored


def test_overlap_pays_where_launches_are_cheap_and_nothing_is_shared(tmp_path):
    """The verdict follows the device's file: the same product on a link without these costs."""
    file = tmp_path / "cheap.toml"
    own = 'source = "made up"'
    names = ("launch_floor", "start", "enqueue", "handover")
    costs = "\n".join(f'{name} = {{ value = 1e-9, unit = "s", {own} }}' for name in names)
    file.write_text(
        f'name = "cheap"\ninherits = "h200"\nvendor = "nvidia"\n[link]\n'
        f'bandwidth = {{ value = 450e9, unit = "B/s", {own} }}\ndomain = 8\n{costs}\noverlap_progress = 1.0\n'
        f"[link.shares]\nall_reduce = 0.8\nall_gather = 0.8\nreduce_scatter = 0.8\nbroadcast = 0.8\n"
        f'[link.protocols.simple]\nstep_latency = {{ value = 1e-6, unit = "s", {own} }}\nshare = 1.0\n'
    )
    answer = ts.shard(OP, file, chunks=[4])
    assert answer.best.chunks == 4
    assert answer.best.verdict == "pays"


def test_extents_that_do_not_divide_are_rounded_up_and_said():
    answer = ts.shard(ts.Gemm(m=512, n=512, k=1000, dtype="fp16"), "h200", ranks=3, chunks=1)
    assert answer.local.op["k"] == 334
    assert any("3 does not divide K = 1000" in note for note in answer.notes)


def test_chunks_are_as_even_as_rows_allow():
    assert chunk_rows(10, 4) == [3, 3, 2, 2]
    assert chunk_rows(8, 1) == [8]
    answer = ts.shard(ts.Gemm(m=3, n=512, k=512, dtype="fp16"), "h200")
    assert [o.chunks for o in answer.options] == [1, 2]


def test_what_follows_the_collective_is_left_out():
    op = ts.Gemm(m=512, n=512, k=512, dtype="fp16", bias=True, activation="gelu")
    answer = ts.shard(op, "h200", chunks=1)
    assert answer.local.op["bias"] is False
    assert any("behind the collective" in note for note in answer.notes)
    assert ts.shard(op, "h200", split="column", chunks=1).local.op["bias"] is True


def test_a_device_that_nobody_measured_is_datasheet_only():
    answer = ts.shard(OP, "a100_80gb", chunks=1)
    assert answer.strength == "datasheet only"
    assert any("link: datasheet only" in note for note in answer.notes)
    assert answer.local.sustained_us is None
    assert answer.options[0].low_us == pytest.approx(0.6 * answer.sequential_us)


def test_a_language_with_a_time_model_is_kept():
    answer = ts.shard(OP, "h200", kernel="tilelang", chunks=1)
    assert answer.local.kernel == "tilelang"
    assert ts.shard(OP, "h200", chunks=1).local.kernel == "triton"


@pytest.mark.parametrize(
    ("changes", "where", "said"),
    [
        ({"ranks": 16}, "ranks", "more than the 8"),
        ({"ranks": 1}, "ranks", "at least 2"),
        ({"split": "diagonal"}, "split", "unknown split"),
        ({"split": "column", "collective": "all-reduce"}, "collective", "does not complete a column split"),
        ({"collective": "broadcast"}, "collective", "does not complete a row split"),
        ({"chunks": 0}, "chunks", "got 0"),
        ({"chunks": [2, 65]}, "chunks", "got 65"),
        ({"device": "rtx4090"}, "device", "[link]"),
        ({"device": "mi300x"}, "device", "NVIDIA"),
        ({"op": ts.Attention(heads=8, q_len=128, head_dim=64, dtype="fp16")}, "op.kind", "only a gemm"),
        ({"op": ts.Gemm(m=64, n=64, k=2, dtype="fp16"), "ranks": 4}, "ranks", "k = 2 cannot be split over 4"),
    ],
)
def test_refusals(changes, where, said):
    given = {"op": OP, "device": "h200", **changes}
    with pytest.raises(ts.InputError) as refused:
        ts.shard(given.pop("op"), given.pop("device"), **given)
    assert [issue.where for issue in refused.value.issues] == [where]
    assert said in str(refused.value)
