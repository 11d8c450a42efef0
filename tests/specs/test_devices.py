from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.specs.loading import nvidia
from tilesearch.errors import InputError, UnknownLimitError
from tilesearch.specs.data import data_dir
from tilesearch.specs.devices import AmdDevice, AscendDevice, Device, list_devices, load_device

DATA = Path(__file__).parents[1] / "data"

# fmt: off
PRODUCTS = [
    "v100", "t4", "a100_40gb", "a100_80gb", "a10", "rtx3090", "rtx4090", "l4", "l40s", "h100_sxm", "h100_pcie",
    "h20", "h200", "b200", "rtx5090",
]
CAPABILITIES = [
    "cc70", "cc75", "cc80", "cc86", "cc87", "cc89", "cc90", "cc100", "cc103", "cc110", "cc120", "cc121",
]
# fmt: on


# The shipped data


def test_the_shipped_devices() -> None:
    assert {*PRODUCTS, *CAPABILITIES, "mi300x", "mi355x"} <= set(list_devices())
    assert not [name for name in list_devices() if "instruction" in name]


@pytest.mark.parametrize("name", list_devices())
def test_every_shipped_device_loads(name: str) -> None:
    device = load_device(name)
    assert isinstance(device, Device)
    assert device.name == name
    assert load_device(name) is device


def _numbers(value: Any, path: str = "", above: bool = False) -> Iterator[tuple[str, bool]]:
    """Every number in a file, with whether a source stands beside it or in a table that holds it."""
    if isinstance(value, dict):
        sourced = above or bool(value.get("source"))
        for key, item in value.items():
            first = item[0] if isinstance(item, list) and item else item
            if isinstance(first, int | float) and not isinstance(first, bool):
                yield f"{path}.{key}", sourced
            elif key != "mix":
                yield from _numbers(item, f"{path}.{key}", sourced)
    elif isinstance(value, list):
        for item in value:
            yield from _numbers(item, f"{path}[]", above)


@pytest.mark.parametrize("path", sorted(data_dir("hardware").glob("*.toml")), ids=lambda path: path.stem)
def test_every_number_has_a_source(path: Path) -> None:
    numbers = list(_numbers(tomllib.loads(path.read_text())))
    assert numbers or path.stem == "cc121"
    assert [key for key, sourced in numbers if not sourced] == []


def test_no_alias_names_two_devices() -> None:
    seen: dict[str, str] = {}
    for name in list_devices():
        for alias in (name, *load_device(name).aliases):
            plain = alias.casefold().replace("-", "").replace("_", "").replace(" ", "")
            assert seen.setdefault(plain, name) == name, alias


@pytest.mark.parametrize(
    "alias", ["H200", "h200", "NVIDIA H200", "nvidia_h200", "H200_SXM", "h200-sxm", "H200 SXM 141GB"]
)
def test_names_and_aliases_ignore_case_and_separators(alias: str) -> None:
    assert load_device(alias).name == "h200"


def test_limits_per_capability_are_those_of_the_occupancy_oracle() -> None:
    table = json.loads((DATA / "occupancy_properties.json").read_text())["properties_used_per_cc"]
    for capability, expected in table.items():
        device = nvidia("cc" + capability.replace(".", ""))
        assert device.compute_capability == capability
        assert {
            "max_threads_per_sm": device.max_threads_per_sm.value,
            "shared_per_sm": device.shared_per_sm.value,
            "shared_optin": device.shared_per_block_optin.value,
            "reserved": device.reserved_shared_per_block.value,
            "max_blocks": device.max_blocks_per_sm.value,
        } == expected


@pytest.mark.parametrize("name", [*PRODUCTS, *CAPABILITIES])
def test_limits_that_all_nvidia_devices_share(name: str) -> None:
    device = nvidia(name)
    assert device.registers_per_sm.value == device.registers_per_block.value == 65536
    assert device.max_registers_per_thread.value == 255
    assert device.register_allocation_unit.value == 256
    assert device.sub_partitions.value == 4
    assert device.max_threads_per_block.value == 1024
    assert device.warp_size.value == 32
    assert device.max_grid.value == (2147483647, 65535, 65535)
    assert device.carveout_sizes.value is not None
    assert max(device.carveout_sizes.value) == device.shared_per_sm.value
    assert isinstance(device.shared_per_sm.value, int)


def test_barriers_and_clusters_do_not_apply_before_hopper() -> None:
    ampere, hopper = nvidia("a100_80gb"), nvidia("h200")
    assert ampere.capability == (8, 0)
    assert (ampere.barriers_per_sm.known, ampere.barriers_per_sm.applies) == (False, False)
    assert str(ampere.barriers_per_sm) == "not applied"
    assert hopper.barriers_per_sm.value == 64
    assert hopper.cluster_max_size.value == 8
    assert nvidia("rtx5090").barriers_per_sm.value == 24
    assert ampere.tma is None
    assert hopper.tma is not None
    assert hopper.tma.max_box_elements.value == 256


def test_tensor_memory_is_of_10_and_11_only() -> None:
    memory = nvidia("b200").tensor_memory
    assert memory is not None
    assert (memory.columns.value, memory.lanes.value) == (512, 128)
    assert nvidia("cc110").tensor_memory is not None
    assert nvidia("rtx5090").tensor_memory is None
    assert nvidia("h200").tensor_memory is None


def test_a_capability_knows_limits_only() -> None:
    device = nvidia("cc90")
    assert device.limits_only
    assert not device.sm_count.known
    assert device.sm_count.applies
    assert str(device.l2_bytes) == "unknown"
    assert not nvidia("h200").limits_only
    assert nvidia("cc121").compute_capability == "12.1"
    with pytest.raises(UnknownLimitError, match="cc90: bandwidth"):
        device.effective_bandwidth("ceiling")
    with pytest.raises(InputError, match="only the limits"):
        device.roof("tensor_core.fp16")


def test_amd() -> None:
    device = load_device("AMD Instinct MI300X")
    assert isinstance(device, AmdDevice)
    assert device.lds_per_block.value == device.shared_per_block_optin.value == 65536
    assert device.sm_count.value == 304
    assert not device.register_allocation_unit.known
    other = load_device("mi355x")
    assert isinstance(other, AmdDevice)
    assert other.shared_per_block_optin.value == 163840
    assert device.roof("matrix_core.fp16") is device.roof("tensor_core.fp16")


# Roofs and policies


@pytest.mark.parametrize(
    ("roof", "tflops", "balance"),
    [
        ("tensor_core.fp16", 729.26, 161.97),
        ("tensor_core.fp8", 1380.75, 306.67),
        ("cuda_core.fp32", 57.27, 12.72),
        ("tensor_core.bf16", 759.94, 168.78),
        ("tensor_core.tf32", 390.76, 86.79),
    ],
)
def test_the_seed_policy_prints_the_seed_to_the_digit(roof: str, tflops: float, balance: float) -> None:
    device = load_device("h200")
    effective = device.effective_roof(roof, "seed")
    bandwidth = device.effective_bandwidth("seed")
    assert bandwidth.value == 4502.4e9
    assert round(effective.value / 1e12, 2) == tflops
    assert round(effective.value / bandwidth.value, 2) == balance
    assert effective.edition == bandwidth.edition == "B"
    assert effective.policy == "seed"


@pytest.mark.parametrize(
    ("kind", "editions"),
    [
        ("fp16", {"A": {0.75}, "B": {0.737, 0.6684}, "C": {0.8024, 0.7056, 0.6527}}),
        ("bf16", {"A": {0.75}, "B": {0.768, 0.7077}, "C": {0.8432, 0.7346, 0.6775}}),
        ("tf32", {"A": {0.75}, "B": {0.7899, 0.7249}, "C": {0.926, 0.7541, 0.6958}}),
        ("fp8", {"A": {0.75}, "B": {0.6977, 0.6303}, "C": {0.8075, 0.6839, 0.6198}}),
    ],
)
def test_all_editions_of_the_h200_are_kept(kind: str, editions: dict[str, set[float]]) -> None:
    roof = load_device("h200").roof(f"tensor_core.{kind}")
    for edition, ratios in editions.items():
        assert {c.ratio for c in roof.calibrations if c.edition == edition} == ratios


def test_the_ceiling_is_measured_and_does_not_count_zeros() -> None:
    device = load_device("h200")
    effective = device.effective_roof("tensor_core.bf16", "ceiling")
    assert effective.kind == "measured"
    assert effective.value > device.effective_roof("tensor_core.bf16", "seed").value
    zeros = [c for c in device.roof("tensor_core.bf16").calibrations if c.operands == "zeros"]
    assert zeros
    assert "zeros" in effective.note
    assert effective.calibration_id not in {c.id for c in zeros}


def test_the_ceiling_without_a_measurement_is_the_datasheet_and_says_so() -> None:
    effective = load_device("rtx4090").effective_roof("tensor_core.fp16", "ceiling")
    assert effective.calibration_id == "datasheet"
    assert effective.value == effective.theoretical
    assert "nothing measured" in effective.note
    assert effective.source


def test_the_prediction_is_sustained() -> None:
    device = load_device("h200")
    effective = device.effective_roof("tensor_core.fp16", "predict")
    assert effective.ratio == pytest.approx(0.6527)
    assert effective.note == ""
    assert device.effective_bandwidth("predict").calibration_id == "mix-copy"
    assert device.effective_bandwidth("predict", read_share=0.95).calibration_id == "mix-read"
    assert device.effective_bandwidth("predict", read_share=0.65).calibration_id == "mix-triad"


def test_a_prediction_from_another_device_or_a_reported_figure_says_so() -> None:
    assert "warning" in load_device("h100_sxm").effective_roof("tensor_core.fp16", "predict").note
    assert "reported" in load_device("rtx4090").effective_bandwidth("predict").note


def test_the_datasheet_is_the_theoretical_rate() -> None:
    effective = load_device("h200").effective_roof("tensor_core.fp16", "datasheet")
    assert (effective.value, effective.ratio, effective.note) == (989.5e12, 1.0, "")


def test_a_policy_that_the_device_lacks() -> None:
    with pytest.raises(InputError, match=r"rtx4090 has no policy 'seed' \(allowed: ceiling, datasheet, predict"):
        load_device("rtx4090").effective_bandwidth("seed")
    with pytest.raises(InputError, match="did you mean 'ceiling'"):
        load_device("h200").effective_bandwidth("ceilling")
    with pytest.raises(InputError, match=r"names no calibration for cuda_core\.fp64"):
        load_device("h200").effective_roof("cuda_core.fp64", "seed")


def test_geforce_peaks_depend_on_the_accumulator() -> None:
    device = load_device("rtx4090")
    full = device.effective_roof("tensor_core.fp16", "datasheet", acc="fp16")
    half = device.effective_roof("tensor_core.fp16", "datasheet", acc="fp32")
    assert full.value == 2 * half.value
    assert device.roof("tensor_core.fp16@fp16") is device.roof("tensor_core.fp16", acc="float16")
    assert device.effective_roof("tensor_core.fp16", "datasheet").value == half.value


def test_an_accumulator_without_a_peak_of_its_own_is_said() -> None:
    effective = load_device("h200").effective_roof("tensor_core.fp16", "datasheet", acc="fp16")
    assert effective.value == 989.5e12
    assert "no peak is given for accumulation in fp16" in effective.note


def test_roofs_that_are_not_there() -> None:
    device = load_device("h200")
    with pytest.raises(InputError, match="does not support fp6"):
        device.roof("tensor_core.fp6")
    with pytest.raises(InputError, match=r"no roof 'tensor_core.int4' \(it has cuda_core.fp32"):
        device.roof("tensor_core.int4")
    with pytest.raises(InputError, match=r"unit\.dtype"):
        device.roof("tensor_core")
    with pytest.raises(UnknownLimitError, match=r"rtx5090: tensor_core\.fp16"):
        load_device("rtx5090").effective_roof("tensor_core.fp16", "ceiling")
    assert not device.supports("e2m1")
    assert device.supports("fp8")


def test_ascend() -> None:
    device = load_device("Ascend 950PR")
    assert isinstance(device, AscendDevice)
    assert (device.name, device.architecture, device.cube_cores.value, device.sm_count.value) == (
        "ascend950",
        "dav-3510",
        28,
        28,
    )
    assert (device.ub_bytes.value, device.ub_simt_bytes.value, device.l0c_bytes.value) == (253952, 221184, 262144)
    assert device.bandwidth.theoretical.value == 1.6e12
    assert device.effective_roof("matrix_core.bf16", "datasheet").value == pytest.approx(378e12, rel=0.002)
    assert not device.fixpipe_alignment.known
    older = load_device("ascend910b1")
    assert isinstance(older, AscendDevice)
    assert older.l0c_bytes.value == 131072
    assert older.fixpipe_alignment.value == 64
    assert "128" in older.fixpipe_alignment.note
    assert older.paths["gm_l1"].base == "unknown"
    assert not older.ub_simt_bytes.applies
    assert not load_device("ascend910b4").clocks["aicore"].known


def test_devices_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load_device("h200").name = "other"  # type: ignore[misc]
