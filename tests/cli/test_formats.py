"""The four formats of every command."""

import csv
import io
import json
import re
from decimal import Decimal

import pytest
from pydantic import TypeAdapter

from tilesearch.answers import (
    CheckAnswer,
    DeviceDiff,
    DeviceRow,
    DeviceSheet,
    ExplainAnswer,
    OccupancyAnswer,
    SolveAnswer,
    VerifyAnswer,
)
from tilesearch.answers.design import DesignAnswer
from tilesearch.answers.fuse import FuseAnswer
from tilesearch.answers.roofline import RooflineAnswer
from tilesearch.answers.shard import ShardAnswer
from tilesearch.api.schema import schema_names

COMMANDS = {
    "solve": (["solve", "gemm4096", "--top", "3"], SolveAnswer, 0),
    "solve nothing": (["solve", "gemm4096", "--rule", "block_m > 9999"], SolveAnswer, 1),
    "check": (["check", "gemm4096", "--tile", "block_m=256,block_n=256,block_k=64"], CheckAnswer, 1),
    "explain": (["explain", "too_big_256x256x64"], ExplainAnswer, 1),
    "roofline": (["roofline", "gemm4096", "--sweep", "m=16..64", "--measured-us", "200"], RooflineAnswer, 0),
    "fuse": (["fuse", "chains/sincos"], FuseAnswer, 0),
    "design": (["design", "layernorm"], DesignAnswer, 0),
    "shard": (["shard", "gemm4096", "--ranks", "2", "--chunks", "2"], ShardAnswer, 0),
    "devices": (["devices"], list[DeviceRow], 0),
    "devices list": (["devices", "list"], list[DeviceRow], 0),
    "devices show": (["devices", "show", "h200"], DeviceSheet, 0),
    "devices diff": (["devices", "diff", "h200", "mi300x"], DeviceDiff, 0),
}


@pytest.mark.parametrize(("arguments", "answer", "status"), COMMANDS.values(), ids=COMMANDS)
def test_json_is_the_answer(cli, arguments, answer, status):
    done = cli(*arguments, "--format", "json")
    assert (done.status, done.err) == (status, "")
    data = json.loads(done.out)
    model = TypeAdapter(answer).validate_python(data)
    assert TypeAdapter(answer).dump_python(model, mode="json") == data
    written = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    written = re.sub(r"[\d.]+e-05\b", lambda found: f"{Decimal(found[0]):f}", written)  # 5.75e-05: 0.0000575
    assert done.out == re.sub(r"(\de-)0(\d)", r"\1\2", written)  # Python writes 3.4e-06 where pydantic writes 3.4e-6


@pytest.mark.parametrize(("arguments", "answer", "status"), COMMANDS.values(), ids=COMMANDS)
def test_csv_is_rectangular(cli, arguments, answer, status):
    done = cli(*arguments, "--format", "csv", "-q")
    assert (done.status, done.err) == (status, "")
    header, *rows = csv.reader(io.StringIO(done.out))
    assert len(set(header)) == len(header)
    assert {len(row) for row in rows} <= {len(header)}


@pytest.mark.parametrize(("arguments", "answer", "status"), COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("style", ["table", "md"])
def test_text(cli, arguments, answer, status, style):
    done = cli(*arguments, "--format", style)
    assert (done.status, done.err) == (status, "")
    assert "\x1b" not in done.out
    assert done.out.endswith("\n")
    assert not done.out.endswith("\n\n")
    if style == "table":
        assert max(map(len, done.out.splitlines())) <= 100


def test_csv_has_a_row_for_each_candidate_rule_and_device(cli):
    def rows(*arguments):
        return list(csv.DictReader(io.StringIO(cli(*arguments, "--format", "csv", "-q").out)))

    solved = rows("solve", "gemm4096", "--top", "3")
    assert [row["rank"] for row in solved] == ["1", "2", "3"]
    assert solved[0]["block_m"] == "256"
    assert solved[0]["time_us"] == ""
    checked = {row["id"]: row for row in rows("check", "gemm4096", "--tile", "block_m=256,block_n=256,block_k=64")}
    assert checked["C2.accumulators"]["ok"] == "false"
    assert checked["C1.shared_memory"]["limit"] == "232448"
    assert {"h200", "mi300x"} <= {row["name"] for row in rows("devices", "list")}


@pytest.mark.parametrize("name", schema_names())
@pytest.mark.parametrize("style", ["table", "json"])
def test_schemas(cli, name, style):
    done = cli("schema", name, "--format", style)
    assert done.status == 0
    data = json.loads(done.out)
    assert data["title"] == f"tilesearch {name}"
    assert data["$schema"].startswith("https://json-schema.org/")


def test_an_unknown_schema_lists_the_names(cli):
    done = cli("schema", "slove")
    assert (done.status, done.out) == (2, "")
    assert "did you mean 'solve'?" in done.err
    assert all(name in done.err for name in schema_names())


def test_schemas_say_what_answers_hold(cli):
    models = {"solve": SolveAnswer, "check": CheckAnswer, "explain": ExplainAnswer, "verify": VerifyAnswer}
    for name, model in {**models, "occupancy": OccupancyAnswer}.items():
        properties = json.loads(cli("schema", name).out)["properties"]
        assert properties.keys() == model.model_fields.keys()


def test_the_problem_schema_knows_ranges_and_operators(cli):
    data = json.loads(cli("schema", "problem").out)
    assert {"$ref": "#/$defs/Span"} in data["properties"]["space"]["additionalProperties"]["anyOf"]
    assert {"$ref": "#/$defs/Gemm"} in data["properties"]["op"]["oneOf"]
    assert data["$defs"]["Gemm"]["properties"]["kind"] == {"const": "gemm"}


def test_the_device_schema_admits_words_and_inheritance(cli):
    data = json.loads(cli("schema", "device").out)
    bare, table = data["$defs"]["Quantity"]["anyOf"]
    assert {"enum": ["unknown", "not applied"]} in bare["anyOf"]
    assert "applies" not in table["properties"]
    assert {"required": ["name", "inherits"]} in data["$defs"]["NvidiaDevice"]["anyOf"]
