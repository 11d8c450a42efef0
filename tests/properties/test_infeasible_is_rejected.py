"""Pushing one quantity over its limit makes check fail on the right rule and takes the tile out of solve."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilesearch as ts
from tests.properties.problems import perturbed

OP = ts.Gemm(m=4096, n=4096, k=4096)
FITS = {"block_m": 128, "block_n": 128, "block_k": 64, "num_stages": 3, "num_warps": 8}

# A tile that fits, one change to the tile or the device, and the rule that must name it.
PUSHES = [
    ({"num_stages": 8}, {}, "C1.shared_memory"),
    ({"block_k": 512}, {}, "C1.shared_memory"),
    ({}, {"shared_per_block_optin": 98303}, "C1.shared_memory"),
    ({}, {"shared_per_sm": 99327}, "C1.shared_memory_per_sm"),
    ({"num_warps": 1}, {}, "C2.accumulators"),
    ({"block_m": 512, "block_k": 16}, {}, "C2.accumulators"),
    ({}, {"max_registers_per_thread": 63}, "C2.accumulators"),
    ({}, {"registers_per_block": 16383}, "C2.register_file"),
    ({"block_m": 136}, {}, "C3.instruction_m"),
    ({"block_n": 68}, {}, "C3.instruction_n"),
    ({"block_k": 12}, {}, "C3.instruction_k"),
    ({"block_m": 16, "block_n": 8}, {}, "C3.warps"),
    ({"num_warps": 33}, {}, "C4.threads"),
    ({}, {"max_threads_per_block": 255}, "C4.threads"),
    ({}, {"max_threads_per_sm": 224}, "C4.occupancy"),
    ({}, {"max_grid": (1023, 65535, 65535)}, "C4.grid"),
]


@pytest.mark.parametrize(("change", "limits", "rule"), PUSHES)
def test_one_push(change, limits, rule):
    device = perturbed("h200", limits)
    tile = FITS | change
    assert ts.check(OP, "h200", FITS).verdict == "fits"
    verdict = ts.check(OP, device, tile)
    assert verdict.feasible is False
    assert rule in verdict.violations
    answer = ts.solve(OP, device, space={name: [value] for name, value in tile.items()})
    assert answer.candidates == []
    assert sum(answer.counts.rejected.values()) == 1


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(["h200", "a100_80gb", "rtx4090", "v100"]),
    st.sampled_from([64, 128]),
    st.sampled_from([64, 128]),
    st.sampled_from([32, 64]),
    st.integers(1, 4),
)
def test_the_limit_itself_fits_and_one_byte_less_does_not(name, block_m, block_n, block_k, stages):
    tile = {"block_m": block_m, "block_n": block_n, "block_k": block_k, "num_stages": stages}
    needed = stages * (block_m + block_n) * block_k * 2
    exact = ts.check(OP, perturbed(name, {"shared_per_block_optin": needed}), tile)
    short = ts.check(OP, perturbed(name, {"shared_per_block_optin": needed - 1}), tile)
    assert "C1.shared_memory" not in exact.violations
    assert "C1.shared_memory" in short.violations


@pytest.mark.parametrize(("name", "value"), FITS.items())
def test_a_users_own_limit(name, value):
    rule = f"{name} < {value}"
    verdict = ts.check(OP, "h200", FITS, rules=[rule])
    assert verdict.violations == ["user.1"]
    answer = ts.solve(OP, "h200", rules=[rule], top=10_000)
    assert answer.candidates
    assert all(c.tile[name] < value for c in answer.candidates)


def test_a_grid_past_its_limit():
    op = ts.Gemm(m=2**31 - 1, n=2**31 - 1, k=64)
    verdict = ts.check(op, "h200", FITS)
    assert verdict.violations == ["C4.grid"]
