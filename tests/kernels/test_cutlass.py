import pytest

import tilesearch as ts

GEMM = ts.Gemm(m=4096, n=4096, k=4096, dtype="bf16")


def check(device="h100_sxm", version=None, variant=None, **tile):
    chosen = {"version": version, "variant": variant}
    kernel = {"language": "cutlass", **{name: value for name, value in chosen.items() if value}}
    tile = {"block_m": 128, "block_n": 256, "block_k": 64, "num_stages": 3, **tile}
    return ts.check(GEMM, device, tile, kernel=kernel)


def test_multistage_is_stages_times_the_operands():
    answer = check("a100_80gb")
    assert answer.metrics.shared_bytes == 3 * (128 * 64 + 64 * 256) * 2
    assert answer.verdict == "fits"
    assert "C3.stages" in check("a100_80gb", num_stages=1).violations


@pytest.mark.parametrize(("version", "verdict"), [("3.5", "spills"), ("4.0", "fits")])
def test_the_margin_above_the_accumulators_matters(version, verdict):
    """Public case cutlass-256x208: 208 accumulators spill under 232 registers and not under 240."""
    answer = check(version=version, block_m=256, block_n=208)
    assert answer.metrics.accumulators_per_thread == 208
    assert answer.verdict == verdict


def test_automatic_stages_fill_what_the_epilogue_leaves():
    model = ts.solve(GEMM, "h100_sxm", kernel="cutlass", rules=["num_stages <= automatic_stages"], top=5)
    everything = ts.solve(GEMM, "h100_sxm", kernel="cutlass", top=5)
    assert model.counts.feasible == everything.counts.feasible


def test_shapes_of_the_collective():
    assert "C3.instruction_m" in check(block_m=64).violations
    assert check(block_m=64, variant="sm90_pingpong", block_n=128).verdict == "fits"
    assert "C3.instruction_n" in check(block_n=100).violations
    assert "C3.warps" in check(num_warps=4).violations
    assert "C3.cluster" in check(cluster_m=4, cluster_n=4).violations
