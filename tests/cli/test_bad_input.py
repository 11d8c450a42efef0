"""Bad input of every kind: exit status 2, and one line on stderr that names the file and the key."""

import re

import pytest

# Name: what to replace in the file, what to add, and what the message must hold besides the file's name.
IN_THE_FILE = {
    "misspelt key": ({"dtype =": "dtpye ="}, "", ["op.dtpye", "unknown key", "'dtype'"]),
    "misspelt table": ({}, "[serch]\ntop = 3\n", ["serch", "unknown key", "'search'"]),
    "wrong unit": ({"k = 1024": 'k = "227 KB"'}, "", ["op.k", "'227 KB'", "whole number"]),
    "zero": ({"k = 1024": "k = 0"}, "", ["op.k", "at least 1", "got 0"]),
    "negative": ({"k = 1024": "k = -5"}, "", ["op.k", "at least 1", "got -5"]),
    "too large": ({"k = 1024": "k = 2147483648"}, "", ["op.k", "at most 2147483647"]),
    "far too large": ({"k = 1024": f"k = 1{'0' * 30}"}, "", ["op.k", "at most 2147483647"]),
    "a fraction": ({"k = 1024": "k = 1.5"}, "", ["op.k", "got 1.5"]),
    "infinite": ({"k = 1024": "k = inf"}, "", ["op.k", "got inf"]),
    "a truth value": ({"k = 1024": "k = true"}, "", ["op.k", "got true"]),
    "absent extent": ({"k = 1024": ""}, "", ["op.k", "required and absent"]),
    "unknown dtype": ({'"fp16"': '"fp17"'}, "", ["op.dtype", "'fp17'", "'fp16'"]),
    "unknown operator": ({'"gemm"': '"gemmm"'}, "", ["op.kind", "'gemmm'", "'gemm'"]),
    "unknown device": ({'"h200"': '"h20O"'}, "", ["device", "'h20O'", "'h20"]),
    "device of a wrong type": ({'"h200"': "5"}, "", ["device", "a string is wanted"]),
    "no instruction": (
        {'"h200"': '"a100_80gb"', '"fp16"': '"fp8_e4m3"'},
        "",
        ["op.dtype", "a100_80gb", "8.0", "no matrix instruction for fp8_e4m3"],
    ),
    "empty domain": ({}, "[space]\nblock_m = []\n", ["space.block_m", "empty"]),
    "empty range": ({}, "[space]\nblock_m = { min = 64, max = 32 }\n", ["space.block_m", "min = 64", "max = 32"]),
    "no power of two": (
        {},
        "[space]\nblock_m = { min = 5, max = 7, power_of_two = true }\n",
        ["space.block_m", "empty"],
    ),
    "two faults in a range": (
        {},
        "[space]\nblock_m = { min = 1, mx = 2 }\n",
        ["space.block_m.max", "space.block_m.mx"],
    ),
    "zero in a domain": ({}, "[space]\nblock_m = [0, 64]\n", ["space.block_m", "got 0"]),
    "text in a domain": ({}, '[space]\nblock_m = ["64"]\n', ["space.block_m", "'64'"]),
    "too many values": ({}, "[space]\nblock_m = { min = 1, max = 2147483647 }\n", ["space.block_m", "65536"]),
    "unknown variable": ({}, "[space]\nblok_m = [64]\n", ["space.blok_m", "'block_m'"]),
    "unknown rule": ({}, '[rules]\noff = ["C1.shared_mem"]\n', ["rules.off[0]", "'C1.shared_memory'"]),
    "unknown required rule": ({}, '[rules]\nrequire = ["II.cube"]\n', ["rules.require[0]", "'II.cube'"]),
    "division by zero": ({}, '[rules]\nextra = ["8 // (num_stages - 1) > 2"]\n', ["rules.extra[0]", "num_stages = 1"]),
    "a rule that calls": ({}, '[rules]\nextra = ["print(m) > 1"]\n', ["rules.extra[0]", "print()", "cannot be called"]),
    "a rule that imports": ({}, "[rules]\nextra = [\"__import__('os').getcwd() == 1\"]\n", ["rules.extra[0]"]),
    "an import": ({}, '[rules]\nextra = ["import os"]\n', ["rules.extra[0]", "cannot be read"]),
    "a power": ({}, '[rules]\nextra = ["2 ** 10 ** 10 > m"]\n', ["rules.extra[0]"]),
    "not a relation": ({}, '[rules]\nextra = ["block_m"]\n', ["rules.extra[0]", "not a relation"]),
    "an unknown name": ({}, '[rules]\nextra = ["blok_m > 3"]\n', ["rules.extra[0]", "'block_m'"]),
    "a rule nested too deeply": (
        {},
        f'[rules]\nextra = ["{"(" * 3000}1{")" * 3000} > 0"]\n',
        ["rules.extra[0]", "nested"],
    ),
    "rules as a string": ({}, '[rules]\nextra = "block_m > 3"\n', ["rules.extra", "a list is wanted"]),
    "no positive top": ({}, "[search]\ntop = 0\n", ["search.top", "at least 1"]),
    "unknown ranking": ({}, '[search]\nrank = "tme"\n', ["search.rank", "'time'"]),
    "no time": ({}, "[search]\ntime_limit_s = -1\n", ["search.time_limit_s", "greater than 0"]),
    "unknown language": ({}, '[kernel]\nlanguage = "tritn"\n', ["kernel.language", "'tritn'"]),
    "residency beside a preset": (
        {},
        '[model]\noccupancy = "seed"\n[rules]\npreset = "seed-carver"\n',
        ["model.occupancy", "seed-carver"],
    ),
    "syntax error": ({}, "[[\n", ["not valid TOML", "line"]),
    "the same key twice": ({}, "k = 5\n", ["not valid TOML"]),
}


@pytest.mark.parametrize(("replace", "add", "said"), IN_THE_FILE.values(), ids=IN_THE_FILE)
def test_fault_in_the_file(cli, problem, replace, add, said):
    done = cli("solve", problem(replace, add))
    assert (done.status, done.out) == (2, "")
    assert "Traceback" not in done.err
    lines = done.err.splitlines()
    assert all(line.startswith("error: problem.toml: ") for line in lines), done.err
    for text in said:
        assert text in done.err


def test_all_faults_at_once(cli, problem):
    done = cli("solve", problem({"m = 1024": "m = 0", "h200": "nodevice"}, "[space]\nx = [1]\n[search]\ntop = 0\n"))
    places = {line.split(": ")[2] for line in done.err.splitlines()}
    assert places == {"op.m", "device", "space.x", "search.top"}


def test_contradictory_rules_are_an_answer(cli, problem):
    name = problem(add='[rules]\nextra = ["block_m > 64", "block_m < 64"]\n')
    solved = cli("solve", name)
    assert (solved.status, solved.err) == (1, "")
    assert "no tile fits" in solved.out
    explained = cli("explain", name)
    assert (explained.status, explained.err) == (1, "")
    assert "user.1" in explained.out
    assert "user.2" in explained.out


@pytest.mark.parametrize("role", ["problem", "device"])
@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("directory", "is a directory"),
        ("binary", "is not a text file"),
        ("absent", "no such"),
        ("syntax", "not valid TOML"),
        ("empty", "is required and absent"),
        ("overlong", "x" * 300),
        ("below a file", "other.toml"),
    ],
)
def test_no_file_of_the_kind(cli, problem, tmp_path, role, kind, said):
    good = problem()
    name = {"overlong": "x" * 300 + ".toml", "below a file": "problem.toml/other.toml"}.get(kind, f"{kind}.toml")
    content = {"binary": bytes(range(128, 256)), "syntax": b"[[", "empty": b""}
    if kind == "directory":
        (tmp_path / name).mkdir()
    elif kind in content:
        (tmp_path / name).write_bytes(content[kind])
    done = cli("solve", name) if role == "problem" else cli("solve", good, "--device", name)
    assert (done.status, done.out) == (2, "")
    assert said in done.err
    assert name in done.err
    assert all(line.startswith("error: ") for line in done.err.splitlines())


def test_device_file_without_a_required_key(cli, problem, tmp_path):
    (tmp_path / "card.toml").write_text(
        'name = "card"\nvendor = "nvidia"\ncompute_capability = "9.0"\nsm_count = 100\n'
    )
    done = cli("solve", problem({'"h200"': '"card.toml"'}))
    assert done.status == 2
    assert re.search(r"^error: .*card\.toml: shared_per_sm: is required and absent", done.err, re.M)


def test_device_file_with_a_unit_in_a_string(cli, problem, tmp_path):
    (tmp_path / "card.toml").write_text('name = "card"\ninherits = "h200"\nshared_per_sm = "227 KB"\nsmcount = 3\n')
    done = cli("solve", problem(), "--device", "card.toml")
    assert done.status == 2
    assert "card.toml: shared_per_sm" in done.err
    assert "232448" in done.err
    assert "did you mean 'sm_count'?" in done.err


def test_shipped_problems_are_suggested(cli):
    assert "did you mean 'gemm4096'?" in cli("solve", "gem4096").err
    assert "shipped problems: " in cli("solve", "nothing_like_it").err


@pytest.mark.parametrize(
    ("tile", "said"),
    [
        ("", ["tile.block_m", "required and absent"]),
        ("block_m=64,block_n=64", ["tile.block_k"]),
        ("block_m=0,block_n=64,block_k=64", ["tile.block_m", "'0'"]),
        ("block_m=-1,block_n=64,block_k=64", ["tile.block_m", "'-1'"]),
        ("block_m=64,block_n=64,block_k=1.5", ["tile.block_k", "'1.5'"]),
        ("block_m=64,block_n=64,block_k=64,x", ["'x' is no assignment"]),
        ("block_m=64,BLOCK_M=64,block_n=64,block_k=64", ["given twice"]),
        ("blok_m=64,block_n=64,block_k=64", ["tile.blok_m", "'block_m'"]),
        ("block_m=99999999999,block_n=64,block_k=64", ["tile.block_m", "2147483647"]),
    ],
)
def test_tiles(cli, problem, tile, said):
    done = cli("check", problem(), "--tile", tile)
    assert (done.status, done.out) == (2, "")
    for text in said:
        assert text in done.err


def test_the_largest_tile_is_judged(cli, problem):
    most = 2**31 - 1
    done = cli("check", problem(), "--tile", f"block_m={most},block_n={most},block_k={most},num_stages={most}")
    assert (done.status, done.err) == (1, "")
    assert str(most * 2 * most * most * 2) in done.out


def test_a_ranking_that_the_device_does_not_allow(cli, problem):
    done = cli("solve", problem({"h200": "cc90"}))
    assert done.status == 2
    assert "sm_count is not known" in done.err


def test_a_key_that_is_no_heirloom_is_missed_in_the_file_itself(cli, problem, tmp_path):
    (tmp_path / "card.toml").write_text('inherits = "cc90"\nsm_count = 100\n')
    done = cli("solve", problem({'"h200"': '"card.toml"'}))
    assert done.status == 2
    assert re.search(r"^error: card\.toml: name: is required and absent", done.err, re.M)
    assert '[bandwidth] with theoretical = "unknown"' in done.err


def test_without_a_device_the_message_says_how_to_give_one(cli, problem):
    done = cli("solve", problem({'device = "h200"': ""}))
    assert done.status == 2
    assert 'device: is required and absent (device = "h200" above the first table, or --device h200' in done.err
    assert cli("solve", problem({'device = "h200"': ""}), "--device", "a100").status == 0


def test_port_names_its_devices_itself(cli, problem):
    config = '{"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 32, "num_warps": 8, "num_stages": 2}'
    file = problem({'device = "h200"': ""}, '[kernel]\nlanguage = "triton"\n')
    done = cli("port", file, "--config", config, "--from", "h200", "--to", "rtx4090")
    assert (done.status, done.err) == (0, "")
    assert "the best on rtx4090, ranked by carver" in done.out
    done = cli("port", file, "--config", config, "--from", "h2O0", "--to", "rtx4090")
    assert done.status == 2
    assert "error: --from: unknown device 'h2O0'" in done.err


def test_names_offered_for_a_rule_are_those_of_metrics_too(cli, problem):
    done = cli("solve", problem(), "--rule", "zzzzzz >= 1")
    assert done.status == 2
    assert "block_m" in done.err
    assert "traffic_bytes" in done.err
    assert "BLOCK_M" not in done.err


def test_a_card_without_a_clock_is_not_ranked_by_time_and_the_reason_names_the_key(cli, problem, tmp_path):
    facts = 'l2_bytes = "unknown"\nhbm_bytes = "unknown"\ninterconnect = "unknown"\n'
    head = 'name = "card"\ninherits = "cc90"\nsm_count = 100\n'
    (tmp_path / "card.toml").write_text(head + facts + '[bandwidth]\ntheoretical = "unknown"\n')
    file = problem({'"h200"': '"card.toml"'}, '[kernel]\nlanguage = "triton"\n')
    done = cli("solve", file, "--rank", "time")
    assert done.status == 2
    assert "the boost clock ([clocks] boost) is not known" in done.err
