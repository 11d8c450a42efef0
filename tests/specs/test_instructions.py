from __future__ import annotations

import pytest

from tilesearch.errors import InputError
from tilesearch.specs.devices import list_devices, load_device
from tilesearch.specs.instructions import FAMILIES, Instruction, families_of, instructions_for


def fast(device: str, a: str, acc: str, b: str | None = None) -> list[Instruction]:
    return [i for i in instructions_for(load_device(device), a, acc, b) if not i.slow]


def shapes(found: list[Instruction]) -> set[tuple[int, tuple[int, ...], int]]:
    return {(i.m, i.n_values, i.k) for i in found}


@pytest.mark.parametrize(
    ("device", "families"),
    [
        ("cc70", ["mma"]),
        ("a100_80gb", ["mma"]),
        ("h200", ["wgmma", "mma"]),
        ("b200", ["tcgen05", "mma"]),
        ("cc110", ["tcgen05", "mma"]),
        ("rtx5090", ["mma"]),
        ("cc121", ["mma"]),
        ("mi300x", ["mfma"]),
    ],
)
def test_families(device: str, families: list[str]) -> None:
    assert families_of(load_device(device)) == families


@pytest.mark.parametrize(
    ("device", "a", "acc", "expected"),
    [
        ("v100", "fp16", "fp32", {(8, 8, 4)}),
        ("v100", "bf16", "fp32", set()),
        ("t4", "fp16", "fp32", {(16, 8, 8)}),
        ("t4", "int8", "int32", {(8, 8, 16)}),
        ("t4", "int4", "int32", {(8, 8, 32)}),
        ("cc80", "fp16", "fp16", {(16, 8, 8), (16, 8, 16)}),
        ("cc80", "bf16", "fp32", {(16, 8, 8), (16, 8, 16)}),
        ("cc80", "bf16", "fp16", set()),
        ("cc80", "tf32", "fp32", {(16, 8, 4), (16, 8, 8)}),
        ("cc80", "fp64", "fp64", {(8, 8, 4)}),
        ("cc80", "int8", "int32", {(8, 8, 16), (16, 8, 16), (16, 8, 32)}),
        ("cc80", "int1", "int32", {(8, 8, 128), (16, 8, 128), (16, 8, 256)}),
        ("cc86", "fp8_e4m3", "fp32", set()),
        ("cc86", "fp64", "fp64", set()),
        ("cc89", "fp8_e4m3", "fp32", {(16, 8, 16), (16, 8, 32)}),
        ("cc89", "fp8_e5m2", "fp16", {(16, 8, 16), (16, 8, 32)}),
        ("cc80", "fp32", "fp32", set()),
        ("cc120", "fp4_e2m1", "fp32", {(16, 8, 32), (16, 8, 64)}),
    ],
)
def test_mma_shapes(device: str, a: str, acc: str, expected: set[tuple[int, int, int]]) -> None:
    assert shapes(fast(device, a, acc)) == {(m, (n,), k) for m, n, k in expected}


def test_slow_instructions_come_last_and_say_why() -> None:
    found = instructions_for(load_device("a100_80gb"), "fp16", "fp32")
    assert [i.slow for i in found] == [False, False, True]
    assert (found[-1].m, found[-1].k) == (8, 4)
    assert "Volta" in found[-1].note
    hopper = instructions_for(load_device("h200"), "int4", "int32")
    assert hopper
    assert all(i.slow for i in hopper)


def test_wgmma() -> None:
    first = instructions_for(load_device("h200"), "fp16", "fp32")[0]
    assert (first.family, first.m, first.k, first.threads) == ("wgmma", 64, 16, 128)
    assert first.n_values == tuple(range(8, 257, 8))
    assert first.accumulator_registers_per_thread(256) == 128
    half = instructions_for(load_device("h200"), "fp16", "fp16")[0]
    assert half.accumulator_registers_per_thread(256) == 64


@pytest.mark.parametrize(("a", "k"), [("int8", 32), ("int1", 256)])
def test_integer_wgmma_has_its_own_list_of_n(a: str, k: int) -> None:
    first = instructions_for(load_device("h200"), a, "int32")[0]
    assert first.family == "wgmma"
    assert first.k == k
    assert first.n_values == (8, 16, 24, *range(32, 257, 16))
    assert 40 not in first.n_values


@pytest.mark.parametrize(("a", "k"), [("bf16", 16), ("tf32", 8), ("fp8_e4m3", 32), ("fp8_e5m2", 32), ("int8", 32)])
def test_wgmma_k_is_32_bytes(a: str, k: int) -> None:
    acc = "int32" if a == "int8" else "fp32"
    assert fast("h200", a, acc)[0].k == k


def test_fp8_operands_may_differ_and_others_may_not() -> None:
    assert fast("h200", "fp8_e5m2", "fp32", "fp8_e4m3")
    assert fast("h200", "fp16", "fp32", "bf16") == []


def test_tcgen05() -> None:
    found = fast("b200", "bf16", "fp32")
    one = [i for i in found if i.family == "tcgen05" and i.cta_group == 1 and not i.weight_stationary]
    two = [i for i in found if i.family == "tcgen05" and i.cta_group == 2]
    assert {i.m for i in one} == {64, 128}
    assert {i.n_values for i in one} == {tuple(range(8, 257, 8))}
    assert {i.m for i in two} == {128, 256}
    assert {i.n_values for i in two} == {tuple(range(16, 257, 16))}
    assert found[0].accumulator == "tensor memory"
    assert found[0].accumulator_registers_per_thread(256) == 0
    int8_two = [i for i in fast("b200", "int8", "int32") if i.cta_group == 2]
    assert {i.n_values for i in int8_two} == {tuple(range(32, 257, 32))}


def test_b300_has_no_int8_tcgen05_but_k_96() -> None:
    assert {i.family for i in fast("cc103", "int8", "int32")} == {"mma"}
    k = {i.k for i in fast("cc103", "fp4_e2m1", "fp32") if i.kind == "mxf4"}
    assert k == {64, 96}
    assert {i.k for i in fast("cc100", "fp4_e2m1", "fp32") if i.kind == "mxf4"} == {64}


def test_block_scaled_kinds_have_one_m_for_one_block() -> None:
    scaled = [i for i in fast("b200", "fp8_e4m3", "fp32") if i.scale and i.cta_group == 1]
    assert {i.m for i in scaled} == {128}


def test_mfma() -> None:
    assert {(i.m, i.k) for i in fast("mi300x", "fp16", "fp32")} == {(16, 16), (32, 8)}
    assert {(i.m, i.k) for i in fast("mi355x", "fp16", "fp32")} == {(16, 16), (32, 8), (16, 32), (32, 16)}
    assert fast("mi300x", "fp4_e2m1", "fp32") == []


@pytest.mark.parametrize("device", list_devices())
def test_every_device_orders_its_instructions(device: str) -> None:
    loaded = load_device(device)
    for a, acc in [("fp16", "fp32"), ("int8", "int32"), ("fp8_e4m3", "fp32")]:
        found = instructions_for(loaded, a, acc)
        keys = [(i.slow, FAMILIES.index(i.family)) for i in found]
        assert keys == sorted(keys)
        assert all(i.source for i in found)


def test_unknown_types_are_refused() -> None:
    with pytest.raises(InputError, match="fp17"):
        instructions_for(load_device("h200"), "fp17", "fp32")
