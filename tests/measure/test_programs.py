"""Exported code as a program: loaded, given inputs, checked and compiled, without a GPU."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest

import tilesearch as ts
from tilesearch.measure.compile import Built, Compilers
from tilesearch.measure.probes import measured
from tilesearch.measure.stamps import Stamps
from tilesearch.measure.timer import reading_of, resolution

CODE = """
import json, sys, torch
import triton
from pathlib import Path
import tilesearch as ts
from tilesearch.measure.program import inputs_of, load, relative_error
cases = [
    (ts.Gemm(m=70, n=48, k=40, dtype="fp16", bias=True, activation="gelu"), "pointer"),
    (ts.Gemm(batch=2, m=40, n=64, k=33, dtype="fp16", trans_a=True, trans_b=True), "pointer"),
    (ts.Gemm(m=64, n=64, k=128, dtype="fp16", out="fp32", trans_b=True), "tma"),
    (ts.Gemm(m=64, n=64, k=64, dtype="int8", out="int32", trans_b=True), "tma"),
    (ts.Attention(batch=1, heads=4, kv_heads=2, q_len=70, head_dim=64, causal=True, dtype="fp16"), "pointer"),
    (ts.Reduction(shape=(5, 300), function="rmsnorm", dtype="fp16"), "pointer"),
    (ts.Reduction(shape=(5, 300), function="softmax", dtype="fp16"), "pointer"),
]
for number, (op, variant) in enumerate(cases):
    code = ts.export(op, "h200", to="triton", kernel={"language": "triton", "version": "3.6", "variant": variant}).code
    path = Path(sys.argv[1]) / f"case{number}.py"
    path.write_text(code)
    inputs = inputs_of(torch, op, "TensorDescriptor" not in code, "cpu")
    error = relative_error(torch, load(path), inputs, inputs.wanted())
    assert error < 2e-2, (op, error)
"""


def test_exported_programs_agree_with_their_references(tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("triton")
    if tuple(int(part) for part in np.__version__.split(".")[:2]) >= (2, 4):
        pytest.skip("Triton's interpreter needs numpy before 2.4")
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]


def slow(place, seconds):
    time.sleep(seconds)
    if seconds == 0.01:
        raise ValueError("no")
    return Built(place, seconds)


def test_compilers_survive_what_fails_and_what_takes_too_long():
    with Compilers(2) as pool:
        done = {b.place: b for b in pool.run_all({0: (slow, 0, 0.0), 1: (slow, 1, 0.01), 2: (slow, 2, 600)}, 8)}
    assert done[0].error == ""
    assert done[1].error == "ValueError: no"
    assert "time limit" in done[2].error


def test_stamps():
    rows = [[0, 100, 300, 1000, 1100], [0, 200, 500, 1050, 1200], [1, 0, 400, 1000, 1200]]

    class Tensor:
        def cpu(self):
            return self

        def numpy(self):
            return np.array(rows).reshape(-1)

    read = Stamps.of(Tensor())
    assert read.hertz() == pytest.approx(2e9)
    assert read.seconds() == pytest.approx(200e-9)
    assert read.cycles_each() == 300


def test_readings():
    found = reading_of([3.0, 1.0, 2.0])
    assert (found.median_us, found.launches, found.spread) == (2.0, 3, 2.0)
    assert resolution({"a": [100, 101], "b": [50.0, 50.0, 51.0], "c": [1.0]}) == pytest.approx(0.015)


def test_counts_that_differ_between_shapes_are_no_specialisation():
    for variant, name in (("pointer", "steps"), ("persistent_tma", "programs")):
        code = ts.export(
            ts.Gemm(m=256, n=256, k=256, dtype="fp16"),
            "h200",
            to="triton",
            kernel={"language": "triton", "variant": variant},
        ).code
        assert f'do_not_specialize=["{name}"]' in code


def test_a_difference_within_the_noise_is_no_measurement():
    assert measured("a", [1.0, 3.0, 2.0], "s", "").spread == 1
    with pytest.raises(ValueError, match="not above the noise"):
        measured("a", [-1.0, 0.0, 2.0], "s", "")
