"""Figures of the ledger and the roofline: the worked example of section 6, and sections 1.1, 2.3 and 2.4."""

from __future__ import annotations

from functools import cache
from typing import Any

from tilesearch.answers.roofline import Misreading, RooflineAnswer
from tilesearch.api.roofline import roofline
from tilesearch.api.verify.figures.registry import figure
from tilesearch.api.verify.figures.roofs import DEVICE, POLICY
from tilesearch.specs.ops import Elementwise, Gemm, Rows

_COS_SIN = {"name": "cos_sin", "bytes": 1024, "index": ("token",), "staged": True}
_WEIGHTS = {"name": "norm_weights", "bytes": 512}


def worked_example(**changes: Any) -> Rows:
    """QK-norm, RoPE and fp8 quantisation as section 6 accounts for them, at 10 operations an element."""
    table: dict[str, Any] = {
        "tokens": 4096,
        "heads": (32, 8),
        "head_dim": 128,
        "dtype": "bf16",
        "steps": ("rmsnorm", "rope", "quant"),
        "flops_per_element": 10,
        "flops_per_row": 3,
        "tables": (_COS_SIN, _WEIGHTS),
    }
    return Rows(**{**table, **changes})


@cache
def example_answer() -> RooflineAnswer:
    """The roofline of the worked example under the text's calibrations."""
    return roofline(worked_example(), DEVICE, policy=POLICY)


def _misreading(answer: RooflineAnswer, number: int) -> Misreading:
    return next(m for m in answer.misreadings if m.id == f"M{number}")


@figure("sincos.fused")
def sincos_fused_us() -> float:
    """Bound of sin(cos(x)) over 4096 x 4096 fp16 in one kernel, us."""
    op = Elementwise(shape=(4096, 4096), arithmetic_per_element=0, special_per_element=2, dtype="fp16")
    return roofline(op, DEVICE, policy=POLICY).sol_us


@figure("flip.gemm{}")
def classes(size: str) -> str:
    """Class of a square fp16 GEMM on the matrix unit and on CUDA cores."""
    n = int(size)
    on = {roof.name: roof.class_ for roof in roofline(Gemm(m=n, n=n, k=n), DEVICE, policy=POLICY).roofs}
    return f"{on['tensor_core.fp16']}/{on['cuda_core.fp32']}"


@figure("qk.rows")
def rows() -> float:
    """(token, head) rows: one scale of four bytes each."""
    return _term_bytes("write scale") / 4


@figure("qk.elements")
def elements() -> float:
    """Elements: one fp8 output of a byte each."""
    return _term_bytes("write out")


def _term_bytes(name: str) -> int:
    return next(term.bytes for term in example_answer().terms if term.name == name)


@figure("qk.flops{}")
def mflops(per_element: str) -> float:
    """Operations at so many an element and 3 a row, MFLOP: the text has 9 in one place and 10 in another."""
    return roofline(worked_example(flops_per_element=int(per_element)), DEVICE, policy=POLICY).flops / 1e6


@figure("qk.ai{}")
def intensity(per_element: str) -> float:
    """Intensity at so many operations an element, FLOP/B."""
    return roofline(worked_example(flops_per_element=int(per_element)), DEVICE, policy=POLICY).intensity


@figure("qk.ideal")
def ideal_mb() -> float:
    """Bytes that any kernel must move, MB of 1e6 B."""
    return example_answer().bytes / 1e6


@figure("qk.payload")
def payload_mb() -> float:
    """Inputs and outputs without tables, MB."""
    return example_answer().payload_bytes / 1e6


@figure("qk.scale")
def scale_mb() -> float:
    """The quantisation scales, MB."""
    return _term_bytes("write scale") / 1e6


@figure("qk.tables")
def tables_mb() -> float:
    """The look-up tables, each entry once, MB."""
    return example_answer().lookup_bytes / 1e6


@figure("qk.sol")
def sol_us() -> float:
    """The bound, us."""
    return example_answer().sol_us


@figure("m4.two_kernels")
def two_kernels_mb() -> float:
    """Bytes of the version in two kernels, MB, with the intermediate of the q heads alone, as the text has it.

    With that of the k heads too it is 151.65 MB, which is what the misreading M4 of the answer reports.
    """
    q_heads = roofline(worked_example(heads=(32,)), DEVICE, policy=POLICY)
    factor = _misreading(q_heads, 4).factor or 1.0
    return (example_answer().bytes + (factor - 1) * q_heads.bytes) / 1e6


@figure("m6.ideal_share")
def tables_share_of_ideal() -> float:
    """Tables in the ideal traffic, per cent."""
    return 100 * example_answer().lookup_bytes / example_answer().bytes


@figure("m7.decode_sol")
def decode_us() -> float:
    """Bound of one decode token, us; the text counts the payload only."""
    return roofline(worked_example(tokens=1, tables=()), DEVICE, policy=POLICY).sol_us
