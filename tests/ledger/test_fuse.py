"""fuse: the seed's two split decisions to the digit, decisions of both kinds, the criteria, bad chains."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilesearch as ts
from tilesearch.cli.run import run
from tilesearch.ledger.cost import Cost, best_of, decisive
from tilesearch.ledger.fusion import Fusion, connect
from tilesearch.program import lower

CHAINS = {
    "chains/sincos": ("fuse", "bytes", False),
    "chains/gemm_gelu": ("fuse", "bytes", False),
    "chains/attention_1k": ("fuse", "bytes", False),
    "chains/attention_4k": ("split", "reuse", True),
    "chains/attention_64k": ("split", "onchip", True),
    "chains/gemm_softmax": ("split", "parallelism", True),
    "chains/mlp": ("split", "onchip", True),
    "split_skinny_gemm": ("split-K=8", "parallelism", True),
    "split_decode_attention": ("split-KV=64", "parallelism", True),
    "sum": ("split-N=128", "parallelism", True),
    "gemm4096": ("no split", "bytes", False),
}


def decide(name, **changes):
    return ts.fuse(ts.load_problem(name), **changes)


def options(answer):
    return {option.name: option for option in answer.options}


@pytest.mark.parametrize(("name", "expected"), CHAINS.items(), ids=CHAINS)
def test_decisions(name, expected):
    answer = decide(name)
    assert (answer.decision, answer.criterion, answer.moves_more) == expected
    assert [q.id for q in answer.questions] == ["bytes", "onchip", "grid", "work"]
    assert all(q.answer for q in answer.questions)
    assert answer.decision in options(answer)


def test_contract(capsys):
    assert run(["fuse", "chains/sincos", "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert list(answer)[:4] == ["decision", "criterion", "options", "questions"]
    assert list(answer["options"][0])[:6] == ["name", "bytes", "onchip_bytes", "grid", "waves", "new_work"]
    assert len(answer["questions"]) == 4


def test_skinny_product_to_the_digit():
    found = options(decide("split_skinny_gemm"))
    whole, parts = found["no split"], found["split-K=8"]
    assert (whole.bytes, whole.grid, parts.grid) == (4 * 1024**2, 64, 512)
    assert parts.bytes == whole.bytes + 2 * 8 * 4 * 1024**2  # 71.3 MB
    everything = options(ts.fuse(ts.load_problem("split_skinny_gemm"), count="all"))
    assert everything["no split"].bytes == 2 * 2 * 1024 * 16384 + 4 * 1024**2
    assert everything["split-K=8"].bytes - everything["no split"].bytes == parts.bytes - whole.bytes


def test_decode_attention_to_the_digit():
    found = options(decide("split_decode_attention"))
    whole, parts = found["no split"], found["split-KV=64"]
    assert (whole.grid, parts.grid) == (32, 2048)
    assert whole.bytes == 2 * 32 * 131072 * 128 * 2 + 2 * 32 * 128 * 2
    # Each part leaves its output and a log-sum-exp a row in fp32, written and read.
    assert parts.bytes - whole.bytes == 2 * 64 * 32 * (128 + 1) * 4


def test_what_fusing_saves_is_the_intermediate_twice():
    found = options(decide("chains/sincos"))
    assert found["split"].bytes - found["fuse"].bytes == 2 * 4096 * 4096 * 2
    found = options(decide("chains/attention_1k"))
    assert found["split"].bytes - found["fuse"].bytes == 2 * 2 * 128 * 1024 * 1024 * 2  # scores and probabilities


def test_what_stays_alive():
    found = options(decide("chains/mlp"))
    assert found["fuse"].onchip_bytes == 16 * 14336 * 2  # sixteen whole rows of the first product
    assert not found["fuse"].fits
    assert found["fuse"].bound_us is None
    found = options(decide("chains/gemm_softmax"))
    assert (found["fuse"].grid, found["fuse"].tile) == (4, {"units_per_block": 16})


def chain(**last):
    part = {"kind": "elementwise", "shape": [1024, 1024], "dtype": "fp32"}
    return ts.Chain(ops=({"name": "a", **part, **last}, {"name": "b", "input_from": "a.out", **part}))


def test_an_output_that_must_be_in_memory_is_still_written():
    free, kept = (options(ts.fuse(chain(output_in_memory=flag), "h200"))["fuse"] for flag in (False, True))
    assert kept.bytes - free.bytes == 4 * 1024**2


def test_an_output_in_memory_decides_only_where_its_write_does():
    part = {"kind": "elementwise", "shape": [1024, 1024], "dtype": "fp32", "arithmetic_per_element": 100_000}
    tables = [{"name": "a", "output_in_memory": True, **part}, {"name": "b", "input_from": "a.out", **part}]
    answer = ts.fuse(tables, "h200")  # arithmetic binds both versions alike: a tie, which fewer bytes win
    assert (answer.decision, answer.criterion) == ("fuse", "bytes")
    # 79 rows of 55000: as many blocks at most. Apart, the sum is split over all SMs.
    first = {"name": "a", "kind": "elementwise", "shape": [79, 55_000], "dtype": "fp32", "output_in_memory": True}
    last = {"name": "b", "input_from": "a.out", "kind": "reduction", "function": "sum", "shape": [79, 55_000],
            "dtype": "fp32"}  # fmt: skip
    answer = ts.fuse([first, last], "h200")
    assert (answer.decision, answer.criterion) == ("split", "numerics")
    assert ts.fuse([{**first, "output_in_memory": False}, last], "h200").decision == "fuse"


def test_a_tie_goes_to_fewer_bytes():
    tables = [
        {"name": "up", "kind": "gemm", "m": 4096, "n": 4096, "k": 65536, "dtype": "bf16"},
        {"name": "act", "input_from": "up.out", "kind": "elementwise", "shape": [4096, 4096], "dtype": "bf16"},
    ]
    answer = ts.fuse(tables, "h200")
    found = options(answer)
    assert found["split"].bound_us < 1.02 * found["fuse"].bound_us
    assert (answer.decision, answer.criterion) == ("fuse", "bytes")
    assert "tie" in answer.reason or found["split"].bound_us > 1.01 * found["fuse"].bound_us


def test_the_criterion_is_the_term_that_decided():
    # 128 blocks on 132 SMs: nearly all are at work, and read b 128 times.
    answer = ts.fuse(product_and_softmax(4096, 512, 8192, 1), "h200")
    assert (answer.decision, answer.criterion) == ("split", "reuse")
    for shape in ((4096, 512, 8192, 1), (64, 4096, 8192, 1), (16384, 256, 4096, 1), (1000, 1000, 512, 1)):
        # No bandwidth of L2 is known there: re-reads cannot decide.
        assert ts.fuse(product_and_softmax(*shape), "a100_80gb").criterion != "reuse"


def test_what_decides_is_tried_term_by_term():
    winner, loser = Cost(100, 10), Cost(150, 5)
    assert decisive(winner, loser, {"a": Cost(120, 5), "b": Cost(100.5, 5)}) == "b"  # a tie, which fewer bytes win
    assert decisive(winner, loser, {"a": Cost(120, 5), "b": Cost(150, 5)}) == "a"
    assert decisive(winner, loser, {"a": Cost(150, 5)}) is None
    assert best_of({"x": Cost(100, 9), "y": Cost(100.9, 8), "z": Cost(102, 1)}) == "y"


def test_phases_take_turns_where_one_block_is_resident():
    tables = [
        {"name": "up", "kind": "gemm", "m": 4096, "n": 4096, "k": 4096, "dtype": "bf16"},
        {"name": "act", "input_from": "up.out", "kind": "elementwise", "shape": [4096, 4096], "dtype": "bf16"},
    ]
    heavy = [tables[0], {**tables[1], "arithmetic_per_element": 400}]
    assert ts.fuse(tables, "h200").decision == "fuse"
    assert "phases" in options(ts.fuse(heavy, "h200"))["fuse"].new_work


def test_a_chain_over_flattened_shapes():
    tables = [
        {"name": "g", "kind": "gemm", "batch": 4, "m": 256, "n": 512, "k": 64},
        {"name": "s", "input_from": "g.out", "kind": "reduction", "function": "softmax", "shape": [1024, 512]},
        {"name": "e", "input_from": "s.out", "kind": "elementwise", "shape": [524288]},
    ]
    answer = ts.fuse(tables, "h200")
    assert options(answer)["fuse"].bytes == 4 * 64 * (256 + 512) * 2 + 4 * 256 * 512 * 2
    assert options(answer)["split"].launches == 3


def product_and_softmax(m, n, k, axis):
    return ts.Chain(
        ops=(
            {"name": "g", "kind": "gemm", "m": m, "n": n, "k": k, "dtype": "bf16"},
            {"name": "s", "input_from": "g.out", "kind": "reduction", "function": "softmax", "shape": [m, n],
             "axes": [axis], "dtype": "bf16"},
        )
    )  # fmt: skip


def joined(chain):
    return Fusion(connect([(x.name, lower(x.op), x.output_in_memory, x.source) for x in chain.ops]))


def test_what_is_read_again_follows_the_axis_that_is_reduced():
    # 256 blocks of 32 columns: each reads all of a, and its own columns of b.
    fusion = joined(product_and_softmax(128, 8192, 8192, 0))
    assert (fusion.units, fusion.cached(256)) == (8192, 256 * 128 * 8192 * 2 + 8192 * 8192 * 2 + 128 * 8192 * 2)
    assert fusion.cached(256) == 673_185_792


size = st.sampled_from([16, 48, 64, 200, 512, 1000, 4096])


@settings(max_examples=40, deadline=None)
@given(size, size, st.sampled_from([64, 1024, 8192]), st.integers(1, 300))
def test_a_chain_and_its_mirror_agree(m, n, k, grid):
    one, other = joined(product_and_softmax(m, n, k, 0)), joined(product_and_softmax(n, m, k, 1))
    assert one.units == other.units == n
    grid = min(grid, n)
    assert one.cached(grid) == other.cached(grid)
    assert [one.alive(units) for units in (1, 16)] == [other.alive(units) for units in (1, 16)]


def test_the_mirrored_product_is_decided_alike():
    one, other = (
        ts.fuse(product_and_softmax(512, 4096, 8192, 0), "h200"),
        ts.fuse(product_and_softmax(4096, 512, 8192, 1), "h200"),
    )
    assert (one.decision, one.criterion) == (other.decision, other.criterion)
    assert options(one)["fuse"] == options(other)["fuse"]


def test_a_reduction_on_each_side_leaves_one_unit():
    ops = product_and_softmax(64, 128, 256, 0).ops
    last = {"name": "t", "input_from": "s.out", "kind": "reduction", "function": "softmax", "shape": [64, 128],
            "axes": [1], "dtype": "bf16"}  # fmt: skip
    fusion = joined(ts.Chain(ops=(*ops, last)))
    assert fusion.units == 1
    assert not fusion.entrywise


def test_a_block_that_straddles_two_batches_reads_both():
    tables = (
        {"name": "g", "kind": "gemm", "batch": 2, "m": 96, "n": 64, "k": 32},
        {"name": "s", "input_from": "g.out", "kind": "reduction", "function": "softmax", "shape": [2, 96, 64]},
    )
    fusion = joined(ts.Chain(ops=tables))
    a, b, out = 2 * 96 * 32 * 2, 2 * 32 * 64 * 2, 2 * 96 * 64 * 2
    assert fusion.units == 192
    assert fusion.cached(3) == a + 2 * b + out  # blocks of 64 rows: the second reads b of both batches


def test_what_a_producer_must_have_whole_is_whole():
    tables = (
        {"name": "s", "kind": "reduction", "function": "softmax", "shape": [512, 1024]},
        {"name": "e", "input_from": "s.out", "kind": "elementwise", "shape": [512, 1024],
         "arithmetic_per_element": 400},
    )  # fmt: skip
    fusion = joined(ts.Chain(ops=tables))
    assert (fusion.units, fusion.entrywise) == (512, False)


def elementwise(name, shape, **more):
    return {"name": name, "kind": "elementwise", "shape": shape, "dtype": "fp16", **more}


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (
            elementwise("a", [512, 1024], out="fp32"),
            elementwise("b", [512, 1024], dtype="bf16"),
            "in bf16, and out0 is written in fp32",
        ),
        (elementwise("a", [512, 1024]), elementwise("b", [1024, 512]), "joins or cuts these axes"),
        (elementwise("a", [6, 4]), elementwise("b", [4, 6]), "joins or cuts these axes"),
        (elementwise("a", [4]), elementwise("b", [5]), "no input of 4 elements"),
    ],
)
def test_chains_that_do_not_type_check(first, second, words):
    with pytest.raises(ts.InputError, match=words):
        ts.fuse([first, {**second, "input_from": "a.out"}], "h200")


def test_a_reshape_is_named():
    answer = ts.fuse([elementwise("a", [4, 8, 5]), elementwise("b", [32, 5], input_from="a.out")], "h200")
    assert any("4 x 8 x 5 of a as 32 x 5" in note for note in answer.notes)
    answer = ts.fuse([elementwise("a", [4, 8, 5]), elementwise("b", [4, 8, 5], input_from="a.out")], "h200")
    assert not any("same order" in note for note in answer.notes)


def test_cuts_that_do_not_nest():
    tables = [
        elementwise("a", [6, 4]),
        elementwise("b", [24], input_from="a.out"),
        {"name": "c", "input_from": "b.out", "kind": "reduction", "function": "softmax", "shape": [4, 6]},
        elementwise("d", [4, 6], input_from="c.out"),
    ]
    rows = {"name": "a", "kind": "reduction", "function": "softmax", "shape": [6, 4]}
    with pytest.raises(ts.InputError, match="neither fits into the other"):
        ts.fuse([rows, *tables[1:]], "h200")


def test_the_tensor_that_is_named_is_the_one_that_crosses():
    tables = [
        {"name": "q", "kind": "rows", "tokens": 64, "heads": [8], "head_dim": 128, "steps": ["quant"], "dtype": "bf16"},
        elementwise("e", [64, 8], dtype="fp32", input_from="q.scale"),
    ]
    chain = ts.Chain(ops=tables)
    assert joined(chain).crossings[0].out.name == "scale"
    two = elementwise("a", [1024], outputs=2)
    chain = ts.Chain(ops=(two, elementwise("b", [1024], input_from="a.out1")))
    assert joined(chain).crossings[0].out.name == "out1"
    fused = options(ts.fuse(chain, "h200"))["fuse"]
    assert fused.output_bytes == 2 * 1024 * 2  # out0 is written all the same
    chain = ts.Chain(ops=(*chain.ops, elementwise("c", [1024], input_from="a.out0")))
    assert joined(chain).saved == 4 * 1024 * 2  # both outputs stay inside


def test_other_devices():
    found = {
        (name, device): ts.fuse(ts.load_problem(name, device=device))
        for name in ("chains/gemm_softmax", "split_decode_attention")
        for device in ("a100_80gb", "rtx4090")
    }
    # An RTX 4090 cannot hold 16 rows of logits (128 KB), an A100 can.
    assert {key: answer.criterion for key, answer in found.items()} == {
        ("chains/gemm_softmax", "a100_80gb"): "parallelism",
        ("chains/gemm_softmax", "rtx4090"): "onchip",
        ("split_decode_attention", "a100_80gb"): "parallelism",
        ("split_decode_attention", "rtx4090"): "parallelism",
    }
    assert any("no bandwidth of L2 is known" in n for n in found["split_decode_attention", "a100_80gb"].notes)


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ([{"name": "a", "kind": "elementwise", "shape": [4]}], "at least two"),
        ([{"name": "a", "kind": "nothing"}, {"name": "b", "kind": "gemm"}], "unknown operator kind"),
        (
            [
                {"name": "a", "kind": "elementwise", "shape": [4]},
                {"name": "b", "kind": "elementwise", "shape": [5], "input_from": "a.out"},
            ],
            "no input of 4 elements",
        ),
        (
            [
                {"name": "a", "kind": "elementwise", "shape": [4]},
                {"name": "b", "kind": "elementwise", "shape": [4], "input_from": "a.scale"},
            ],
            "writes no 'scale'",
        ),
        (
            [
                {"name": "a", "kind": "elementwise", "shape": [1, 8, 8, 16]},
                {"name": "c", "kind": "conv2d", "h": 8, "w": 8, "c_in": 16, "c_out": 16, "kh": 3, "kw": 3,
                 "input_from": "a.out"},
            ],
            "through a window",
        ),
    ],
)  # fmt: skip
def test_bad_chains(tables, words):
    with pytest.raises(ts.InputError, match=words):
        ts.fuse(tables, "h200")


@pytest.mark.parametrize("op", [[1], "abc", b"abc", [], [None, "a"]])
def test_what_is_no_chain_at_all(op):
    with pytest.raises(ts.InputError):
        ts.fuse(op, "h200")


def test_small_counts_are_shown_in_bytes():
    answer = ts.fuse([elementwise("a", [4]), elementwise("b", [4], input_from="a.out")], "h200")
    assert "saves 16 B of 32 B" in answer.questions[0].answer


def test_nothing_to_decide():
    with pytest.raises(ts.InputError, match="no reduction to split"):
        ts.fuse(ts.Elementwise(shape=(64,)), "h200")
    with pytest.raises(ts.InputError, match="question for `tilesearch fuse`"):
        ts.solve(ts.load_problem("chains/mlp"))
    with pytest.raises(ts.InputError, match="no criteria for amd"):
        ts.fuse(ts.load_problem("chains/mlp", device="mi300x"))


@pytest.mark.parametrize("style", ["table", "md", "csv", "json"])
@pytest.mark.parametrize("name", ["chains/gemm_softmax", "split_skinny_gemm"])
def test_every_format(name, style, capsys):
    assert run(["fuse", name, "--format", style]) == 0
    assert "split" in capsys.readouterr().out
