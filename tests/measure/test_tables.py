"""What is written of measurements can be read again."""

from pathlib import Path

import pytest

from tests.measure.made import GPU, answer, measurements
from tilesearch.answers.measured import CalibrateAnswer
from tilesearch.api.check import check
from tilesearch.api.context import make
from tilesearch.api.solve import solve_problem
from tilesearch.api.verify import VERIFY_KINDS, verify
from tilesearch.api.verify.times.cases import cases_of
from tilesearch.api.verify.times.read import read_times
from tilesearch.api.verify.times.rows import Timed
from tilesearch.api.verify.times.verify import verify_times
from tilesearch.errors import InputError
from tilesearch.measure.calibrate import answer_of
from tilesearch.measure.device_file import check_name, device_text, shipped_for
from tilesearch.measure.device_file import write as write_device
from tilesearch.measure.gpu import Gpu
from tilesearch.measure.table import write
from tilesearch.models.time import Constants, constants_of
from tilesearch.specs.devices import load_device
from tilesearch.specs.ops import Attention, Gemm, Reduction

DATA = Path(__file__).resolve().parents[1] / "data" / "times_gemm.csv.gz"
OPS = {
    "gemm": (Gemm(m=1024, n=2048, k=512, dtype="bf16"), "tma"),
    "batched": (Gemm(batch=4, m=256, n=256, k=512, dtype="fp16"), "pointer"),
    "attention": (Attention(batch=1, heads=8, q_len=1024, head_dim=128, causal=True, dtype="fp16"), "pointer"),
    "rows": (Reduction(shape=(2048, 4096), function="rmsnorm", dtype="bf16"), None),
}


@pytest.mark.parametrize("name", OPS)
def test_tuned_tiles_are_read_by_verify(tmp_path, name):
    op, variant = OPS[name]
    made = answer(op, variant)
    file = tmp_path / "tuned.csv"
    write([made], file)
    rows = list(read_times([file]))
    assert [row.time_us for row in rows] == [row.time_us for row in made.rows if row.time_us is not None]
    assert rows[0].op == op
    assert dict(rows[0].tile) == made.rows[0].tile.as_dict()
    stats = verify_times([file]).stats
    assert stats["mape"] == pytest.approx(made.mean_error, rel=0.01)


@pytest.fixture
def tuned(tmp_path):
    """A table of five tiles that were tuned on a card of the user's, and the card's file."""
    card, file = tmp_path / "mine.toml", tmp_path / "tuned.csv"
    write_device(calibrated(GPU)[1], card)
    made = answer(*OPS["gemm"])
    write([made.model_copy(update={"device": "mine"})], file)
    return file, card


def test_a_table_of_a_card_of_ones_own(tuned):
    file, card = tuned
    with pytest.raises(InputError, match="the device mine is not known: give its file"):
        verify("times", [file])
    stats = verify("times", [file], card).stats
    assert set(stats["kinds"]) == {"tune_gemm_tma on mine"}
    rows = [row for row in read_times([file]) if isinstance(row, Timed)]
    kernel = {"language": "triton", "version": "3.6", "variant": "tma"}
    checked = [check(OPS["gemm"][0], card, dict(row.tile), kernel=kernel).metrics.time_us for row in rows]
    off = [abs(time / row.time_us - 1) for row, time in zip(rows, checked, strict=True)]
    assert stats["mape"] == pytest.approx(sum(off) / len(off), rel=1e-3)
    assert stats["mape"] != pytest.approx(verify("times", [shipped(file)]).stats["mape"], rel=1e-3)


def shipped(file):
    """The same table, measured on the H200."""
    other = file.with_name("h200.csv")
    other.write_text(file.read_text().replace(",mine,", ",h200,"))
    return other


def test_rows_of_another_device_are_named(tuned):
    file, card = tuned
    both = verify("times", [file, shipped(file)], str(card))
    assert (both.agree, both.skipped) == (5, 5)
    assert any("measured on h200, not on mine" in note for note in both.notes)
    with pytest.raises(InputError, match="nothing can be compared: measured on mine, not on h200"):
        verify("times", [file], "H200")
    assert verify("times", [shipped(file)], "H200").stats == verify("times", [shipped(file)]).stats


def test_folds_are_of_the_shipped_constants(tuned):
    """A file under a shipped name judges by its own constants, also the shapes that the fit had seen."""
    _, card = tuned
    card.write_text(card.read_text().replace('name = "mine"', 'name = "h200"'))
    (case, *_), _ = cases_of([DATA], load_device(card))
    (own, *_), _ = cases_of([DATA])
    assert own.seen
    assert own.fair != own.constants
    assert not case.seen
    assert case.fair == constants_of(load_device(card))


@pytest.mark.parametrize("kind", sorted({*VERIFY_KINDS} - {"times"}))
def test_other_kinds_take_no_device(kind):
    with pytest.raises(InputError, match=f"device: verify {kind} takes no device"):
        verify(kind, ["absent.json"], "h200")


def test_the_option(cli, tuned):
    file, card = tuned
    assert "tune_gemm_tma on mine" in cli("verify", "times", file, "--device", card).out
    assert "--device: unknown device 'nodevice'" in cli("verify", "times", file, "--device", "nodevice").err
    refused = cli("verify", "occupancy", file, "--device", card)
    assert refused.status == 2
    assert refused.err.startswith("error: --device: verify occupancy takes no device")


def test_a_file_that_cannot_be_written(tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        write([], tmp_path / "no" / "where.csv")


def calibrated(gpu, failed=None) -> tuple[CalibrateAnswer, str]:
    made = answer_of("mine", gpu, load_device("h200"), measurements(), failed or {})
    return made, device_text(made, gpu, measurements(), "torch 1, Triton 2")


CARDS = {
    "shipped": GPU,
    "not shipped": Gpu("NVIDIA Card 9", (9, 0), 100, 50_000_000, 80_000_000_000),
    "shipped, not calibrated": Gpu("NVIDIA A100-SXM4-80GB", (8, 0), 108, 41_943_040, 85_000_000_000),
}


@pytest.mark.parametrize("card", CARDS)
def test_a_device_file_loads_and_predicts(tmp_path, card):
    _, text = calibrated(CARDS[card], {"L2": "RuntimeError: broke\nbadly"})
    path = tmp_path / "mine.toml"
    write_device(text, path)
    device = load_device(path)
    assert device.name == "mine"
    floor = device.time["launch_floor"]
    assert (floor.value, floor.unit, floor.kind, floor.spread) == (3.5e-6, "s", "measured", 0.02)
    assert "tilesearch calibrate" in floor.source
    constants = constants_of(device)
    assert isinstance(constants, Constants)
    assert constants.launch_floor == pytest.approx(3500)
    kernel = {"language": "triton", "version": "3.6"}
    found = solve_problem(make(Gemm(m=4096, n=4096, k=4096, dtype="fp16"), str(path), kernel=kernel))
    ranked = solve_problem(
        make(Gemm(m=4096, n=4096, k=4096, dtype="fp16"), str(path), kernel=kernel, search={"rank": "time", "top": 1})
    )
    assert found.candidates
    assert ranked.candidates[0].metrics.time_us > 0
    assert any("calibrated on mine" in note for note in ranked.notes) == (card == "shipped")


def test_what_is_kept_says_so(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(calibrated(CARDS["not shipped"])[1])
    kept = load_device(path).time["l2_to_sm"]
    assert kept.source == "kept from h200"
    assert "not measured here" in kept.note
    assert kept.value == pytest.approx(load_device("h200").time["l2_to_sm"].value * 100 / 132, rel=1e-4)


def test_agreement():
    made, _ = calibrated(GPU)
    rows = {row.name: row for row in made.rows}
    assert rows["launch_floor"].within is True
    assert rows["block_dispatch"].within is False
    assert rows["l2_hit_latency"].within is None
    assert "loop_overhead" in made.kept
    assert "launch_floor" not in made.kept


def test_names():
    assert shipped_for(GPU) == "h200"
    assert shipped_for(CARDS["not shipped"]) is None
    assert check_name("mine") == "mine"
    with pytest.raises(InputError, match="ships with tilesearch"):
        check_name("h200")
