import pytest

import tilesearch as ts
from tilesearch import InputError

GEMM = ts.Gemm(m=4096, n=4096, k=4096, dtype="fp16")
TILE = {"block_m": 128, "block_n": 256, "block_k": 64, "num_stages": 3, "num_warps": 8}


def check(op=GEMM, device="h200", tile=TILE, **kernel):
    return ts.check(op, device, tile, kernel={"language": "triton", **kernel})


def test_wgmma_keeps_every_stage_and_mma_one_less():
    wide = check().metrics.shared_bytes
    narrow = check(tile={**TILE, "block_m": 32}).metrics.shared_bytes
    assert wide == 3 * (128 * 64 + 64 * 256) * 2
    assert narrow == 2 * (32 * 64 + 64 * 256) * 2


def test_tma_adds_barriers_and_a_persistent_kernel_its_output_tile():
    loop = 3 * (128 * 64 + 64 * 256) * 2
    assert check(variant="tma").metrics.shared_bytes == loop + 3 * 8
    assert check(variant="persistent").metrics.shared_bytes == loop + 3 * 8 + 128 * 256 * 2


def test_no_async_copy_without_divisibility_hints():
    odd = ts.Gemm(m=301, n=515, k=263, dtype="fp16")
    tile = {"block_m": 64, "block_n": 64, "block_k": 32, "num_stages": 4, "num_warps": 4}
    assert check(odd, tile=tile).metrics.shared_bytes == (64 * 32 + 32 * 64) * 2
    half = ts.Gemm(m=301, n=512, k=263, dtype="fp16")
    assert check(half, tile=tile).metrics.shared_bytes == 64 * 32 * 2 + 4 * 32 * 64 * 2


def test_spills_are_soft_and_named():
    answer = check(tile={**TILE, "num_warps": 4})
    assert answer.verdict == "spills"
    assert answer.feasible
    assert answer.violations == ["C2.accumulators", "C2.registers"]
    assert ts.solve(GEMM, "h200", kernel="triton").counts.soft > 0


def test_sizes_are_powers_of_two():
    answer = check(tile={**TILE, "block_m": 96})
    assert answer.verdict == "infeasible"
    assert answer.violations == ["C3.power_of_two.block_m"]


@pytest.mark.parametrize(("version", "least"), [("3.1", 16), ("3.4", 16), ("3.5", 1)])
def test_the_least_dot_depends_on_the_version(version, least):
    answer = check(tile={**TILE, "block_m": 1, "num_warps": 4}, version=version)
    assert ("C3.instruction_m" in answer.violations) is (least > 1)


def test_eight_bit_operands_need_a_longer_k():
    fp8 = ts.Gemm(m=4096, n=4096, k=4096, dtype="fp8_e4m3", trans_b=True)
    assert "C3.instruction_k" in check(fp8, tile={**TILE, "block_k": 16}).violations
    assert "C3.instruction_k" not in check(fp8, tile={**TILE, "block_k": 32}).violations


def test_a_tensor_has_a_largest_size():
    answer = ts.check(ts.Elementwise(shape=[2**22], inputs=1, outputs=1), "h200", {"block_m": 2**21}, kernel="triton")
    assert answer.violations == ["C3.tensor_size", "C2.registers"] or "C3.tensor_size" in answer.violations


def test_tma_needs_hardware_and_aligned_rows():
    assert "C3.tma" in check(device="rtx4090", tile={**TILE, "num_stages": 2}, variant="tma").violations
    odd = ts.Gemm(m=512, n=500, k=512)
    assert "C3.tma_stride.b" in check(odd, variant="tma").violations


def test_a_card_without_a_tensor_path_stages_fp32():
    """sm_75 lost its mma path in 3.3: (64, 64, 128) takes 65536 B (public formula NO-MMA)."""
    op = ts.Attention(heads=16, q_len=4096, head_dim=128, dtype="fp16")
    tile = {"block_m": 64, "block_n": 64, "num_stages": 2, "num_warps": 4}
    new = check(op, "t4", tile)
    assert new.metrics.shared_bytes == 4 * (64 + 64) * 128
    assert any("CUDA cores" in note for note in new.notes)
    assert check(op, "t4", tile, version="3.1").metrics.shared_bytes == 40960


def test_tensor_memory_limits_blackwell():
    answer = check(device="b200", tile={**TILE, "block_m": 256, "block_n": 512, "block_k": 32, "num_stages": 2})
    assert "C1.tensor_memory" in answer.violations
    assert check(device="b200").metrics.blocks_by["tensor_memory"] == 2


def test_amd_shared_memory_and_what_is_unknown():
    tile = {"block_m": 128, "block_n": 128, "block_k": 64, "num_warps": 4}
    sizes = [check(device="mi300x", tile={**tile, "num_stages": s}).metrics.shared_bytes for s in (1, 2, 3)]
    assert sizes == [16384, 32768, 65536]
    assert check(device="mi355x", tile={**tile, "num_stages": 2}).metrics.shared_bytes == 68016
    answer = check(device="mi300x", tile={**tile, "num_stages": 4})
    assert answer.violations == ["C1.shared_memory"]
    assert answer.metrics.blocks_per_sm is None
    assert any("is not judged" in note for note in answer.notes)
    assert ts.solve(GEMM, "mi300x", kernel="triton", rank="traffic").best.metrics.traffic_bytes


def test_faults_of_the_kernel_table():
    with pytest.raises(InputError, match=r"kernel.version.*known: 2.0"):
        check(version="1.0")
    with pytest.raises(InputError, match="did you mean 'pointer'"):
        check(variant="pointr")
    mla = ts.Attention(heads=16, q_len=16, kv_len=4096, latent_dim=512, rope_dim=64)
    with pytest.raises(InputError, match="no rules for MLA"):
        check(mla, tile={"block_m": 16, "block_n": 32})
    with pytest.raises(InputError, match="no matrix instruction"):
        check(ts.Gemm(m=64, n=64, k=64, dtype="fp8_e4m3"), "a100_80gb")


def test_stream_k_takes_equal_shares():
    """One block an SM; a tile that two blocks share is summed up in memory, in fp32."""
    answer = check(variant="stream_k")
    assert answer.metrics.grid == 132
    assert answer.metrics.waves == 1
    assert answer.metrics.tail_fill == pytest.approx(512 * 64 / (132 * 249))
    sums = 128 * 256 * 4
    assert answer.metrics.traffic_bytes == check().metrics.traffic_bytes + sums * (131 + 3 * 131)
    even = ts.Gemm(m=132 * 128, n=256, k=4096, dtype="fp16")
    assert check(even, variant="stream_k").metrics.traffic_bytes == check(even).metrics.traffic_bytes
    few = ts.Gemm(m=128, n=256, k=1024, dtype="fp16")
    assert check(few, variant="stream_k").metrics.grid == 16
    assert check(variant="stream_k", tile={**TILE, "split_k": 2}).violations == ["C3.split_k"]
    grouped = ts.GroupedGemm(groups=(512, 512), n=1024, k=1024, dtype="fp16")
    with pytest.raises(InputError, match="stream_k has rules for gemm"):
        check(grouped, variant="stream_k")


def test_loads_through_registers_do_not_add_to_an_accumulator_in_tensor_memory():
    """Compiled 3.9 for sm_100: 256 accumulators a thread beside 48 vectors of one stage do not spill; 512 do."""
    tile = {"block_m": 128, "block_n": 256, "block_k": 128, "num_stages": 1, "num_warps": 4}
    assert check(device="b200", tile=tile, version="3.9").verdict == "fits"
    assert check(device="b200", tile={**tile, "block_m": 256, "block_k": 64}, version="3.9").verdict == "spills"


def test_rows_without_divisibility_hints_are_said():
    notes = ts.solve(ts.Gemm(m=512, n=3333, k=1024, dtype="fp16"), "h200", kernel="triton", top=1).notes
    said = [note for note in notes if "does not divide" in note]
    assert said == [
        "b has rows of 3333 elements, which 16 does not divide: Triton loads them one by one, and through registers, "
        "so that stages hide nothing; rows padded to 3344 mend it"
    ]
    kernel = {"language": "triton", "variant": "tma"}
    for n, k in ((3344, 1024), (3336, 1024)):
        notes = ts.solve(ts.Gemm(m=512, n=n, k=k, dtype="fp16"), "h200", kernel=kernel, top=1).notes
        assert not any("does not divide" in note for note in notes)
