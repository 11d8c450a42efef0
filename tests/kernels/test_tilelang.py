import pytest

import tilesearch as ts

GEMM = ts.Gemm(m=4096, n=4096, k=4096, dtype="fp16")
TILE = {"block_m": 128, "block_n": 256, "block_k": 64, "num_stages": 3, "num_threads": 256}


def check(op=GEMM, device="h200", **changes):
    return ts.check(op, device, {**TILE, **changes}, kernel="tilelang")


def test_a_pipelined_kernel_has_a_producer_and_fills_an_sm():
    metrics = check().metrics
    assert metrics.shared_bytes == 3 * (128 * 64 + 64 * 256) * 2
    assert (metrics.registers_per_thread, metrics.blocks_per_sm) == (168, 1)


def test_barriers_count_against_the_limit():
    """231424 B of dynamic memory is the most, measured, beside 1024 B of barriers."""
    report = next(r for r in check().rules if r.id == "C1.shared_memory")
    assert report.value == check().metrics.shared_bytes + 1024


def test_block_k_8_is_refused_for_its_wrong_results():
    answer = check(block_k=8)
    assert answer.verdict == "infeasible"
    assert answer.violations == ["C3.instruction_k"]
    assert any("wrong results" in note for note in answer.notes)


@pytest.mark.parametrize(("threads", "legal"), [(128, False), (256, False), (384, False)])
def test_wgmma_needs_whole_warpgroups_along_m(threads, legal):
    assert ("C3.warps" not in check(block_m=96, block_n=96, num_threads=threads).violations) is legal


def test_a_fallback_is_said():
    answer = check(block_m=16, block_n=96, num_threads=384)
    assert answer.verdict == "fits"
    assert any("falls back" in note for note in answer.notes)


@pytest.mark.parametrize(("transposed", "verdict"), [(False, "infeasible"), (True, "fits")])
def test_layout_of_b(transposed, verdict):
    """72 columns of a warpgroup are no canonical layout where B runs along N (H200: nn fails, nt works)."""
    op = ts.Gemm(m=4096, n=4096, k=4096, trans_b=transposed)
    assert check(op, block_m=64, block_n=72, num_threads=128).verdict == verdict


def test_the_assembler_refuses_a_wide_instruction_under_a_low_cap():
    assert "C2.instruction" in check(block_m=192, block_n=256, num_stages=2, num_threads=384).violations


def test_spills_begin_where_the_cap_is_reached():
    at_192, at_224 = (check(block_n=n, num_threads=128).verdict for n in (192, 224))
    assert (at_192, at_224) == ("fits", "spills")


def test_no_stage_is_legal_here_and_nowhere_else():
    assert check(num_stages=0).metrics.shared_bytes == (128 * 64 + 64 * 256) * 2
    with pytest.raises(ts.InputError):
        ts.check(GEMM, "h200", {**TILE, "num_stages": 0}, kernel="triton")


def test_attention_sums_its_buffers():
    op = ts.Attention(heads=16, kv_heads=8, q_len=4096, head_dim=256, dtype="fp16")
    answer = ts.check(op, "h200", {"block_m": 128, "block_n": 128, "num_stages": 3}, kernel="tilelang")
    assert answer.metrics.shared_bytes == 458752
    assert "C1.shared_memory" in answer.violations
