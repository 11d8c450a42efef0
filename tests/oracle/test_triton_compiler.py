"""Predicted bytes and spills against the Triton compiler at hand, which needs no GPU for any target.

Runs where the `triton` extra is installed; ``--full`` compiles the large set.
"""

import os
import random
import re
import subprocess
import tempfile
from itertools import product
from pathlib import Path

import pytest

import tilesearch as ts

triton = pytest.importorskip("triton", reason="the triton extra is not installed")
kernels = pytest.importorskip("tests.oracle.triton_kernels", reason="this Triton cannot read the kernels")

VERSION = ".".join(triton.__version__.split(".")[:2])
TARGETS = (80, 89, 90, 100, 120)
EXTENT = 4096

SMALL = [
    ("pointer", 80, "fp16", False, (128, 256, 64, 8, 4)),
    ("pointer", 89, "fp8_e4m3", True, (128, 128, 128, 8, 3)),
    ("pointer", 90, "fp16", False, (128, 256, 64, 8, 3)),
    ("pointer", 90, "fp16", False, (32, 128, 64, 4, 4)),
    ("pointer", 90, "fp16", False, (128, 256, 32, 4, 3)),
    ("pointer", 100, "fp16", False, (128, 128, 64, 4, 3)),
    ("pointer", 120, "bf16", True, (64, 128, 64, 4, 3)),
    ("tma", 90, "fp16", False, (128, 256, 64, 8, 4)),
    ("tma", 90, "fp16", False, (256, 128, 64, 4, 3)),
    ("attention", 80, "fp16", False, (128, 64, 128, 4, 3)),
    ("attention", 90, "fp16", False, (64, 64, 64, 4, 2)),
    # Spills on every target: an accumulator too many, loads through registers, and neither.
    *(("pointer", target, "fp16", False, (256, 256, 32, 8, 2)) for target in (80, 89, 90, 120)),
    *(("pointer", target, "fp16", False, (128, 128, 64, 4, 2)) for target in (80, 89, 90, 100, 120)),
    *(("pointer", target, "bf16", True, (64, 128, 128, 4, 1)) for target in (80, 89, 90, 100, 120)),
]


def full():
    """A fixed sample of a large space."""
    tiles = list(product((16, 64, 128, 256), (32, 128, 256), (32, 64, 128), (4, 8), (1, 2, 3, 4)))
    gemms = [("pointer", t, d, nk, s) for t in TARGETS for d, nk in (("fp16", False), ("bf16", True)) for s in tiles]
    gemms += [("tma", 90, "fp16", False, s) for s in tiles if s[0] >= 64]
    heads = product((16, 64, 128), (32, 64, 128), (64, 128), (4, 8), (2, 3))
    return random.Random(0).sample(gemms, 150) + [("attention", t, "fp16", False, s) for t in (80, 90) for s in heads]


def pytest_generate_tests(metafunc):
    if "build" in metafunc.fixturenames:
        some = [*SMALL, *random.Random(1).sample(full(), 30)]
        chosen = full() if metafunc.config.getoption("--full") else list(dict.fromkeys(some))
        metafunc.parametrize("build", chosen, ids=name_of)
    if "judged" in metafunc.fixturenames:
        metafunc.parametrize("judged", [build for build in SMALL if build[0] != "attention"], ids=name_of)


def name_of(build):
    return "-".join(map(str, (*build[:3], *build[4])))


def compiled(kind, target, dtype, k_major, size):
    """The build: Triton's own pipeline for a target, as its JIT would run it on extents that 16 divides."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.language import bfloat16, float16

    first, second, third, warps, stages = size
    named = {"fp16": "fp16", "bf16": "bf16", "fp8_e4m3": "fp8e4nv"}[dtype]
    if kind == "pointer":
        kernel, out = kernels.gemm_pointer, bfloat16 if dtype == "bf16" else float16
        constants = {"BM": first, "BN": second, "BK": third, "NK": k_major, "OUT": out}
        types = dict.fromkeys(("M", "N", "K", "sa", "sb", "sc"), "i32")
        types |= {"a": f"*{named}", "b": f"*{named}", "c": "*bf16" if dtype == "bf16" else "*fp16"}
    elif kind == "tma":
        kernel, constants = kernels.gemm_tma, {"BM": first, "BN": second, "BK": third}
        shapes = {"da": (first, third), "db": (third, second), "dc": (first, second)}
        types = {name: f"tensordesc<fp16[{rows}, {columns}]>" for name, (rows, columns) in shapes.items()}
        types["K"] = "i32"
    else:
        kernel, constants = kernels.attention, {"BM": first, "BN": second, "D": third, "DV": third}
        types = dict.fromkeys("qkvo", "*fp16") | dict.fromkeys(("S", "sq", "sk", "sv", "so"), "i32") | {"scale": "fp32"}
    signature = {n: "constexpr" if n in constants else types[n] for n in kernel.arg_names}
    hinted = [n for n, t in types.items() if not t.startswith("tensordesc") and n not in ("scale", "S")]
    attributes = {(kernel.arg_names.index(n),): [["tt.divisibility", 16]] for n in hinted}
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=attributes)
    options = {"num_warps": warps, "num_stages": stages}
    return triton.compile(source, target=GPUTarget("cuda", target, 32), options=options)


def assembler(target):
    """The assembler that Triton itself takes for a target; older versions do not say which."""
    from triton.backends.nvidia import compiler

    choose = getattr(compiler, "get_ptxas", None)
    try:
        return Path(choose(target).path)
    except (AttributeError, TypeError):
        folder = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"
        return folder / ("ptxas-blackwell" if target >= 100 else "ptxas")


def spilled(build, target):
    """Bytes of stack that the assembler in Triton's wheel gives a thread: 0 where nothing spills."""
    tool = assembler(target)
    if not tool.exists():
        pytest.skip(f"this wheel has no {tool.name}")
    text = build.asm["ptx"]
    gpu = re.search(r"\.target (\w+)", text)[1]
    with tempfile.TemporaryDirectory() as place:
        source = Path(place) / "kernel.ptx"
        source.write_text(text)
        done = subprocess.run(
            [tool, "-v", f"--gpu-name={gpu}", source, "-o", os.devnull], capture_output=True, text=True, check=True
        )
    return int(re.search(r"(\d+) bytes stack frame", done.stderr)[1])


def predicted(kind, target, dtype, k_major, size):
    first, second, third, warps, stages = size
    tile = {"block_m": first, "block_n": second, "num_warps": warps, "num_stages": stages}
    kernel = {"language": "triton", "version": VERSION, "variant": "tma" if kind == "tma" else "pointer"}
    if kind == "attention":
        op = ts.Attention(heads=16, q_len=EXTENT, head_dim=third, dtype=dtype)
    else:
        out = "bf16" if dtype == "bf16" else "fp16"
        op = ts.Gemm(m=EXTENT, n=EXTENT, k=EXTENT, dtype=dtype, out=out, trans_b=k_major)
        tile["block_k"] = third
    return ts.check(op, f"cc{target}", tile, kernel=kernel)


def test_bytes_are_the_compilers(build):
    assert predicted(*build).metrics.shared_bytes == compiled(*build).metadata.shared


CRUMBS = 16  # bytes of stack that nobody predicts, and that hardly cost anything


def test_spills_are_the_assemblers(judged):
    """Beyond Hopper too, although the register rules were fitted there."""
    answer = predicted(*judged)
    if answer.verdict == "infeasible":
        pytest.skip("does not fit: never assembled")
    stack = spilled(compiled(*judged), judged[1])
    assert (answer.verdict == "spills") == (stack > CRUMBS), (judged, stack)


def test_spills_in_bulk(request):
    """Precision and recall over the large set's GEMMs, on all targets; crumbs count neither as missed nor as wrong."""
    if not request.config.getoption("--full"):
        pytest.skip("the large set, with --full")
    answers = {b: predicted(*b).verdict for b in full() if b[0] != "attention"}
    stacks = {b: spilled(compiled(*b), b[1]) for b, verdict in answers.items() if verdict != "infeasible"}
    said = [b for b in stacks if answers[b] == "spills"]
    seen = [b for b in stacks if stacks[b] > CRUMBS]
    assert sum(stacks[b] > 0 for b in said) >= 0.95 * len(said), [b for b in said if not stacks[b]]
    assert sum(answers[b] == "spills" for b in seen) >= 0.90 * len(seen), [b for b in seen if answers[b] != "spills"]
