"""Convolution in the program form: an implicit GEMM over sliding windows."""

from __future__ import annotations

from tilesearch.program.form import Axis, Contraction, Dim, Held, Program, Role, Tensor, Term, flattened
from tilesearch.program.units import indexed, matrix_unit, split_over
from tilesearch.specs.dtypes import dtype
from tilesearch.specs.ops import Conv2d


def lower_conv2d(op: Conv2d) -> Program:
    """``out[image, oh, ow, g, n] = sum over kh, kw, c of a[image, ih, iw, g, c] * b[g, n, kh, kw, c]``.

    ``ih = oh * stride + kh * dilation - pad``, and iw alike; outside the image there is padding. The windows of
    neighbouring blocks overlap: each block reads its halo. A step of the loop takes one (kh, kw) and block_k
    channels, and stages the im2col tile: an element for each of its points.
    """
    oh, ow = op.output_size
    g = Dim("g", op.groups)
    m = flattened("m", {"image": op.n, "oh": oh, "ow": ow}, "block_m")
    n = Dim("n", op.c_out // op.groups, "block_n")
    kh, kw = Dim("kh", op.kh, reduce=True), Dim("kw", op.kw, reduce=True)
    c = Dim("c", op.c_in // op.groups, "block_k", reduce=True)
    acc = dtype(op.operand("acc"))
    roof = op.roof or matrix_unit(op.operand("a"))
    channels = {"g": op.groups, "c": c.extent}
    windows = (
        Axis(op.h, (("oh", op.stride[0]), ("kh", op.dilation[0])), -op.pad[0]),
        Axis(op.w, (("ow", op.stride[1]), ("kw", op.dilation[1])), -op.pad[1]),
    )
    filters = {"g": op.groups, "n": n.extent, "kh": op.kh, "kw": op.kw, "c": c.extent}
    pixels = {"image": op.n, "oh": oh, "ow": ow, "g": op.groups, "n": n.extent}
    images = (*indexed({"image": op.n}), *windows, *indexed(channels))
    return Program(
        kind="conv2d",
        dims=(g, m, n, kh, kw, c),
        tensors=(
            Tensor("a", Role.INPUT, dtype(op.operand("a")), images, staged=True),
            Tensor("b", Role.INPUT, dtype(op.operand("b")), indexed(filters), staged=True),
            Tensor("out", Role.OUTPUT, dtype(op.operand("out")), indexed(pixels)),
        ),
        terms=(Term("multiply-add", roof, 2, ("g", "m", "n", "kh", "kw", "c")),),
        roof=roof,
        contractions=(Contraction("m", "n", "c", "a", "b", acc),),
        held=(Held("accumulator", ("m", "n"), acc),),
        split=split_over("c", acc),
        constants={**op.constants, "m": m.extent, "oh": oh, "ow": ow},
    )
