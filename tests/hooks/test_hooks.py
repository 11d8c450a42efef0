import warnings
from types import SimpleNamespace

import pytest

import tilesearch as ts
from tilesearch import InputError
from tilesearch.hooks.tilelang import configs
from tilesearch.hooks.triton import early_config_prune, gemm_of


class Config:
    def __init__(self, kwargs, num_warps=8, num_stages=3):
        self.kwargs, self.num_warps, self.num_stages = kwargs, num_warps, num_stages


GOOD = Config({"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64})
BIG = Config({"BLOCK_M": 256, "BLOCK_N": 256, "BLOCK_K": 128})
ARGUMENTS = {"M": 4096, "N": 4096, "K": 4096}


def tensor(shape, strides, dtype="torch.float16"):
    return SimpleNamespace(shape=shape, dtype=dtype, stride=lambda axis: strides[axis])


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
    with pytest.raises(InputError, match="no whole number called K"):
        gemm_of({"M": 1, "N": 2})
    with pytest.raises(InputError, match="no tensor is on a GPU"):
        early_config_prune()([GOOD], ARGUMENTS)


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
