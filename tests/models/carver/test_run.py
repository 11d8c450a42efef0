"""Whole runs: steps, search, policies, and what is emitted."""

from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilesearch.errors import InputError
from tilesearch.models.carver import device_names, load_device, recommended, run
from tilesearch.models.carver.device import multiplies
from tilesearch.models.carver.rsteps import candidates, grow
from tilesearch.models.carver.search import MOST_VISITED, ladder
from tilesearch.specs.validation import validate

HALF = {"in_dtype": "float16", "out_dtype": "float32", "accum_dtype": "float32"}
SQUARE = {"M": 512, "N": 512, "K": 512, **HALF}
IMAGE = {"N": 2, "C": 16, "H": 16, "W": 16, "F": 32, "K": 3, "S": 1, "D": 1, "P": 1, **HALF}
HEADS = {"batch_size": 2, "num_heads": 4, "head_dim": 64, "seq_length": 256, "seq_kv_length": 256}


def test_reduction_candidates():
    assert candidates(12) == (1, 2, 3, 4, 6, 12)
    assert candidates(61) == (1, 61)
    assert candidates(67) == (1, 2, 4, 8, 16, 32, 64)


@pytest.mark.parametrize(
    ("template", "params", "policy", "step"),
    [
        ("Matmul", {"K": 4096}, "default", (64,)),
        ("Matmul", {"K": 4096}, "tc", (32,)),
        ("Matmul", {"K": 4096, "in_dtype": "int8", "accum_dtype": "int32", "out_dtype": "int32"}, "tc", (64,)),
        ("Matmul", {"K": 200}, "tc", (32,)),
        ("Matmul", {"K": 20}, "tc", (16,)),
        ("Matmul", {"K": 144}, "tc", (48,)),
        ("Matmul", {"trans_A": True, "trans_B": False}, "default", (1,)),
    ],
)
def test_the_step_that_the_search_uses(template, params, policy, step):
    assert run(template, {**SQUARE, **params}, "h200", policy, 1).setting.rstep_init == (step,)


def test_growth_stops_at_the_first_step_that_does_not_fit():
    asked = []
    grown = grow(((1, 2, 4, 8), (1, 3, 9)), (2, 1), lambda r: r[1], lambda r: asked.append(r) or r[1] < 9)
    assert grown == (2, 3)
    assert asked == [(2, 3), (2, 9)]
    assert grow(((16, 48, 144),), (32,), max, lambda r: True) == (32,)


def test_ladders():
    assert ladder(12, 1) == (1, 2, 3, 4, 6, 8, 12)
    assert ladder(12, 12) == (12,)
    assert ladder(7, 1) == (1, 2, 4, 7)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 300), st.integers(2, 300), st.integers(2, 300), st.booleans(), st.booleans())
def test_invariants_of_a_run(m, n, k, trans_a, trans_b):
    made = run("Matmul", {"M": m, "N": n, "K": k, "trans_A": trans_a, "trans_B": trans_b}, "h200", "default")
    device = made.device
    tiles = [row.tile for row in made.rows]
    assert len(set(tiles)) == len(tiles) <= MOST_VISITED + len(tiles[0])
    assert len(tiles) <= made.counts["lattice"]
    keys = [made.rows[number].priority for number in made.ranking]
    assert keys == sorted(keys)
    for row in made.rows:
        assert row.valid == (row.smem_cost <= device.smem_cap and row.reg_usage <= device.reg_cap)
        if row.valid:
            assert row.priority == (row.traffic + 1) * row.num_wave
            assert 1 <= row.block_per_sm <= device.sm_partition
    for hint in made.hints:
        (node,) = hint.nodes
        assert prod(node.thread) * prod(node.reduce_thread) <= 1024


def test_the_search_is_cut_off():
    made = run("Elementwise", {"shape": [240] * 4}, "h200", "default", 1)
    assert made.counts["cap_hit"]
    assert MOST_VISITED < len(made.rows) <= MOST_VISITED + 4


def test_a_square_product_ranks_its_tiles_in_pairs():
    made = run("Matmul", {**SQUARE, "M": 4096, "N": 4096, "K": 4096}, "h200", "tc", 2)
    assert [hint.nodes[0].block for hint in made.hints] == [(64, 128), (128, 64)]
    assert {made.rows[number].priority for number in made.ranking[:2]} == {6422532}
    assert made.hints[0].nodes[0].rasterization == ("Rasterization2DColumn", 11)


def test_exact_divisors_only_with_tensor_cores():
    thousand = {"M": 1000, "N": 1000, "K": 1000, **HALF}
    made = recommended("Matmul", thousand, "h200")
    assert (made.policy, made.hints) == ("TensorCorePolicy", ())
    assert run("Matmul", thousand, "h200", "default").hints


def test_what_is_emitted_may_exceed_the_device():
    made = run(
        "FlashAttention", {"num_heads": 32, "head_dim": 128, "seq_length": 2048, "seq_kv_length": 2048}, "h200", "tc"
    )
    assert max(trial.smem_cost for trial in made.trials) > made.device.smem_cap


@pytest.mark.parametrize(
    ("template", "params", "policy"),
    [
        ("Matmul", SQUARE, "TensorCorePolicy"),
        ("Matmul", {**SQUARE, "M": 8}, "DefaultPolicy"),
        ("Matmul", {**SQUARE, "in_dtype": "float32"}, "DefaultPolicy"),
        ("Matmul", {**SQUARE, "K": 16, "in_dtype": "int8", "accum_dtype": "int32"}, "DefaultPolicy"),
        ("GEMV", {"N": 512, "K": 512}, "DefaultPolicy"),
        ("Elementwise", {"shape": [64, 64]}, "DefaultPolicy"),
        ("GeneralReduction", {"structure": "SR", "shape": [64, 64]}, "DefaultPolicy"),
        ("Conv", IMAGE, "TensorCorePolicy"),
        ("Conv", {**IMAGE, "K": 1}, "DefaultPolicy"),
        ("Conv", {**IMAGE, "F": 8}, "DefaultPolicy"),
        ("FlashAttention", HEADS, "TensorCorePolicy"),
        ("FlashAttention", {**HEADS, "seq_kv_length": 8192}, "DefaultPolicy"),
    ],
)
def test_the_policy_that_the_template_takes(template, params, policy):
    made = recommended(template, params, "h200", 3)
    assert (made.policy, made.failure) == (policy, None)


@pytest.mark.parametrize("sm", [60, 100, 120])
def test_no_tensor_core_table(sm):
    device = load_device("h200").model_copy(update={"sm_version": sm})
    assert not multiplies(device, "float16", "float32")
    assert run("Matmul", SQUARE, device, "tc").failure.kind == "not_applicable"
    assert recommended("Matmul", SQUARE, device, 1).policy == "DefaultPolicy"


@pytest.mark.parametrize("policy", ["default", "tc"])
@pytest.mark.parametrize(
    ("template", "params"),
    [
        ("Matmul", {**SQUARE, "with_bias": True}),
        ("GEMV", {"N": 64, "K": 64, "with_bias": True}),
        ("FlashAttention", {**HEADS, "head_dim": 8}),
        ("FlashAttention", {**HEADS, "seq_kv_length": 1}),
    ],
)
def test_what_raises_in_carver(template, params, policy):
    made = run(template, params, "h200", policy)
    assert made.failure.kind == "error"
    assert made.counts["visited"] == 0


@pytest.mark.parametrize("device", device_names())
@pytest.mark.parametrize("heads", [1, 8])
def test_every_device_takes_a_chain(device, heads):
    made = run("FlashAttention", {**HEADS, "batch_size": 1, "num_heads": heads}, device, "tc", 3)
    assert made.setting.pipeline_stage == 1
    assert all(len(hint.nodes) == 2 for hint in made.hints)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("Gemm", SQUARE, "h200", "tc"), "no template 'Gemm'"),
        (("Matmul", {"M": 4, "N": 4}, "h200", "tc"), "params.K: is required"),
        (("Matmul", {**SQUARE, "L": 4}, "h200", "tc"), "params.L: unknown key"),
        (("Matmul", SQUARE, "h201", "tc"), "did you mean 'h200'"),
        (("Matmul", SQUARE, "h200", "tensor"), "unknown policy"),
        (("Matmul", {**SQUARE, "in_dtype": "fp16"}, "h200", "tc"), "unknown data type 'fp16'"),
        (("Conv", {**IMAGE, "P": 0}, "h200", "tc"), "params.P: must be at least 1"),
        (("Conv", {**IMAGE, "K": 32}, "h200", "tc"), "does not fit in the padded image"),
        (("GeneralReduction", {"structure": "SR", "shape": [4]}, "h200", "default"), "the same length"),
        (("GeneralReduction", {"structure": "R", "shape": [4]}, "h200", "default"), "an output axis"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(InputError, match=message):
        run(*arguments)


def test_devices_are_checked():
    data = load_device("a100").model_dump()
    model = type(load_device("a100"))
    assert model.model_validate({**data, "max_smem_usage": data["smem_cap"]}).max_smem_usage == data["smem_cap"]
    for change in ({"max_smem_usage": 1}, {"transaction_size": (4, 128)}, {"sms": 0}, {"unknown": 1}):
        with pytest.raises(InputError, match=next(iter(change))):
            validate(model, {**data, **change})
