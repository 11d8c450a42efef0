import csv
import itertools
import json
import time

import numpy as np
import pytest

import tilesearch as ts
from tilesearch import InputError
from tilesearch.report import Format, render
from tilesearch.report.languages import prune_report

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


MI300X = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "num_warps": 4, "num_stages": 2}


def test_a_device_without_residency_is_ranked_by_traffic_and_says_so():
    wide = {**MI300X, "BLOCK_M": 128, "BLOCK_N": 128}
    pruned = ts.prune([MI300X, wide], GEMM, "mi300x")
    assert [k.config for k in pruned.kept] == [wide, MI300X]
    assert any("ranked by traffic: carver cannot be computed" in note for note in pruned.notes)


def test_notes_stand_only_where_there_are_any():
    kernel = {"language": "triton", "version": "3.6"}
    assert list(ts.prune([GOOD], GEMM, "h200", kernel=kernel).model_dump()) == ["rank", "kept", "rejected"]
    noted = ts.prune([GOOD], GEMM, "a100_80gb", kernel=kernel)
    assert list(noted.model_dump()) == ["rank", "kept", "rejected", "notes"]


def test_a_register_cap_is_kept_to():
    """maxnreg = 64 with 128 accumulators a thread must spill; where it is ample it changes nothing."""
    capped, ample = {**GOOD, "maxnreg": 64}, {**GOOD, "maxnreg": 255}
    pruned = ts.prune([capped, ample, GOOD], GEMM, "h200")
    assert [(k.config, k.verdict) for k in pruned.kept] == [(ample, "fits"), (GOOD, "fits"), (capped, "spills")]
    assert pruned.kept[2].metrics.registers_per_thread == 64
    assert [r.config for r in ts.prune([capped, GOOD], GEMM, "h200", allow_soft=False).rejected] == [capped]
    with pytest.raises(InputError, match=r"configs\[0\]\.maxnreg"):
        ts.prune([{**GOOD, "maxnreg": 0}], GEMM, "h200")
    with pytest.raises(InputError, match="maxnreg is an option of triton"):
        ts.check(GEMM, "h200", "block_m=64,block_n=64,block_k=32", kernel={"language": "tilelang", "maxnreg": 64})


def test_options_that_no_rule_covers():
    pair = Config(GOOD["num_warps"] and {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32})
    pair.num_ctas = 2
    pruned = ts.prune([pair, {**MI300X, "waves_per_eu": 2}], GEMM, "h200")
    assert [r.violations for r in pruned.rejected] == [["C3.cluster"]]
    assert any("num_ctas above 1" in note for note in pruned.notes)
    assert any("no rule covers waves_per_eu" in note for note in pruned.notes)


def test_threads_are_counted_in_the_devices_warps():
    config = {"block_M": 64, "block_N": 64, "block_K": 32, "threads": 256, "num_stages": 1}
    kept = ts.prune([config, {**MI300X, "num_stages": 1}], GEMM, "mi300x").kept
    assert [k.metrics.accumulators_per_thread for k in kept] == [16, 16]
    assert ts.check(GEMM, "mi300x", {**config}, kernel="triton").tile.num_warps == 4
    space = {"block_m": [64], "num_threads": [256]}
    assert ts.solve(GEMM, "mi300x", kernel="triton", space=space, rank="traffic").best.tile.num_warps == 4


def test_ties_go_to_pipelined_configurations():
    alike = [{**GOOD, "num_stages": s, "BLOCK_SIZE_K": k} for k in (32, 64) for s in (1, 2, 3)]
    kept = ts.prune(alike, GEMM, "h200").kept
    priorities = {k.metrics.priority for k in kept}
    best = [k.config for k in kept if k.metrics.priority == min(priorities)]
    assert (best[0]["num_stages"], best[0]["BLOCK_SIZE_K"]) == (3, 64)


@pytest.mark.parametrize("top", [0, -1, "a", 2.5, True])
def test_a_top_that_is_no_count(top):
    with pytest.raises(InputError, match="top"):
        ts.prune([GOOD], GEMM, "h200", top=top)


def test_what_holds_configurations():
    assert len(ts.prune((c for c in [GOOD]), GEMM, "h200").kept) == 1
    assert len(ts.prune(np.array([GOOD], dtype=object), GEMM, "h200").kept) == 1
    for wrong in (None, GOOD, "x", 7):
        with pytest.raises(InputError, match="a list of configurations is wanted"):
            ts.prune(wrong, GEMM, "h200")


@pytest.mark.parametrize("value", [2**63, 2**200, -1, True])
def test_numbers_out_of_range(value):
    with pytest.raises(InputError, match=r"configs\[0\]\.BLOCK_SIZE_M"):
        ts.prune([{**GOOD, "BLOCK_SIZE_M": value}], GEMM, "h200")


def moe():
    return ts.load_problem("grouped_gemm_moe").replace(kernel=ts.load_problem("gemm4096_triton").kernel)


def table(tmp_path, text, name="table.json"):
    from tilesearch.api.config_tables import read_configs

    place = tmp_path / name
    place.write_text(text)
    return read_configs(place)


def test_a_table_of_a_mixture_of_experts_is_keyed_by_tokens(tmp_path):
    from tilesearch.api.config_tables import prune_table

    problem = moe().replace(kernel=moe().kernel.model_copy(update={"variant": None}))
    few, many = {**GOOD, "BLOCK_SIZE_M": 16}, {**GOOD, "BLOCK_SIZE_M": 64}
    answer = prune_table(table(tmp_path, json.dumps({"64": few, "4096": many})), problem)
    assert [k.config["M"] for k in answer.kept] == [64, 4096]
    wanted = [ts.check(problem.replace(op=problem.op.model_copy(update={"tokens": m})), tile=tile).metrics.grid
              for m, tile in ((64, {"block_m": 16, "block_n": 256, "block_k": 64}),
                              (4096, {"block_m": 64, "block_n": 256, "block_k": 64}))]  # fmt: skip
    assert [k.metrics.grid for k in answer.kept] == wanted
    uneven = ts.load_problem("grouped_gemm_uneven")
    with pytest.raises(InputError, match="takes M as its tokens"):
        prune_table(table(tmp_path, json.dumps({"64": few})), uneven)


@pytest.mark.parametrize("key", ["0", "99999999999999999999", "4294967296"])
def test_a_key_that_is_no_extent(tmp_path, key):
    with pytest.raises(InputError, match=r"table\.json: \d+: M is a whole number"):
        table(tmp_path, json.dumps({key: GOOD}))


def test_a_key_in_other_digits_is_no_number(tmp_path):
    from tilesearch.api.config_tables import prune_table

    with pytest.raises(InputError, match="holds no knob"):
        prune_table(table(tmp_path, json.dumps({"²": GOOD})), moe())


def test_one_bad_row_does_not_abort_a_table(tmp_path):
    from tilesearch.api.config_tables import prune_table

    problem = ts.load_problem("gemm4096_triton")
    answer = prune_table(table(tmp_path, json.dumps([GOOD, {**GOOD, "BLOCK_SIZE_M": "auto"}, BIG])), problem)
    assert (len(answer.kept), len(answer.rejected)) == (1, 2)
    assert ["unreadable"] in [r.violations for r in answer.rejected]
    assert any("[1].BLOCK_SIZE_M" in note for note in answer.notes)
    answer = prune_table(table(tmp_path, json.dumps({"16": GOOD, "32": {"num_warps": 4}})), problem)
    assert (len(answer.kept), len(answer.rejected)) == (1, 1)
    with pytest.raises(InputError, match=r"table\.json: \[0\]"):
        prune_table(table(tmp_path, json.dumps([{"x": 1}])), problem)
    with pytest.raises(InputError, match="the list is empty"):
        table(tmp_path, "[]")


def test_times_are_shown_with_their_strength():
    """In the table with the interval, in CSV in plain units."""
    op = ts.Gemm(m=4096, n=4096, k=4096, dtype="fp16")
    config = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "num_warps": 8, "num_stages": 4}
    answer = ts.prune([config], op, "h200", rank="time")
    elsewhere = ts.prune([config], op, "h100_sxm", rank="time").notes
    assert any("datasheet only" in note for note in elsewhere)
    predicted = answer.kept[0].metrics.time_us
    assert f"{predicted:.4g} (" in render(prune_report(answer), Format.TABLE)
    row = next(csv.DictReader(render(prune_report(answer), Format.CSV).splitlines()))
    assert float(row["time_us"]) == predicted
    assert int(row["traffic_bytes"]) == answer.kept[0].metrics.traffic_bytes


def test_a_misspelt_knob_is_named():
    with pytest.raises(InputError, match=r"block_m: is required and absent \('BLOK_M' is no name of it\)"):
        ts.prune([{"BLOK_M": 128, "BLOCK_N": 64, "BLOCK_K": 64}], ts.Gemm(m=512, n=512, k=512), "h200")


def test_an_answer_says_what_ranked_it():
    assert ts.prune([GOOD], GEMM, "h200").rank == "time"
    assert ts.prune([GOOD], GEMM, "a100_80gb").rank == "carver"
    assert ts.prune([GOOD], GEMM, "mi300x").rank == "traffic"
    assert "kept, ranked by carver" in render(prune_report(ts.prune([GOOD], GEMM, "a100_80gb")), Format.TABLE)
