"""fuse on Ascend: the same chains as on a GPU, other answers, and why."""

import pytest

import tilesearch as ts
from tilesearch.errors import InputError

GELU = "problems/chains/gemm_gelu.toml"
SOFTMAX = "problems/chains/gemm_softmax.toml"


def fuse(name, device):
    return ts.fuse(ts.load_problem(name, device=device))


def chain(*ops):
    first, *others = ops
    links = zip(ops[:-1], others, strict=True)
    return [first, *({"input_from": f"{before['name']}.out", **op} for before, op in links)]


PRODUCT = {"name": "up", "kind": "gemm", "m": 2048, "n": 2048, "k": 2048, "dtype": "bf16"}


def test_an_epilogue_hides_behind_the_cube():
    on_gpu, here = fuse(GELU, "h200"), fuse(GELU, "ascend950")
    assert (on_gpu.decision, on_gpu.criterion) == ("fuse", "bytes")
    assert (here.decision, here.criterion) == ("fuse", "units")
    assert "hides behind the other" in here.reason
    one, apart = here.options
    assert one.bytes == on_gpu.options[0].bytes < apart.bytes
    assert one.bound_us < apart.bound_us
    assert "Cube cores" in here.questions[2].answer


def test_whole_rows_do_not_fit():
    on_gpu, here = fuse(SOFTMAX, "h200"), fuse(SOFTMAX, "ascend950")
    assert (on_gpu.decision, on_gpu.criterion) == ("split", "parallelism")
    assert (here.decision, here.criterion) == ("split", "onchip")
    assert "C1.l0b" in here.reason
    assert not here.options[0].fits


def test_short_rows_fit_and_are_judged_by_cycles():
    softmax = {"name": "softmax", "kind": "reduction", "function": "softmax", "shape": [2048, 256], "axes": [1]}
    answer = ts.fuse(chain({**PRODUCT, "n": 256}, {**softmax, "dtype": "bf16"}), "ascend950")
    assert answer.options[0].fits
    assert answer.options[0].tile["block_n"] == 256
    assert "cycles" in answer.reason


def test_the_910b_exchanges_through_memory():
    answer = fuse(GELU, "ascend910b1")
    assert (answer.decision, answer.criterion) == ("split", "bytes")
    assert "no path from L0C to UB" in answer.reason
    assert answer.options[0].bytes == answer.options[1].bytes
    assert answer.options[0].grid > 0


def test_further_inputs_and_types():
    scale = {"name": "scale", "kind": "elementwise", "shape": [2048, 2048], "inputs": 2, "arithmetic_per_element": 1}
    answer = ts.fuse(chain(PRODUCT, {**scale, "dtype": "bf16", "out": "fp32"}), "ascend950")
    assert answer.options[0].bytes == answer.options[1].bytes - 2 * 2048 * 2048 * 2


def test_what_is_no_epilogue():
    with pytest.raises(InputError, match="second product is no epilogue"):
        ts.fuse(chain(PRODUCT, {**PRODUCT, "name": "down"}), "ascend950")
    rows = {"kind": "elementwise", "shape": [2048, 2048], "arithmetic_per_element": 1}
    with pytest.raises(InputError, match="for a product and the vector work behind it"):
        ts.fuse(chain({**rows, "name": "a"}, {**rows, "name": "b"}), "ascend950")


def test_a_reduction_over_the_rows_axis_is_no_whole_row():
    softmax = {"name": "s", "kind": "reduction", "function": "softmax", "shape": [2048, 2048], "dtype": "bf16"}
    assert ts.fuse(chain(PRODUCT, {**softmax, "axes": [1]}), "ascend950").options
    with pytest.raises(InputError, match="over another axis"):
        ts.fuse(chain(PRODUCT, {**softmax, "axes": [0]}), "ascend950")
