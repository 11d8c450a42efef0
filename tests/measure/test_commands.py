"""The commands without a GPU, and their reports."""

import json
import sys

import pytest

from tests.measure.made import GPU, answer, measurements
from tilesearch.measure.calibrate import answer_of
from tilesearch.report import Format, render
from tilesearch.report.measured import calibrate_report, tune_report
from tilesearch.specs.devices import load_device
from tilesearch.specs.ops import Gemm


@pytest.fixture(params=["no torch", "no GPU"])
def without_gpu(request, monkeypatch):
    if request.param == "no torch":
        monkeypatch.setitem(sys.modules, "torch", None)
        return "needs a GPU, torch and triton"
    torch = pytest.importorskip("torch")
    pytest.importorskip("triton")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    return "needs an NVIDIA GPU"


@pytest.mark.parametrize("command", [("tune", "gemm4096_triton"), ("calibrate",)])
def test_without_a_gpu(cli, without_gpu, command):
    done = cli(*command)
    assert done.status == 2
    assert without_gpu in done.err
    assert done.out == ""


def test_a_shipped_name_is_refused_first(cli):
    done = cli("calibrate", "--device-name", "h200")
    assert done.status == 2
    assert "ships with tilesearch" in done.err


@pytest.mark.parametrize("style", list(Format))
def test_the_report_of_tune(style):
    text = render(tune_report(answer(Gemm(m=1024, n=1024, k=1024, dtype="fp16"), "tma")), style)
    if style is Format.JSON:
        assert json.loads(text)["rows"][0]["launches"] == 20
    elif style is Format.TABLE:
        assert "-9.1" in text
        assert "OutOfResources" in text
        assert "the same launch differs by" in text


@pytest.mark.parametrize("style", list(Format))
def test_the_report_of_calibrate(style):
    made = answer_of("mine", GPU, load_device("h200"), measurements(), {"L2": "broke"})
    text = render(calibrate_report(made), style)
    assert "block_dispatch" in text
    if style is Format.TABLE:
        assert "NO" in text
        assert "could not be measured" in text
