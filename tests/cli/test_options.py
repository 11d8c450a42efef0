"""Options over a problem file, global options, and the messages about them."""

import json

import pytest


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--rank", "tme"], "--rank: unknown value 'tme' (did you mean 'time'?)"),
        (["--engine", "vectr"], "--engine: unknown value 'vectr' (did you mean 'vector'?)"),
        (["--preset", "x"], "--preset: unknown value 'x' (allowed: default, seed-carver)"),
        (["--top", "x"], "--top: an integer is wanted, got 'x'"),
        (["--top", "0"], "--top: must be at least 1, got 0"),
        (["--top", "-3"], "--top: must be at least 1, got -3"),
        (["--top", "1.5"], "--top: an integer is wanted, got 1.5"),
        (["--time-limit", "0"], "--time-limit: must be greater than 0"),
        (["--time-limit", "nan"], "--time-limit: must be"),
        (["--time-limit", "soon"], "--time-limit: a number is wanted, got 'soon'"),
        (["--device", "nodevice"], "--device: unknown device 'nodevice'"),
        (["--device", ""], "--device: unknown device ''"),
        (["--rule", "block_k >"], "--rule: 'block_k >': cannot be read"),
        (["--set", "x"], "--set: 'x' is no assignment (write --set section.key=value)"),
        (["--set", "=3"], "--set: '=3' is no assignment"),
        (["--set", "a..b=3"], "--set: 'a..b=3' is no assignment"),
        (["--set", "op.m=0"], "--set op.m: an extent must be at least 1"),
        (["--set", "op.x=0"], "--set op.x: unknown key"),
        (["--set", "op.m.x=0"], "--set op.m.x: m is 1024 in problem.toml, not a table"),
        (["--set", "space.block_m=[64,'x']"], "--set space.block_m: whole numbers are wanted, got 'x'"),
        (["--set", "space.block_m={min=1}"], "--set space.block_m.max: is required and absent"),
        (["--nope"], "No such option: --nope"),
        (["--format", "xml"], "Invalid value for '--format': 'xml' is not one of"),
    ],
)
def test_faults_are_named_by_their_option(cli, problem, arguments, said):
    done = cli("solve", problem(), *arguments)
    assert (done.status, done.out) == (2, "")
    assert f"error: {said}" in done.err


@pytest.mark.parametrize(
    ("command", "options"),
    [("roofline", ["--engine", "--time-limit", "--top", "--rank", "--preset", "--rule"]),
     ("fuse", ["--engine", "--top", "--rank"]), ("design", ["--top"])],
)  # fmt: skip
def test_options_that_would_change_nothing_are_not_offered(cli, problem, command, options):
    for option in options:
        done = cli(command, problem(), option, "1")
        assert (done.status, done.out) == (2, "")
        assert f"No such option: {option}" in done.err
        assert option not in cli(command, "--help").out


def test_faults_of_all_options_at_once(cli, problem):
    done = cli("solve", problem(), "--top", "x", "--rank", "y", "--set", "z", "--set", "op.m=0", "--device", "w")
    places = {line.split(": ")[1] for line in done.err.splitlines()}
    assert places == {"--top", "--rank", "--set", "--set op.m", "--device"}


def test_a_faulty_rule_of_the_file_keeps_its_place(cli, problem):
    done = cli("solve", problem(add='[rules]\nextra = ["blok_k > 1"]\n'), "--rule", "blok_m > 1")
    assert [line.split(": ")[1:3] for line in done.err.splitlines()] == [
        ["problem.toml", "rules.extra[0]"],
        ["--rule", "'blok_m > 1'"],
    ]


def _solved(cli, *arguments):
    done = cli("solve", *arguments, "--format", "json")
    assert done.status == 0, done.err
    return json.loads(done.out)


def test_options_replace_the_file(cli, problem):
    answer = _solved(
        cli,
        problem(add="[search]\ntop = 9\n"),
        "--device",
        "A100",
        "--rank",
        "traffic",
        "--top",
        "2",
        "--engine",
        "vector",
    )
    assert (answer["device"], answer["rank"], len(answer["candidates"])) == ("a100_80gb", "traffic", 2)


def test_rules_are_added_to_those_of_the_file(cli, problem):
    name = problem(add='[rules]\nextra = ["block_k >= 32"]\n')
    answer = _solved(cli, name, "--rule", "num_warps == 4", "--rule", "block_m <= 64")
    assert {"user.1", "user.2", "user.3"} <= answer["counts"]["rejected"].keys()
    for candidate in answer["candidates"]:
        tile = candidate["tile"]
        assert (tile["block_k"] >= 32, tile["num_warps"], tile["block_m"] <= 64) == (True, 4, True)


def test_set_takes_toml_values_and_bare_words(cli, problem):
    given = (
        "op.m=4_096",
        "op.dtype=bf16",
        "op.bias=true",
        "space.block_m=[64, 128]",
        "space.block_n={min=64,max=128,power_of_two=true}",
    )
    answer = _solved(cli, problem(), *(part for text in given for part in ("--set", text)))
    assert (answer["op"]["m"], answer["op"]["a"], answer["op"]["bias"]) == (4096, "bf16", True)
    assert answer["space"]["variables"]["block_m"] == [64, 128]
    assert answer["space"]["variables"]["block_n"] == [64, 128]


def test_preset_and_soft_tiles(cli, problem):
    assert _solved(cli, problem(), "--preset", "seed-carver")["counts"]["feasible"] > 0
    assert _solved(cli, problem(), "--allow-soft")["counts"]["soft"] is not None


def test_a_device_path_is_one_from_here(cli, problem, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "card.toml").write_text('name = "there"\ninherits = "h200"\n')
    (tmp_path / "card.toml").write_text('name = "here"\ninherits = "h200"\n')
    name = problem({'"h200"': '"card.toml"'}, name="sub/problem.toml")
    assert _solved(cli, name)["device"] == "there"
    assert _solved(cli, name, "--device", "card.toml")["device"] == "here"


@pytest.mark.parametrize("before", [True, False])
def test_global_options_stand_before_or_after(cli, before):
    command, options = ["devices", "list"], ["--format", "csv", "-q"]
    done = cli(*options, *command) if before else cli(*command, *options)
    assert done.out.startswith("name,vendor,")


def test_the_later_format_wins(cli):
    assert cli("--format", "json", "devices", "--format", "md", "list", "--format", "csv").out.startswith("name,")
    assert cli("--format", "json", "devices", "--format", "md", "list").out.startswith("| name")


def test_quiet_leaves_notes_out(cli, problem):
    name = problem()
    assert "notes:" in cli("solve", name).out
    assert "notes:" not in cli("solve", name, "-q").out
    assert cli("solve", name, "--format", "csv").err.startswith("note: ")
    assert cli("-q", "solve", name, "--format", "csv").err == ""


@pytest.mark.parametrize("arguments", [["--version"], ["solve", "--version"], ["devices", "list", "--version"]])
def test_version(cli, arguments):
    done = cli(*arguments)
    assert done.status == 0
    assert done.out.startswith("tilesearch 0.")


@pytest.mark.parametrize(
    "command", [[], ["solve"], ["check"], ["explain"], ["devices", "diff"], ["schema"], ["verify"]]
)
def test_help(cli, command):
    done = cli(*command, "--help")
    assert (done.status, done.err) == (0, "")
    assert "Usage: tilesearch" in done.out
    assert "--format" in done.out


@pytest.mark.parametrize(
    "arguments", [[], ["solve"], ["sovle", "x"], ["check", "gemm4096"], ["devices", "diff", "h200"]]
)
def test_usage_errors(cli, arguments):
    done = cli(*arguments)
    assert (done.status, done.out) == (2, "")
    assert "tilesearch" in done.err
