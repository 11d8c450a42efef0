"""Options of the whole suite, Ctrl-C as at a terminal, and the command line run in this process."""

import signal
from dataclasses import dataclass

import pytest

from tilesearch.cli import run

# A run in the background inherits an ignored SIGINT, and the tests of Ctrl-C send one to themselves.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption("--full", action="store_true", help="the large sets of tests that have a small one, too")


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
