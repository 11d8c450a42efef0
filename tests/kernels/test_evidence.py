"""Nothing is said to fit without a word where nobody has looked: a note, `unknown`, or a refusal."""

import pytest

import tilesearch as ts
from tilesearch import InputError

GEMM = ts.Gemm(m=4096, n=4096, k=4096, dtype="fp16")
TILE = {"block_m": 64, "block_n": 64, "block_k": 32, "num_stages": 3, "num_warps": 4}


def check(language, device, tile=TILE, op=GEMM, **kernel):
    return ts.check(op, device, tile, kernel={"language": language, **kernel})


def said(answer):
    return "\n".join(answer.notes)


@pytest.mark.parametrize("device", ["v100", "t4"])
def test_cutlass_has_no_multistage_mainloop_without_asynchronous_copies(device):
    assert check("cutlass", device).violations == ["C3.async_copy"]
    assert check("cutlass", device, {**TILE, "num_stages": 2}).verdict == "fits"


@pytest.mark.parametrize("device", ["v100", "t4"])
def test_how_tilelang_keeps_stages_without_asynchronous_copies_is_unknown(device):
    assert check("tilelang", device).verdict == "unknown"
    assert check("tilelang", device, {**TILE, "num_stages": 1}).verdict == "fits"


def test_blackwell_beyond_what_was_seen():
    assert check("tilelang", "b200").verdict == "unknown"
    assert ts.solve(GEMM, "b200", kernel="tilelang").status == "unknown"
    assert "tcgen05" in said(check("cutlass", "b200", {**TILE, "num_warps": 4}))


@pytest.mark.parametrize("version", ["2.0", "3.1", "3.2"])
@pytest.mark.parametrize("device", ["b200", "rtx5090"])
def test_an_old_triton_has_no_target_for_blackwell(version, device):
    answer = check("triton", device, version=version)
    assert answer.violations[0] == "C3.target"
    assert f"Triton {version} compiles for compute capability 9.0 at most" in answer.rules[0].detail


def test_variants_begin_with_a_version():
    with pytest.raises(InputError, match=r"triton 2\.0 has no variant 'tma' \(since 3\.0\)"):
        check("triton", "h200", version="2.0", variant="tma")
    with pytest.raises(InputError, match=r"cutlass 2\.11 has no variant 'sm90_pingpong' \(since 3\.0\)"):
        check("cutlass", "h100_sxm", version="2.11", variant="sm90_pingpong")
    assert check("cutlass", "h100_sxm", version="2.11").verdict == "fits"  # the 2.x mainloop


@pytest.mark.parametrize(
    ("language", "device", "kernel"),
    [
        ("tilelang", "h200", {"version": "0.1.11"}),
        ("tilelang", "a100_80gb", {}),
        ("cutlass", "h100_sxm", {}),
        ("triton", "h200", {"version": "3.0", "variant": "persistent"}),
        ("triton", "h200", {"version": "3.1", "variant": "tma"}),
        ("triton", "a100_80gb", {}),
        ("triton", "mi300x", {"version": "2.0"}),
    ],
)
def test_what_was_not_compared_is_said(language, device, kernel):
    tile = {**TILE, "num_warps": 8, "block_m": 128} if language == "cutlass" else TILE
    answer = check(language, device, tile, **kernel)
    assert answer.verdict == "fits"
    assert "compared with a build" in said(answer)


def test_what_was_compared_needs_no_word():
    assert "compared" not in said(check("triton", "h200", version="3.6"))
    assert "compared" not in said(check("tilelang", "h200"))


def test_fitted_registers_are_said_to_be_of_another_version_or_device():
    assert "registers" in said(check("triton", "h200", version="3.9"))
    assert "registers" in said(check("triton", "rtx4090", version="3.6"))


def test_a_broken_yes_or_no_says_what_is_missing():
    answer = check("triton", "a100_80gb", variant="tma")
    detail = next(rule.detail for rule in answer.rules if rule.id == "C3.tma")
    assert detail.startswith("a100_80gb (compute capability 8.0) has no tensor memory accelerator")


def test_tilelang_attention_is_judged_by_what_is_known():
    """FullRow gives the warps columns where the rows run out; MLA has no rules, as in Triton."""
    mla = ts.load_problem("attention_mla")
    with pytest.raises(InputError, match="no rules for MLA"):
        ts.solve(mla, kernel="tilelang")
    op = ts.Attention(heads=32, q_len=4096, head_dim=128)
    answer = ts.check(op, "h200", {"block_m": 64, "block_n": 64, "num_stages": 2, "num_warps": 8}, kernel="tilelang")
    assert answer.verdict == "fits"
    assert "no build was looked at" in said(answer)
