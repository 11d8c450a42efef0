"""Triton's compiler without a GPU."""

import pytest


class Driver:
    """An H200 as far as Triton's compiler asks for one."""

    def get_current_device(self):
        return 0

    def get_current_stream(self, device):
        return 0

    def get_current_target(self):
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", 90, 32)


@pytest.fixture
def no_gpu(monkeypatch):
    triton = pytest.importorskip("triton", reason="the triton extra is not installed")
    if not hasattr(triton.runtime.driver, "_active"):
        pytest.skip("this Triton chooses its driver otherwise")
    monkeypatch.setattr(triton.runtime.driver, "_active", Driver())
