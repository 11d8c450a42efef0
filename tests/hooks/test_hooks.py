import warnings
from types import SimpleNamespace

import pytest

import tilesearch as ts
from tilesearch import InputError
from tilesearch.hooks.tilelang import configs
from tilesearch.hooks.triton import early_config_prune, gemm_of, kernel_of


class Config:
    def __init__(self, kwargs, num_warps=8, num_stages=3):
        self.kwargs, self.num_warps, self.num_stages = kwargs, num_warps, num_stages


GOOD = Config({"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64})
BIG = Config({"BLOCK_M": 256, "BLOCK_N": 256, "BLOCK_K": 128})


def tensor(shape, strides, dtype="torch.float16"):
    return SimpleNamespace(shape=shape, dtype=dtype, stride=lambda axis: strides[axis])


def descriptor(shape, strides, dtype="torch.float16"):
    """What triton.tools.tensor_descriptor.TensorDescriptor looks like."""
    return SimpleNamespace(
        base=tensor(shape, strides, dtype), shape=list(shape), strides=list(strides), block_shape=[1, 1]
    )


SQUARE = tensor((4096, 4096), (4096, 1))
ARGUMENTS = {"a_ptr": SQUARE, "b_ptr": SQUARE, "c_ptr": SQUARE, "M": 4096, "N": 4096, "K": 4096}


def test_as_triton_calls_it():
    """Triton calls the pruner with its configurations, the kernel's arguments and the meta-parameters."""
    pruner = early_config_prune(device="h200")
    assert pruner([BIG, GOOD], ARGUMENTS, EVEN_K=True) == [GOOD]
    assert early_config_prune([BIG, GOOD], ARGUMENTS, device="h200") == [GOOD]


def test_an_operator_from_the_arguments():
    pruner = early_config_prune(op=lambda a: ts.Gemm(m=a["rows"], n=512, k=512), device="h200", top=1)
    assert pruner([GOOD, GOOD], {"rows": 64}) == [GOOD]


def test_a_gemm_is_read_from_the_tensors():
    a, b = tensor((64, 32), (32, 1)), tensor((32, 128), (1, 32))
    op = gemm_of({"a": a, "b": b, "c": tensor((64, 128), (128, 1), "torch.float32"), "M": 64, "N": 128, "K": 32})
    assert (op.m, op.n, op.k, op.a, op.out, op.trans_b) == (64, 128, 32, "fp16", "fp32", True)
    turned = gemm_of({"a": tensor((64, 32), (1, 64)), "b": b, "M": 64, "N": 128, "K": 32})
    assert (turned.trans_a, turned.trans_b) == (True, True)
    by_shape = gemm_of({"bias": tensor((128,), (1,), "torch.float32"), "w": b, "x": a, "M": 64, "N": 128, "K": 32})
    assert (by_shape.a, by_shape.b) == ("fp16", "fp16")
    with pytest.raises(InputError, match=r"named_args\.m: .*got 0"):
        gemm_of({"a": a, "b": b, "M": 0, "N": 128, "K": 32})
    with pytest.raises(InputError, match="no whole number called K"):
        gemm_of({"M": 1, "N": 2})
    with pytest.raises(InputError, match="no tensor is on a GPU"):
        early_config_prune()([GOOD], ARGUMENTS)


def test_types_that_are_guessed_are_said():
    with pytest.warns(UserWarning, match="A and B are taken to be fp16"):
        gemm_of({"M": 64, "N": 128, "K": 32})
    with pytest.warns(UserWarning, match=r"no tensors are 64x32 and 32x128: A and B are taken to be torch\.bfloat16"):
        assert gemm_of({"x": tensor((7, 7), (7, 1), "torch.bfloat16"), "M": 64, "N": 128, "K": 32}).a == "bf16"


def test_descriptors_are_kernels_through_the_tma():
    a, b = descriptor((4096, 4096), (4096, 1)), descriptor((4096, 4096), (1, 4096))
    arguments = {"a": a, "b": b, "M": 4096, "N": 4096, "K": 4096}
    assert gemm_of(arguments).trans_b
    assert {**kernel_of(arguments), "version": ""} == {"language": "triton", "variant": "tma", "version": ""}
    assert early_config_prune(device="h200")([GOOD], arguments) == [GOOD]


def test_keywords_of_the_kernel_are_not_options():
    """A kernel may have arguments called rank, op, top or kernel: Triton hands them over as keywords."""
    own = {"rank": 3, "op": "max", "top": 0, "kernel": object(), "allow_soft": False}
    assert early_config_prune([BIG, GOOD], ARGUMENTS, device="h200", **own) == [GOOD]


def test_amd_does_not_raise_into_the_autotuner():
    small = Config({"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}, num_warps=4, num_stages=2)
    assert early_config_prune([small], ARGUMENTS, device="mi300x") == [small]


def test_where_nothing_fits_all_stay_with_a_warning():
    with pytest.warns(UserWarning, match="none of 1 configurations fits .*C1.shared_memory"):
        assert early_config_prune([BIG], ARGUMENTS, device="h200") == [BIG]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        early_config_prune([GOOD], ARGUMENTS, device="h200")


def test_tilelang_configurations():
    found = configs(ts.Gemm(m=4096, n=4096, k=4096), "h200", top=5)
    assert len(found) == 5
    assert set(found[0]) == {"block_M", "block_N", "block_K", "num_stages", "threads"}
    assert all(c["threads"] % 32 == 0 for c in found)
    renamed = configs(ts.Gemm(m=512, n=512, k=512), "h200", top=1, names={"num_warps": "num_threads"})
    assert renamed[0]["num_threads"] % 32 == 0
