"""Problem files made for a test."""

import pytest

GEMM = """
device = "h200"
[op]
kind = "gemm"
m = 1024
n = 1024
k = 1024
dtype = "fp16"
"""


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
