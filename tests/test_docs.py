"""Every command in the README and the docs runs."""

import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
# Commands that this very run stands for: installing, and running the tests.
SETUP = (".venv/bin/pip", "python3 -m venv", "python -m venv", "pip install", "python -m pytest", ". .venv")


def commands():
    for page in PAGES:
        if not page.exists():
            continue
        for block in re.findall(r"```console\n(.*?)```", page.read_text(), re.S):
            for line in block.splitlines():
                if line.startswith("$ "):
                    yield page.name, line[2:]


@pytest.mark.parametrize(("page", "command"), list(commands()))
def test_command_runs(page, command, capsys, monkeypatch):
    if command.startswith(SETUP):
        return
    program, *arguments = shlex.split(command)
    assert program == "tilesearch", f"{page}: {command}: only tilesearch commands are run by this test"
    from tilesearch.cli import main

    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("sys.argv", ["tilesearch", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code in (0, 1, None), capsys.readouterr().err


def test_python_examples_run():
    for page in PAGES:
        if not page.exists():
            continue
        for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.S):
            exec(compile(block, page.name, "exec"), {})
