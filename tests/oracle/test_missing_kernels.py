"""The benchmark's own kernels: right in Triton's interpreter, of the predicted bytes, in a table that is read."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

import tilesearch as ts
from tilesearch.api import verify
from tilesearch.measure.bench import Bench, Sample
from tilesearch.measure.compile import Built
from tilesearch.measure.timer import reading_of

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton", reason="the triton extra is not installed")
# These import Triton themselves.
script = pytest.importorskip("benchmarks.measure_missing")
precompile = pytest.importorskip("benchmarks.missing_bench").precompile

VERSION = ".".join(triton.__version__.split(".")[:2])

PLANE = {"block_m": 32, "block_n": 32, "block_k": 32, "num_stages": 3, "num_warps": 4, "split_k": 1, "group_m": 8}
KEYS = {"block_m": 16, "block_n": 32, "num_stages": 3, "num_warps": 4}
IMAGE = {"n": 2, "h": 9, "w": 7, "c_in": 24, "c_out": 20, "kh": 3, "kw": 3, "pad": 1, "dtype": "fp16"}
PAGES = {"batch": 2, "heads": 8, "kv_heads": 2, "q_len": 1, "kv_len": 150, "head_dim": 32, "page_size": 16}
CASES = [
    (ts.Elementwise(shape=(1000,), inputs=1, dtype="fp16"), {"block_m": 256, "num_warps": 4}),
    (ts.Elementwise(shape=(1000,), inputs=2, dtype="fp16"), {"block_m": 128, "num_warps": 2}),
    (ts.GroupedGemm(groups=(70, 3, 33), n=50, k=70, dtype="fp16"), PLANE),
    (ts.Conv2d(**IMAGE), PLANE | {"block_k": 16}),
    (ts.Conv2d(**IMAGE, stride=2), PLANE | {"block_k": 16}),
    *((ts.Attention(**PAGES, dtype="fp16"), KEYS | {"split_k": parts}) for parts in (1, 2, 8)),
]
PROGRAM = """
import json, sys
from benchmarks.missing_bench import OwnProgram, own
from tilesearch.specs.ops import parse_op
for op, tile in json.loads(sys.argv[1]):
    program = OwnProgram(parse_op(op), tile)
    inputs = own(program.op).inputs(program.op, "cpu")
    wanted = own(program.op).wanted(program.op, inputs)
    error = ((program(*inputs).float().reshape(wanted.shape) - wanted).norm() / wanted.norm()).item()
    assert error < 2e-3, (op, tile, error)
"""


def test_they_are_right_in_the_interpreter():
    given = json.dumps([(json.loads(op.model_dump_json(exclude_none=True)), tile) for op, tile in CASES])
    environment = os.environ | {"TRITON_INTERPRET": "1", "PYTHONPATH": os.getcwd()}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, given], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]


LARGE = [
    (ts.GroupedGemm(groups=(512, 512), n=1024, k=1024, dtype="fp16"), PLANE | {"block_m": 128, "block_n": 128}),
    (ts.Conv2d(**IMAGE | {"c_in": 64, "c_out": 128}), PLANE | {"block_m": 64, "block_n": 128, "block_k": 64}),
    *((ts.Attention(**PAGES, dtype="fp16"), KEYS | {"split_k": 1, "num_stages": s}) for s in (1, 2, 3, 4, 5)),
    (ts.Attention(**PAGES, dtype="fp16"), KEYS | {"split_k": 4, "block_n": 128}),
    (ts.Elementwise(shape=(4096,), inputs=2, dtype="fp16"), {"block_m": 1024, "num_warps": 4}),
]


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize(("op", "tile"), LARGE)
def test_bytes_are_those_of_the_verdict(op, tile, tmp_path):
    kernel = {"language": "triton", "version": VERSION, "variant": "pointer"}
    built = precompile(0, op.model_dump_json(exclude_none=True), tile, str(tmp_path))
    assert not built.error
    assert built.shared == ts.check(op, "h200", tile, kernel=kernel).metrics.shared_bytes


class Pool:
    """Compiles nothing, and everything well."""

    workers = 1

    def __init__(self, workers):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def start(self):
        return 0.0

    def run_all(self, tasks, limit_s):
        return (Built(place, 0.1) for place in tasks)


def test_the_table_is_what_verify_times_reads(tmp_path, monkeypatch):
    """The whole run without a GPU: every sample takes 100 us."""
    monkeypatch.setattr(script, "require_gpu", lambda _: torch)
    monkeypatch.setattr(script, "gpu_of", lambda _: SimpleNamespace(name="none"))
    timer = SimpleNamespace(interleaved=lambda launches, rounds: {name: [1.0, 1.1] for name in launches})
    monkeypatch.setattr(script, "Timer", lambda _: timer)
    monkeypatch.setattr(script, "Compilers", Pool)
    monkeypatch.setattr(Bench, "sample", lambda *_: Sample(reading_of([100.0]), 1e-4, 1024, 32, 0))
    monkeypatch.setattr(Bench, "launch", lambda *_: None)
    monkeypatch.setattr(Bench, "close", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["measure_missing", "--out", str(tmp_path), "--tiles", "0.2"])
    script.main()
    answer = verify("times", [tmp_path / "missing_times.csv"])
    assert set(answer.stats["kinds"]) == {case.kind for case in script.cases()}
    record = json.loads((tmp_path / "missing_times.json").read_text())
    assert record["summary"]["cases"] == len(script.cases())
