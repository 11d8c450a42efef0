from __future__ import annotations

import pytest

from tilesearch.errors import InputError
from tilesearch.specs.dtypes import DTYPES, ROOF_DTYPES, dtype

# fmt: off
NAMES = [
    "fp64", "fp32", "tf32", "fp16", "bf16", "fp8_e4m3", "fp8_e5m2", "fp6", "fp4_e2m1", "int8", "int4", "int32",
]
# fmt: on


@pytest.mark.parametrize("name", NAMES)
def test_every_name_of_the_contract_exists(name: str) -> None:
    assert dtype(name).name == name
    assert str(dtype(name)) == name


@pytest.mark.parametrize(
    ("name", "bits", "kind"),
    [
        ("fp64", 64, "float"),
        ("tf32", 32, "float"),
        ("bf16", 16, "float"),
        ("fp8_e5m2", 8, "float"),
        ("fp6", 6, "float"),
        ("fp4_e2m1", 4, "float"),
        ("int8", 8, "int"),
        ("int4", 4, "int"),
        ("int1", 1, "int"),
    ],
)
def test_width_and_kind(name: str, bits: int, kind: str) -> None:
    assert (dtype(name).bits, dtype(name).kind) == (bits, kind)


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("float16", "fp16"),
        ("half", "fp16"),
        ("torch.bfloat16", "bf16"),
        ("tl.float8e4nv", None),
        ("fp8e4nv", "fp8_e4m3"),
        ("e4m3", "fp8_e4m3"),
        ("float8_e4m3fn", "fp8_e4m3"),
        ("torch.float8_e5m2", "fp8_e5m2"),
        ("FP8-E4M3", "fp8_e4m3"),
        ("fp8", "fp8_e4m3"),
        ("double", "fp64"),
        ("float", "fp32"),
        ("s8", "int8"),
        ("uint8", "int8"),
        ("b1", "int1"),
        ("nvfp4", "fp4_e2m1"),
        ("e3m2", "fp6"),
    ],
)
def test_other_spellings(spelling: str, name: str | None) -> None:
    if name is None:
        with pytest.raises(InputError):
            dtype(spelling)
    else:
        assert dtype(spelling) is DTYPES[name]


def test_a_dtype_is_its_own_spelling() -> None:
    assert dtype(DTYPES["fp16"]) is DTYPES["fp16"]


@pytest.mark.parametrize(
    ("wrong", "nearest"), [("fp61", "fp6"), ("flaot16", "fp16"), ("bflot16", "bf16"), ("int88", "int8")]
)
def test_the_nearest_name_is_suggested(wrong: str, nearest: str) -> None:
    with pytest.raises(InputError) as raised:
        dtype(wrong)
    assert repr(wrong) in raised.value.issues[0].message
    assert repr(nearest) in raised.value.issues[0].hint


def test_a_hopeless_name_lists_what_is_allowed() -> None:
    with pytest.raises(InputError, match="allowed: bf16, "):
        dtype("quaternion")


def test_both_fp8_formats_share_a_roof() -> None:
    assert dtype("fp8_e4m3").roof_name == dtype("fp8_e5m2").roof_name == "fp8"
    assert dtype("fp4_e2m1").roof_name == "fp4"
    assert "fp8" in ROOF_DTYPES


def test_packed_storage_rounds_up_to_whole_bytes() -> None:
    assert dtype("fp6").storage_bytes(5) == 4
    assert dtype("int4").storage_bytes(3) == 2
    assert dtype("fp16").storage_bytes(2**31 - 1) == 2**32 - 2
    assert dtype("fp6").bytes == 0.75
