"""verify: files of any origin, good or bad."""

import json

import pytest

from tilesearch.api import VERIFY_KINDS, verify
from tilesearch.errors import InputError

ROW = {"cc": "9.0", "regs_per_thread": 128, "threads_per_block": 256, "active_blocks_per_sm": 2}
BAD_TEXT = [
    "",
    "{",
    "nonsense",
    '{"rows": 3}',
    "[NaN]",
    '{"rows": [], "rows": []}',
    "[" * 100_000,
    "9" * 10_000,
]
BAD_ROWS = [
    3,
    {},
    {**ROW, "cc": 9.0},
    {**ROW, "cc": "1.0"},
    {**ROW, "regs_per_thread": "128"},
    {**ROW, "regs_per_thread": -1},
    {**ROW, "threads_per_block": 0},
    {**ROW, "dynamic_smem": 2**40},
    {**ROW, "carveout_percent": 101},
    {**ROW, "limiting_factors": "registers"},
    {**ROW, "active_blocks_per_sm": 1.5},
]


def write(folder, content, name="file.json"):
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.mark.parametrize("kind", VERIFY_KINDS)
@pytest.mark.parametrize("text", BAD_TEXT)
def test_bad_files_are_bad_input(tmp_path, kind, text):
    with pytest.raises(InputError):
        verify(kind, [write(tmp_path, text)])


@pytest.mark.parametrize("kind", ["figures", "occupancy", "spaces"])
@pytest.mark.parametrize("text", ["[]", "{}", '{"rows": []}'])
def test_nothing_is_no_evidence(tmp_path, kind, text):
    with pytest.raises(InputError):
        verify(kind, [write(tmp_path, text)])


@pytest.mark.parametrize("kind", VERIFY_KINDS)
def test_no_file_no_text_no_kind(tmp_path, kind):
    for path in (tmp_path / "absent.json", tmp_path):
        with pytest.raises(InputError):
            verify(kind, [path])
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="UTF-8"):
        verify(kind, [tmp_path / "bytes.json"])
    with pytest.raises(InputError, match="no file"):
        verify(kind, [])
    with pytest.raises(InputError, match="did you mean"):
        verify(kind[:-1], [tmp_path])


@pytest.mark.parametrize("row", BAD_ROWS, ids=str)
def test_bad_rows_are_bad_input(tmp_path, row):
    with pytest.raises(InputError):
        verify("occupancy", [write(tmp_path, {"rows": [ROW, row]})])


def test_what_a_row_does_not_say_is_not_compared(tmp_path):
    assert verify("occupancy", [write(tmp_path, {"rows": [ROW]})]).agree == 1


def test_rows_of_several_files_carry_their_names(tmp_path):
    wrong = {"rows": [{**ROW, "active_blocks_per_sm": 9}]}
    answer = verify("occupancy", [write(tmp_path, wrong, "a.json"), write(tmp_path, wrong, "b.json")])
    assert [d.row for d in answer.disagree] == ["a.json:0", "b.json:0"]


def test_figures_by_id(tmp_path):
    rows = [
        {"id": "traffic.64x64", "value": 4328.5, "rel_tol": 1e-3},
        {"id": "traffic.0x64", "value": 1},
        {"id": "balance.fp8", "value": 100},
        {"id": "tile.binding", "value": "regs"},
        {"id": "no.such", "value": 1},
    ]
    answer = verify("figures", [write(tmp_path, rows)])
    assert (answer.agree, answer.skipped) == (1, 1)
    assert [d.row for d in answer.disagree] == ["traffic.0x64", "balance.fp8", "tile.binding"]
    assert any("no figure of this id" in note for note in answer.notes)
