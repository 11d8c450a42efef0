import itertools
import json
import time

import pytest

import tilesearch as ts
from tilesearch import InputError

GEMM = ts.Gemm(m=4096, n=4096, k=4096, dtype="fp16")
GOOD = {
    "BLOCK_SIZE_M": 128,
    "BLOCK_SIZE_N": 256,
    "BLOCK_SIZE_K": 64,
    "GROUP_SIZE_M": 8,
    "num_warps": 8,
    "num_stages": 3,
}
BIG = {**GOOD, "BLOCK_SIZE_M": 256, "num_stages": 5}
SPILLS = {**GOOD, "num_warps": 4}


class Config:
    """What triton.Config looks like."""

    def __init__(self, kwargs, num_warps=4, num_stages=3):
        self.kwargs, self.num_warps, self.num_stages = kwargs, num_warps, num_stages


def test_the_callers_own_objects_best_first():
    pruned = ts.prune([SPILLS, BIG, GOOD], GEMM, "h200")
    assert [k.config for k in pruned.kept] == [GOOD, SPILLS]
    assert pruned.kept[0].config is GOOD
    assert [k.verdict for k in pruned.kept] == ["fits", "spills"]
    assert pruned.kept[0].metrics.shared_bytes == 147456
    assert pruned.rejected[0].config is BIG
    assert pruned.rejected[0].violations == ["C1.shared_memory", "C2.accumulators", "C2.registers"]


def test_soft_ones_go_when_not_allowed_and_top_cuts():
    pruned = ts.prune([SPILLS, GOOD], GEMM, "h200", allow_soft=False)
    assert [k.config for k in pruned.kept] == [GOOD]
    assert [r.violations for r in pruned.rejected] == [["C2.accumulators", "C2.registers"]]
    assert len(ts.prune([SPILLS, GOOD], GEMM, "h200", top=1).kept) == 1


@pytest.mark.parametrize(
    "config",
    [
        {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "num_warps": 8, "num_stages": 3},
        {"kwargs": {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "EVEN_K": True}, "num_warps": 8, "num_stages": 3},
        Config({"BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 256, "BLOCK_SIZE_K": 64, "ALLOW_TF32": True}, 8, 3),
        {"block_M": 128, "block_N": 256, "block_K": 64, "threads": 256, "num_stages": 3},
    ],
    ids=["triton", "inductor", "triton.Config", "tilelang"],
)
def test_as_others_write_them(config):
    assert ts.prune([config], GEMM, "h200").kept[0].metrics.shared_bytes == 147456


def test_bad_configurations_are_all_named():
    with pytest.raises(InputError) as caught:
        ts.prune([{"BLOCK_M": "auto", "num_warps": 4}, {"x": 1}, GOOD, 7], GEMM, "h200")
    text = str(caught.value)
    assert "configs[0].BLOCK_M" in text
    assert "configs[1]: holds no knob" in text
    assert "configs[3]: a configuration is wanted, got int" in text
    with pytest.raises(InputError, match=r"configs\[0\].block_k: is required"):
        ts.prune([{"BLOCK_M": 128, "BLOCK_N": 128}], GEMM, "h200")
    with pytest.raises(InputError, match="given twice"):
        ts.prune([{**GOOD, "BLOCK_M": 64}], GEMM, "h200")
    assert ts.prune([], GEMM, "h200").kept == []


def test_an_unknown_limit_is_a_reason():
    device = ts.load_device("mi300x")
    amd = device.model_copy(update={"lds_per_block": device.register_allocation_unit})
    pruned = ts.prune([GOOD], GEMM, amd, rank="traffic")
    assert pruned.kept == []
    assert pruned.rejected[0].violations == ["C1.shared_memory"]


@pytest.mark.parametrize("kernel", ["triton", "tilelang", "generic"])
def test_a_thousand_in_under_a_fifth_of_a_second(kernel):
    sizes = itertools.product(
        (16, 32, 64, 128, 256), (16, 32, 64, 128, 256), (32, 64, 128, 256), (4, 8), (1, 2, 3, 4, 5)
    )
    names = ("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "num_warps", "num_stages")
    configs = [dict(zip(names, values, strict=True)) for values in sizes]
    assert len(configs) == 1000
    ts.prune(configs[:1], GEMM, "h200", kernel=kernel)
    fastest = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        pruned = ts.prune(configs, GEMM, "h200", kernel=kernel)
        fastest = min(fastest, time.perf_counter() - start)
    assert len(pruned.kept) + len(pruned.rejected) == 1000
    assert fastest < 0.2


def test_each_configuration_is_judged_as_check_judges_it():
    configs = [{**GOOD, "BLOCK_SIZE_M": m, "num_stages": s} for m in (16, 64, 256) for s in (1, 3, 5)]
    pruned = ts.prune(configs, GEMM, "h200")
    for item in pruned.kept:
        tile = {name.lower().replace("size_", ""): value for name, value in item.config.items()}
        answer = ts.check(GEMM, "h200", tile, kernel="triton")
        assert (item.verdict, item.metrics) == (answer.verdict, answer.metrics)


def test_tables(tmp_path):
    from tilesearch.api.config_tables import prune_table, read_configs
    from tilesearch.specs.problems import make_problem

    problem = make_problem(
        {"device": "h200", "op": GEMM.model_dump(exclude_none=True), "kernel": {"language": "triton"}}
    )
    vllm = tmp_path / "E=8,N=4096.json"
    vllm.write_text(json.dumps({"triton_version": "3.6.0", "16": {**GOOD, "BLOCK_SIZE_M": 16}, "4096": BIG}))
    answer = prune_table(read_configs(vllm), problem)
    assert answer.kept[0].config["M"] == 16
    assert answer.kept[0].metrics.grid == 16
    assert answer.rejected[0].config["M"] == 4096
    table = tmp_path / "configs.csv"
    table.write_text("BLOCK_M,BLOCK_N,BLOCK_K,num_warps,num_stages\n128,256,64,8,3\n256,256,128,8,4\n")
    answer = prune_table(read_configs(table), problem)
    assert (len(answer.kept), len(answer.rejected)) == (1, 1)
    listed = tmp_path / "configs.json"
    listed.write_text(json.dumps([GOOD, BIG]))
    assert len(prune_table(read_configs(listed), problem).kept) == 1
    for text in ("3", '["x"]'):
        listed.write_text(text)
        with pytest.raises(InputError):
            read_configs(listed)
