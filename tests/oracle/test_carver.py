"""The replica against recorded runs of the real carver."""

import gzip
import json
import random
from pathlib import Path

import pytest

from tilesearch.api import verify
from tilesearch.errors import InputError
from tilesearch.models.carver import run
from tilesearch.models.carver.oracle import compare

DATA = Path(__file__).parents[1] / "data" / "carver"
FILES = sorted(path for path in DATA.iterdir() if path.name.startswith(("a", "c", "e", "g", "m", "r")))
FAILED = {
    "matmul_1024x1024x1024_nt_f16o16_bias_h200_tc": "error",
    "conv_n2c64h14w14f128k1s1d1p1_f16o16_a100_tc": "not_applicable",
}
SMALL = [
    "attention_b1h32d128q1024kv1024_f16o16_a100_tc",
    "conv_n1c64h56w56f64k3s1d1p1_f16f32_h200_tc",
    "gemv_1000x3000_t_f16o16_a100_default",
    "matmul_16x8192x8192_nt_f16f32_rtx4090_tc",
    "reduce_SRS_128x256x512_float16_a100_default",
]


def load(path):
    return json.loads(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_text())


def named(name):
    return load(DATA / f"{name}.json.gz")


def run_of(data):
    return run(
        data["template"], data["params"], data["device"]["name"], "tc" if "Tensor" in data["policy"] else "default"
    )


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name.split(".")[0])
def test_reproduced(path):
    assert compare(load(path)) == []


@pytest.mark.parametrize("name", ["h200", "h200_48k", "a100", "rtx4090"])
def test_shipped_devices_are_those_of_the_files(name):
    data = next(data for data in map(load, FILES) if data["device"]["name"] == name)
    assert json.loads(run_of(data).device.model_dump_json()) == data["device"]


@pytest.mark.parametrize(("name", "kind"), FAILED.items())
def test_runs_without_rows_say_why(name, kind):
    made = run_of(named(name))
    assert made.failure.kind == kind
    assert made.failure.reason
    assert made.rows == made.hints == ()


# Keys that name or comment what is recorded, but do not come out of a run.
NOT_COMPUTED = {"schema", "carver", "case", "template", "params", "device", "policy", "topk", "columns"}
NOT_COMPUTED |= {"emit_config_agrees"}


def leaves(value, trail=()):
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(part, (*trail, key))
    else:
        yield trail, value


def changed(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return value + "x" if isinstance(value, str) else 7


@pytest.mark.parametrize("name", SMALL)
def test_any_changed_value_is_noticed(name):
    data = named(name)
    places = [trail for trail, _ in leaves({k: v for k, v in data.items() if k not in NOT_COMPUTED})]
    # A null outside the rows says that nothing was recorded.
    places = [p for p in places if len(p) > 1 or data[p[0]] is not None]
    chosen = random.Random(name).sample(places, 20)
    top = [("rows", 3, 2), ("ranking", 1), ("shape_ok",), ("emit", 0, "smem_cost"), ("emit", 0, "block_sizes", 2)]
    for trail in [*chosen, *top, ("counts", "ties_at_top"), ("samples", 1, "nodes", 0, "footprint_one_stage")]:
        copy = json.loads(json.dumps(data))
        holder = copy
        for key in trail[:-1]:
            holder = holder[key]
        holder[trail[-1]] = changed(holder[trail[-1]])
        (first, *_) = compare(copy)
        assert trail[0] in first


@pytest.mark.parametrize("key", ["rows", "ranking", "emit", "hints", "steps"])
def test_a_missing_or_exchanged_entry_is_noticed(key):
    data = named(SMALL[0])
    assert compare({**data, key: data[key][:-1]})
    first, second, *rest = data[key]
    assert compare({**data, key: [second, first, *rest]})


def test_verify_counts_files(tmp_path):
    paths = []
    for name in [*SMALL, *FAILED]:
        paths.append(tmp_path / f"{name}.json")
        paths[-1].write_text(json.dumps(named(name)))
    wrong = named(SMALL[2])
    wrong["rows"][0][2] += 1
    wrong["hints"][3]["thread"] = [0]
    paths.append(tmp_path / "wrong.json")
    paths[-1].write_text(json.dumps({**wrong, "case": "wrong"}))
    paths.append(tmp_path / "index.json")
    paths[-1].write_text(json.dumps([{"file": "wrong.json"}]))
    answer = verify("carver", paths)
    assert (answer.rows, answer.agree, answer.skipped) == (9, 5, 3)
    (found,) = answer.disagree
    assert found.row == "wrong"
    assert found.expected == {"rows[0].traffic": wrong["rows"][0][2], "hints[3].thread[0]": 0, **lengths(found)}


def lengths(found):
    return {key: value for key, value in found.expected.items() if key.startswith("len(")}


def test_a_failure_that_was_not_recorded_is_a_disagreement(tmp_path):
    data = named("matmul_512x512x512_nt_f16f32_h200_default")
    assert compare({**data, "error": {"stage": "search"}}) == ['failure: expected "error", got null']
    with_bias = {**data, "params": {**data["params"], "with_bias": True}}
    assert compare(with_bias) == ['failure: expected null, got "error"']


BAD = [
    {"rows": 3},
    {"params": {}},
    {"params": {"M": 0, "N": 1, "K": 1}},
    {"params": {"M": 4, "N": 4, "K": 4, "in_dtype": "half"}},
    {"device": {}},
    {"template": "Gemm"},
    {"policy": "tc"},
    {"schema": "other"},
    {"samples": [3]},
]


@pytest.mark.parametrize("change", BAD, ids=str)
def test_bad_files_name_their_fault(tmp_path, change):
    path = tmp_path / "bad.json"
    path.write_text(json.dumps({**named("matmul_512x512x512_nt_f16f32_h200_default"), **change}))
    with pytest.raises(InputError, match=r"bad\.json"):
        verify("carver", [path])


def test_a_file_that_records_nothing_is_bad_input():
    data = named(SMALL[0])
    with pytest.raises(InputError, match="nothing is recorded"):
        compare({key: data[key] for key in NOT_COMPUTED})


def seed_table(limit=64):
    """The seed's recomputation on a smaller grid, by its own formulas."""
    setting = {"M": 4096, "N": 4096, "K": 4096, "in_bytes": 2, "out_bytes": 2}
    setting |= {"sms": 132, "smem_cap": 232448, "reg_cap": 65536, "sm_partition": 4}
    sizes = [size for size in (64, 256, 1024) if size >= limit]
    rows = []
    for m in sizes:
        for n in sizes:
            for k in sizes:
                smem, regs = 2 * (m + n) * k, 2 * max(m * n, m * k, n * k)
                status = "smem" if smem > 232448 else "reg" if regs > 65536 else "ok"
                traffic, grid = 2 * 4096**3 * (m + n) // (m * n) + 2 * 4096**2, (4096 // m) * (4096 // n)
                resident = min(2 * 232448 // smem, 65536 // regs, 4)
                waves = -(-grid // (resident * 132)) if status == "ok" else None
                priority = (traffic + 1) * waves if waves else None
                rows.append([m, n, k, status, smem, regs, traffic, grid, resident if waves else None, waves, priority])
    columns = ["block_M", "block_N", "block_K", "status", "smem", "regs", "traffic"]
    columns += ["grid", "block_per_SM", "num_wave", "priority"]
    keys = [row[-1] for row in rows if row[-1]]
    counts = {"visited": len(rows), "valid": len(keys), "ties_at_top": keys.count(min(keys))}
    counts |= {f"rejected_{s}": sum(row[3] == s for row in rows) for s in ("smem", "reg")}
    counts["distinct_priority"] = len(set(keys))
    return {"schema": "carver-seed/1", "setting": setting, "counts": counts, "columns": columns, "rows": rows}


def test_the_seeds_recomputation_is_replayed(tmp_path):
    table = seed_table()
    path = tmp_path / "seed.json"
    path.write_text(json.dumps(table))
    answer = verify("carver", [path])
    assert answer.agree == 1, answer.disagree
    table["rows"][0][6] += 1
    path.write_text(json.dumps(table))
    assert list(verify("carver", [path]).disagree[0].expected) == ["rows[0]"]
    table["setting"]["sms"] = 1
    path.write_text(json.dumps(table))
    assert verify("carver", [path]).skipped == 1
