"""Files of one's own: what they inherit, and what is wrong with them, all at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.specs.loading import nvidia
from tilesearch.errors import InputError, Issue, UnknownLimitError
from tilesearch.specs.devices import load_device

BASE = 'name = "mine"\nvendor = "nvidia"\ninherits = "h200"\n'


def write(folder: Path, text: str, name: str = "mine.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def issues(path: Path | str) -> dict[str, Issue]:
    with pytest.raises(InputError) as raised:
        load_device(path)
    return {issue.where: issue for issue in raised.value.issues}


def test_a_file_may_inherit_from_a_shipped_device(tmp_path: Path) -> None:
    text = BASE + 'sm_count = 100\n[roofs."tensor_core.fp16"]\ntheoretical = 1e15\n[policies]\nmine = {}\n'
    path = write(tmp_path, text)
    for given in (path, str(path)):
        device = nvidia(given)
        assert device.name == "mine"
        assert device.aliases == ()
        assert device.sm_count.value == 100
        assert device.sm_count.source == ""
        # An entry of a table replaces the entry of the same name and leaves the others.
        assert device.roof("tensor_core.fp16").calibrations == ()
        assert device.roof("tensor_core.bf16").calibrations


def test_a_replaced_roof_leaves_the_inherited_policies(tmp_path: Path) -> None:
    device = load_device(write(tmp_path, BASE + '[roofs."tensor_core.fp16"]\ntheoretical = 1e15\n'))
    assert device.effective_roof("tensor_core.bf16", "seed").edition == "B"
    with pytest.raises(InputError, match="names no calibration"):
        device.effective_roof("tensor_core.fp16", "seed")
    assert device.effective_roof("tensor_core.fp16", "predict").value == 1e15
    with pytest.raises(InputError, match="names no calibration for bandwidth"):
        load_device(write(tmp_path, BASE + "[bandwidth]\ntheoretical = 1e12\n")).effective_bandwidth("seed")


def test_inheritance_by_path_and_in_a_chain(tmp_path: Path) -> None:
    write(tmp_path, BASE + "sm_count = 7\n", "parent.toml")
    child = write(tmp_path, 'name = "child"\nvendor = "nvidia"\ninherits = "parent.toml"\n', "child.toml")
    assert nvidia(child).sm_count.value == 7
    assert nvidia(child).compute_capability == "9.0"


def test_inheritance_cycles(tmp_path: Path) -> None:
    write(tmp_path, BASE.replace("h200", "b.toml"), "a.toml")
    write(tmp_path, BASE.replace("h200", "a.toml"), "b.toml")
    (issue,) = issues(tmp_path / "a.toml").values()
    assert "inherits from itself" in issue.message
    assert "a.toml" in issue.message
    assert "b.toml" in issue.message


@pytest.mark.parametrize(("parent", "hint"), [("h20o", "'h20'"), ("cc99", "'cc90'")])
def test_an_unknown_parent(tmp_path: Path, parent: str, hint: str) -> None:
    found = issues(write(tmp_path, BASE.replace("h200", parent)))
    assert hint in found["inherits"].hint


def test_a_parent_that_is_no_file(tmp_path: Path) -> None:
    assert "no such file" in issues(write(tmp_path, BASE.replace("h200", "p.toml")))["inherits"].message
    assert "name of a device" in issues(write(tmp_path, 'vendor = "nvidia"\ninherits = 5\n'))["inherits"].message


def test_an_inherited_fault_names_the_file_that_it_stands_in(tmp_path: Path) -> None:
    write(tmp_path, BASE + "sm_count = -1\n[time]\na = true\n", "parent.toml")
    text = 'name = "c"\nvendor = "nvidia"\ninherits = "parent.toml"\nl2_bytes = 0\n[time]\nb = true\n'
    found = issues(write(tmp_path, text, "child.toml"))
    assert {where: Path(issue.source).name for where, issue in found.items()} == {
        "sm_count": "parent.toml",
        "time.a": "parent.toml",
        "l2_bytes": "child.toml",
        "time.b": "child.toml",
    }


@pytest.mark.parametrize(
    ("line", "key", "message", "hint"),
    [
        ("sm_cuont = 5", "sm_cuont", "unknown key", "did you mean 'sm_count'?"),
        ('l2_bytes = "50 MB"', "l2_bytes", "bytes are wanted as a plain number", "52428800"),
        ('shared_per_sm = { value = "227 KB" }', "shared_per_sm.value", "plain number", "232448"),
        ('shared_per_sm = { value = 227, unit = "KB" }', "shared_per_sm.unit", "unknown unit", "the unit is B"),
        ('sm_count = "132"', "sm_count", "a number is wanted", "leave the quotes out"),
        ('sm_count = "many"', "sm_count", 'a number or "unknown" is wanted', ""),
        ("sm_count = 0", "sm_count", "must be at least 1, got 0", ""),
        ("sm_count = -4", "sm_count", "must be at least 1, got -4", ""),
        ("sm_count = 1.5", "sm_count", "an integer is wanted", ""),
        ("sm_count = true", "sm_count", "got true", ""),
        ("sm_count = inf", "sm_count", "finite", ""),
        ("l2_bytes = 1" + "0" * 400, "l2_bytes", "below 2**63", ""),
        ("interconnect = nan", "interconnect", "finite", ""),
        ("sm_count = [1]", "sm_count", "got [1]", ""),
        ("sm_count = { valeu = 4 }", ".valeu", "unknown key", "did you mean 'value'?"),
        ("sm_count = { value = 4, source = 5 }", "sm_count.source", "a string is wanted", ""),
        ("sm_count = { value = 4, applies = false }", "sm_count", "unknown key 'applies'", "not applied"),
        ("max_grid = 5", "max_grid", "a list of numbers", ""),
        ("max_grid = [1, 2]", "max_grid", "three numbers", ""),
        ("compute_capability = 9.0", "compute_capability", "a string is wanted, got 9.0", ""),
        ("shared_per_block_optin = 400000", "shared_per_block_optin", "more than shared_per_sm", ""),
        ("aliases = 5", "aliases", "a list is wanted", ""),
        ('unsupported_tensor_dtypes = ["fp61"]', "unsupported_tensor_dtypes[0]", "unknown data type", "'fp6'"),
        ("bandwidth = { theoretical = -1.0 }", "bandwidth.theoretical", "greater than 0", ""),
        ('clocks = { boost = "fast" }', "clocks.boost", "a number", ""),
        ("roofs = { fp16 = { theoretical = 1e12 } }", "roofs.fp16", "named unit.dtype", ""),
        ('roofs = { "tensor_core.half" = { theoretical = 1e12 } }', "", "is written 'tensor_core.fp16'", ""),
        ('roofs = { "tensor_core.fp16@fp16" = { acc = "fp32", theoretical = 1e12 } }', "", "the name says", ""),
        ('policies = { seed = { "tensor_core.fp61" = "burst" } }', "", "no roof", "tensor_core.fp6"),
        ('policies = { seed = { bandwidth = "mix-reed" } }', "policies.seed.bandwidth", "no cal", "'mix-read'"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, line: str, key: str, message: str, hint: str) -> None:
    found = issues(write(tmp_path, BASE + line + "\n"))
    (issue,) = (issue for where, issue in found.items() if key in where)
    assert message in issue.message
    assert hint in issue.hint
    assert issue.source.endswith("mine.toml")


@pytest.mark.parametrize(
    ("calibration", "key", "message"),
    [
        ('id = "a", kind = "mesured", ratio = 0.7', ".kind", "unknown value 'mesured'"),
        ('id = "a", kind = "measured", ratio = 73.7', ".ratio", "at most 2"),
        ('id = "a", kind = "measured", ratio = 0', ".ratio", "greater than 0"),
        ('id = "a", kind = "measured"', "", "exactly one of ratio and value"),
        ('id = "a", kind = "measured", ratio = 0.7, value = 1e12', "", "exactly one of ratio and value"),
        ('id = "a", kind = "measured", ratio = "0.7"', ".ratio", "a number is wanted"),
        ('id = "a", kind = "measured", ratio = 0.7, mix = { read = 0.5 }', ".mix", "add up to 1"),
        ('id = "datasheet", kind = "measured", ratio = 0.7', "", "reserved"),
        ('kind = "measured", ratio = 0.7', ".id", "absent"),
    ],
)
def test_calibrations_are_checked(tmp_path: Path, calibration: str, key: str, message: str) -> None:
    text = BASE + f"[bandwidth]\ntheoretical = 1e12\ncalibrations = [{{ {calibration} }}]\n[policies]\nseed = {{}}\n"
    text += "predict = {}\n"
    ((where, issue),) = issues(write(tmp_path, text)).items()
    assert where.startswith("bandwidth.calibrations")
    assert where.endswith(key)
    assert message in issue.message


def test_two_calibrations_of_one_id(tmp_path: Path) -> None:
    one = '{ id = "a", kind = "measured", ratio = 0.7 }'
    found = issues(write(tmp_path, BASE + f"bandwidth = {{ theoretical = 1e12, calibrations = [{one}, {one}] }}\n"))
    assert "used twice" in found["bandwidth.calibrations"].message


def test_all_faults_of_a_file_come_at_once(tmp_path: Path) -> None:
    found = issues(write(tmp_path, BASE + 'sm_cuont = 5\nl2_bytes = "50 MB"\nwarp_size = -1\n[bandwith]\n'))
    assert set(found) == {"sm_cuont", "l2_bytes", "warp_size", "bandwith"}


def test_all_faults_of_the_policies_come_at_once(tmp_path: Path) -> None:
    text = BASE + '[policies]\nseed = { bandwidth = "x", "tensor_core.fp99" = "burst", "cuda_core.fp32" = "y" }\n'
    assert len(issues(write(tmp_path, text))) == 3


def test_an_absent_key_is_an_error_and_unknown_is_not(tmp_path: Path) -> None:
    text = 'name = "mine"\nvendor = "nvidia"\ninherits = "cc90"\n'
    found = issues(write(tmp_path, text))
    assert set(found) == {"sm_count", "l2_bytes", "hbm_bytes", "bandwidth", "interconnect"}
    assert found["sm_count"].hint == 'write "unknown" if it is not known'
    known = "\n".join(f'{key} = "unknown"' for key in ("sm_count", "l2_bytes", "hbm_bytes", "interconnect"))
    device = nvidia(write(tmp_path, f'{text}{known}\n[bandwidth]\ntheoretical = "unknown"\n'))
    assert not device.sm_count.known
    with pytest.raises(UnknownLimitError):
        device.effective_bandwidth("datasheet")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('name = "x"\n', "absent"),
        ('name = "x"\nvendor = "nvida"\n', "unknown vendor 'nvida'"),
        ('name = "x"\nvendor = 5\n', "a string is wanted"),
    ],
)
def test_the_vendor(tmp_path: Path, text: str, message: str) -> None:
    assert message in issues(write(tmp_path, text))["vendor"].message


@pytest.mark.parametrize(
    ("name", "nearest"), [("h300", "h200"), ("rtx 4080", "rtx4090"), ("MI300", "mi300x"), ("a100 80", "a100_80gb")]
)
def test_unknown_names_suggest_the_nearest(name: str, nearest: str) -> None:
    (issue,) = issues(name).values()
    assert repr(name) in issue.message
    assert nearest in issue.hint or "mean" in issue.hint


@pytest.mark.parametrize("name", ["", " ", "." * 5000, "a\0b", "\u00e9"])
def test_hopeless_names(name: str) -> None:
    with pytest.raises(InputError):
        load_device(name)


def test_ascend_files_are_checked(tmp_path: Path) -> None:
    text = 'name = "x"\nvendor = "ascend"\ninherits = "ascend950"\n'
    found = issues(write(tmp_path, text + 'vector_cores = { value = 28, source = "s" }\n'))
    assert "not 2 each" in found["vector_cores"].message
    band = '[paths.gm_ub]\npipe = "MTE2"\nbase = 1\nbandwidth = 1\n[paths.gm_ub.strided]\n'
    band += "unknown = { from_bytes = 0, bandwidth = 1 }\nbands = [{ from_bytes = 0, transaction = 128 }]\n"
    assert "a band has one of" in issues(write(tmp_path, text + band))["paths.gm_ub.strided"].message


def test_what_is_no_device_file(tmp_path: Path) -> None:
    assert "is a directory" in issues(tmp_path)[""].message
    assert "no such file" in issues(tmp_path / "absent.toml")[""].message
    binary = tmp_path / "b.toml"
    binary.write_bytes(b"\x80\x00")
    assert "not a text file" in issues(binary)[""].message
    assert "not valid TOML" in issues(write(tmp_path, "name = \n"))[""].message
