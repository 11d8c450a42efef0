from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

import pytest
from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, field_validator, model_validator

from tilesearch.errors import InputError, Issue
from tilesearch.specs.validation import Fault, dotted, fault, faults, load_toml, validate


class Spec(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Gemm(Spec):
    kind: Literal["gemm"]
    extent: Annotated[StrictInt, Field(gt=0)]
    inner: list[Window] = Field(default_factory=list)


class Conv(Spec):
    kind: Literal["conv2d"]
    window: Window


class Window(Spec):
    height: StrictInt
    layout: Literal["nhwc", "nchw"] = "nhwc"


class Problem(Spec):
    device: StrictStr
    op: Annotated[Gemm | Conv, Field(discriminator="kind")]
    stages: StrictInt | Literal["auto"] | None = None
    space: dict[str, list[StrictInt]] = Field(default_factory=dict)
    pairs: dict[str, Window] = Field(default_factory=dict)
    even: StrictInt = 0
    other: int | None = None

    @field_validator("even")
    @classmethod
    def _even(cls, value: int) -> int:
        if value % 2:
            raise fault(f"must be even, got {value} {{not a template}}", "add 1")
        return value

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.device == "bad":
            raise faults([Fault("one", key="op.kind"), Fault("two", "do something", "space")])
        if self.device == "value-error":
            raise ValueError("as it is")
        return self


def issues(data: dict[str, Any], prefix: str = "") -> dict[str, Issue]:
    with pytest.raises(InputError) as raised:
        validate(Problem, data, "file.toml", prefix)
    found = raised.value.issues
    assert all(issue.source == "file.toml" for issue in found)
    by_key = {issue.where: issue for issue in found}
    assert len(by_key) == len(found)
    return by_key


GEMM = {"kind": "gemm", "extent": 4}


def test_valid_data_give_the_model() -> None:
    assert validate(Problem, {"device": "h200", "op": GEMM}).op == Gemm(kind="gemm", extent=4)


def test_every_fault_is_reported_at_once_with_the_nearest_key() -> None:
    found = issues({"devise": "h200", "op": {"kind": "gemm", "extnt": -1}, "even": 3, "space": {"m": ["x"]}})
    assert set(found) == {"device", "devise", "op.extent", "op.extnt", "even", "space.m[0]"}
    assert "absent" in found["device"].message
    assert found["devise"].hint == "did you mean 'device'?"
    assert found["op.extnt"].hint == "did you mean 'extent'?"
    assert found["space.m[0]"].message == "an integer is wanted, got 'x'"
    assert found["even"].message == "must be even, got 3 {not a template}"
    assert found["even"].hint == "add 1"


def test_keys_of_nested_models_are_suggested_below_unions_lists_and_tables() -> None:
    found = issues({"device": "", "op": {"kind": "conv2d", "window": {"heigth": 3}}})
    assert found["op.window.heigth"].hint == "did you mean 'height'?"
    found = issues({"device": "", "op": {**GEMM, "inner": [{"height": 1}, {"height": 1, "layuot": "nhwc"}]}})
    assert found["op.inner[1].layuot"].hint == "did you mean 'layout'?"
    found = issues({"device": "", "op": GEMM, "pairs": {"a.b": {"height": 1, "hight": 2}}})
    assert found['pairs."a.b".hight'].hint == "did you mean 'height'?"


def test_choices_are_suggested() -> None:
    found = issues({"device": "", "op": {"kind": "conv2d", "window": {"height": 3, "layout": "nhcw"}}})
    assert found["op.window.layout"].hint in ("did you mean 'nhwc'?", "did you mean 'nchw'?")
    assert found["op.window.layout"].message == "unknown value 'nhcw'"
    found = issues({"device": "", "op": {"kind": "conv2d", "window": {"height": 3, "layout": 4}}})
    assert "got 4" in found["op.window.layout"].message


def test_the_tag_of_a_union() -> None:
    assert issues({"device": "", "op": {"kind": "gem"}})["op.kind"].hint == "did you mean 'gemm'?"
    absent = issues({"device": "", "op": {"extent": 3}})["op.kind"]
    assert "absent" in absent.message
    assert issues({"device": "", "op": 5})["op"].message == "a table is wanted, got 5"


def test_a_value_of_several_types_is_one_fault() -> None:
    found = issues({"device": "", "op": GEMM, "stages": "manual"})
    assert set(found) == {"stages"}
    assert "an integer is wanted" in found["stages"].message
    assert "'auto'" in found["stages"].message + found["stages"].hint


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("device", 9.0, "a string is wanted, got 9.0"),
        ("even", True, "an integer is wanted, got true"),
        ("even", "2", "an integer is wanted, got '2'"),
        ("other", 1.5, "an integer is wanted, got 1.5"),
        ("other", "many", "an integer is wanted, got 'many'"),
        ("space", 4, "a table is wanted, got 4"),
        ("space", {"m": 4}, "a list is wanted, got 4"),
    ],
)
def test_wrong_types(key: str, value: object, message: str) -> None:
    (issue,) = issues({"device": "", "op": GEMM, key: value}).values()
    assert issue.message == message


def test_limits_name_the_value() -> None:
    found = issues({"device": "", "op": {"kind": "gemm", "extent": 0}})
    assert found["op.extent"].message == "must be greater than 0, got 0"


def test_faults_of_a_whole_model() -> None:
    found = issues({"device": "bad", "op": GEMM}, prefix="problems[2]")
    assert {where: issue.hint for where, issue in found.items()} == {
        "problems[2].op.kind": "",
        "problems[2].space": "do something",
    }
    assert issues({"device": "value-error", "op": GEMM})[""].message == "as it is"


def test_dotted_keys_are_written_as_in_toml() -> None:
    assert dotted("roofs", "tensor_core.fp16", "calibrations", 0, "id") == (
        'roofs."tensor_core.fp16".calibrations[0].id'
    )


def test_load_toml(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text("\ufeffa = 1\n", encoding="utf-8")
    assert load_toml(file) == {"a": 1}
    assert load_toml(str(file)) == {"a": 1}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a = ", "is not valid TOML"),
        (b"a = 1\na = 2\n", "is not valid TOML"),
        (b"a = 1" + b"0" * 5000, "is not valid TOML"),
        (b"a = 2020-13-45", "is not valid TOML"),
        (b"\x80\x81\x00", "not a text file"),
        (b"a = " + b"[" * 100_000, "is not valid TOML"),
    ],
)
def test_files_that_are_not_toml(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "a.toml"
    file.write_bytes(content)
    with pytest.raises(InputError, match=message) as raised:
        load_toml(file)
    assert raised.value.issues[0].source == str(file)


def test_files_that_are_no_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        load_toml(tmp_path / "absent.toml")
    with pytest.raises(InputError, match="is a directory"):
        load_toml(tmp_path)
    with pytest.raises(InputError):
        load_toml("a\0b.toml")
