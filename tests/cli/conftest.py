"""Running the command line in this process, on problem files made for a test."""

from dataclasses import dataclass

import pytest

from tilesearch.cli import run

GEMM = """
device = "h200"
[op]
kind = "gemm"
m = 1024
n = 1024
k = 1024
dtype = "fp16"
"""


@dataclass
class Done:
    status: int
    out: str
    err: str


@pytest.fixture
def cli(capsys, monkeypatch, tmp_path):
    """Run a command line in an empty directory; its exit status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments):
        status = run([str(a) for a in arguments])
        captured = capsys.readouterr()
        return Done(status, captured.out, captured.err)

    return call


@pytest.fixture
def problem(tmp_path):
    """Write a GEMM's problem file, some of its text replaced and some added."""

    def write(replace=None, add="", name="problem.toml"):
        text = GEMM
        for old, new in (replace or {}).items():
            assert old in text
            text = text.replace(old, new)
        (tmp_path / name).write_text(text + add)
        return name

    return write
