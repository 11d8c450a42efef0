import subprocess
import sys

import pytest

import tilesearch as ts
from tilesearch import InputError

GEMM = ts.Gemm(m=4096, n=4096, k=4096, dtype="fp16")
CONFIG = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "num_warps": 8, "num_stages": 4}
SMALL = {"block_m": 32, "block_n": 32, "block_k": 32, "num_stages": 2, "num_warps": 4}


def test_port_says_what_breaks_and_what_fits():
    answer = ts.port(CONFIG, GEMM, "h100_sxm", "rtx4090", top=3)
    assert list(answer.model_dump()) == ["from", "to", "tile", "broken", "rank", "best"]
    assert (answer.origin.verdict, answer.target.verdict) == ("fits", "infeasible")
    assert [r.id for r in answer.broken] == ["C1.shared_memory"]
    assert "147456 B > 101376 B" in answer.broken[0].detail
    assert len(answer.best) == 3
    for candidate in answer.best:
        assert ts.check(GEMM, "rtx4090", candidate.tile.as_dict(), kernel="triton").verdict == "fits"


def test_port_to_a_device_without_the_hardware_or_without_residency():
    tma = {"language": "triton", "variant": "tma"}
    answer = ts.port(CONFIG, GEMM, "h200", "a100_80gb", kernel=tma)
    assert "C3.tma" in [r.id for r in answer.broken]
    assert answer.best
    bare = ts.port(CONFIG, GEMM, "h200", "mi300x")
    assert (bare.best[0].metrics.waves, bare.rank) == (None, "traffic")
    assert ts.port(CONFIG, GEMM, "a100_80gb", "h200").rank == "time"
    assert ts.port(CONFIG, GEMM, "h200", "b200").target.verdict == "fits"


@pytest.mark.parametrize("device", ["mi300x", "mi355x"])
@pytest.mark.parametrize("variant", ["tma", "persistent", "persistent_tma"])
def test_port_of_a_variant_that_the_device_does_not_have(device, variant):
    answer = ts.port(CONFIG, GEMM, "h200", device, kernel={"language": "triton", "variant": variant})
    assert [r.id for r in answer.broken] == ["C3.variant"]
    assert answer.target.verdict == "infeasible"
    assert len(answer.best) == 5
    assert any("the variant pointer" in note for note in answer.target.notes)
    assert any("ranked by traffic" in note for note in answer.target.notes)


def test_port_of_a_collective_and_of_a_type_that_the_device_does_not_have():
    config = {"block_m": 128, "block_n": 128, "block_k": 64, "num_stages": 3, "num_warps": 8}
    kernel = {"language": "cutlass", "variant": "sm90_cooperative"}
    answer = ts.port(config, GEMM, "h100_sxm", "rtx4090", kernel=kernel)
    assert [r.id for r in answer.broken] == ["C3.variant"]
    assert answer.best[0].verdict == "fits"
    eight = ts.Gemm(m=4096, n=4096, k=4096, dtype="fp8_e4m3", trans_b=True)
    answer = ts.port(CONFIG, eight, "h200", "a100_80gb")
    assert [r.id for r in answer.broken] == ["C3.instruction"]
    assert "no matrix instruction for fp8_e4m3" in answer.broken[0].detail
    assert answer.best == []


def test_port_gives_the_nearest_tiles_and_lists_pipelined_ones():
    answer = ts.port(CONFIG, GEMM, "h100_sxm", "rtx4090")
    assert answer.target.nearest[0].changes == {"num_stages": [4, 3]}
    assert "nearest" not in answer.origin.model_dump()
    solved = ts.solve(GEMM, "rtx4090", kernel="triton").candidates
    assert [c.metrics.priority for c in answer.best] == [c.metrics.priority for c in solved[:5]]
    tied = [c for c in answer.best if c.tied > 1]
    assert (tied[0].tile.num_stages, tied[0].tile.block_k) == (3, 64)
    assert solved[tied[0].rank - 1].tile.num_stages == 1


def test_port_keeps_the_register_cap():
    answer = ts.port({**CONFIG, "maxnreg": 64}, GEMM, "h200", "h200")
    assert (answer.target.verdict, answer.target.kernel["maxnreg"]) == ("spills", 64)


def test_export_prefers_a_pipelined_tile_and_says_what_spills():
    for device, to in (("h200", "triton"), ("h200", "tilelang"), ("rtx4090", "triton")):
        assert ts.export(GEMM, device, to=to).tile.num_stages >= 3
    badly = {"block_m": 128, "block_n": 256, "block_k": 64, "num_stages": 3, "num_warps": 4}
    answer = ts.export(GEMM, "h200", to="triton", tile=badly)
    assert answer.notes[0].startswith("this tile spills: C2.accumulators")
    kernel = {"language": "triton", "version": "3.6"}
    assert (
        "notes" not in ts.export(GEMM, "h200", to="triton", tile={**SMALL, "block_m": 64}, kernel=kernel).model_dump()
    )


def test_parameters_without_code_say_which_kernel_they_are_of():
    kernel = {"language": "cutlass", "version": "3.8", "variant": "sm90_pingpong"}
    found = ts.export(GEMM, "h100_sxm", to="cutlass", kernel=kernel).parameters
    assert (found["variant"], found["version"], found["dtype_a"], found["dtype_acc"]) == (
        "sm90_pingpong", "3.8", "fp16", "fp32",
    )  # fmt: skip
    assert ts.export(GEMM, "h100_sxm", to="json", kernel="triton").parameters["version"] == "3.9"


def test_descriptors_are_exported_from_the_version_that_has_them():
    for version, legal in (("3.3", False), ("3.4", True)):
        kernel = {"language": "triton", "version": version, "variant": "tma"}
        if legal:
            assert "tensor_descriptor" in ts.export(GEMM, "h200", to="triton", tile=SMALL, kernel=kernel).code
        else:
            with pytest.raises(InputError, match=r"descriptors before Triton 3\.4"):
                ts.export(GEMM, "h200", to="triton", tile=SMALL, kernel=kernel)


@pytest.mark.parametrize("to", ["triton", "tilelang", "cutlass", "json"])
def test_export_of_the_best_tile(to):
    answer = ts.export(GEMM, "h200", to=to)
    assert answer.language == to
    assert (answer.code is not None) is (to in ("triton", "tilelang"))
    if answer.code is not None:
        compile(answer.code, to, "exec")
    assert answer.parameters
    if to == "tilelang":
        assert answer.parameters["threads"] == 32 * answer.tile.num_warps
    if to == "triton":
        assert "BLOCK_M" in answer.parameters


def test_export_refuses_what_does_not_fit_or_has_no_template():
    with pytest.raises(InputError, match=r"does not fit: C1\.shared_memory"):
        ts.export(GEMM, "h200", to="triton", tile={**SMALL, "block_m": 256, "block_n": 256, "block_k": 256})
    with pytest.raises(InputError, match="no triton template for gemv"):
        ts.export(ts.Gemv(n=64, k=64), "h200", to="triton")
    with pytest.raises(InputError, match="did you mean 'triton'"):
        ts.export(GEMM, "h200", to="trito")


ATTENTION = {"block_m": 32, "block_n": 32, "num_stages": 2, "num_warps": 4}
ROWS = {"block_m": 2, "num_warps": 4}
MODULES = [
    (ts.Gemm(m=512, n=512, k=512, dtype="fp16"), SMALL, None),
    (ts.Gemm(m=512, n=512, k=512, trans_a=True, trans_b=True, bias=True, activation="gelu"), SMALL, None),
    (ts.Gemm(batch=3, m=512, n=512, k=512, dtype="bf16"), {**SMALL, "split_k": 3}, None),
    (ts.Gemm(m=512, n=512, k=512, dtype="int8", out="int32"), SMALL, None),
    (ts.Gemm(m=512, n=512, k=512, trans_b=True, activation="relu"), SMALL, "tma"),
    (ts.Gemm(m=512, n=512, k=512, trans_a=True), SMALL, "persistent"),
    (ts.Gemm(batch=2, m=512, n=512, k=512, trans_b=True, bias=True, activation="relu"), SMALL, "stream_k"),
    (ts.Gemm(m=512, n=512, k=512, dtype="int8", out="int32"), SMALL, "stream_k"),
    (ts.Attention(heads=4, kv_heads=2, q_len=512, head_dim=40, causal=True), ATTENTION, None),
    (ts.Attention(heads=4, kv_heads=2, q_len=512, head_dim=32, causal=True, window=20), ATTENTION, None),
    (ts.Attention(heads=2, q_len=300, kv_len=310, head_dim=32, window=9), ATTENTION, None),
    (ts.Attention(heads=4, q_len=512, kv_len=700, head_dim=64, v_head_dim=32), ATTENTION, None),
    (ts.Reduction(shape=[64, 1000], function="softmax", dtype="bf16"), ROWS, None),
    (ts.Reduction(shape=[64, 1000], function="rmsnorm"), ROWS, None),
    (ts.Reduction(shape=[64, 1000], function="layernorm", affine=False), ROWS, None),
]


def exported(op, tile, variant):
    kernel = {"language": "triton", **({"variant": variant} if variant else {})}
    return ts.export(op, "h200", to="triton", tile=tile, kernel=kernel).code


@pytest.mark.parametrize("module", MODULES, ids=lambda m: f"{m[0].kind}-{m[2]}-{m[0].dtype}")
def test_exported_code_compiles(module):
    compile(exported(*module), "exported", "exec")


@pytest.mark.parametrize("module", MODULES, ids=lambda m: f"{m[0].kind}-{m[2]}-{m[0].dtype}")
def test_exported_code_runs_in_tritons_interpreter(module, tmp_path):
    """Needs the `triton` extra: the code compares itself with torch, on a CPU."""
    pytest.importorskip("triton", reason="the triton extra is not installed")
    pytest.importorskip("torch", reason="the triton extra is not installed")
    place = tmp_path / "exported.py"
    place.write_text(exported(*module))
    environment = {"TRITON_INTERPRET": "1", "PATH": "", "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, str(place)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "relative error" in done.stdout
