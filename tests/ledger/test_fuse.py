"""fuse: the seed's two split decisions to the digit, decisions of both kinds, the criteria, bad chains."""

import json

import pytest

import tilesearch as ts
from tilesearch.cli.run import run

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
    part = {"kind": "elementwise", "shape": [1024, 1024], "dtype": "fp32"}
    heavy = {**part, "arithmetic_per_element": 100_000}
    tables = [{"name": "a", "output_in_memory": True, **heavy}, {"name": "b", "input_from": "a.out", **heavy}]
    assert ts.fuse(tables, "h200").criterion == "numerics"


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
