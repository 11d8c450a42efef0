"""Regions, contiguous runs, traffic and footprints of carver's templates."""

import itertools
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilesearch.models.carver import load_device
from tilesearch.models.carver.graph import FREE, UNBOUND, Dim
from tilesearch.models.carver.parameters import read_parameters
from tilesearch.models.carver.templates import build
from tilesearch.models.carver.tensorize import tensorize
from tilesearch.models.carver.traffic import contig, moved, read_bytes, traffic, write_bytes

H200 = load_device("h200")
SIZES = st.lists(st.integers(1, 6), min_size=1, max_size=4)


def node_of(template, **params):
    return build(read_parameters(template, params)).output


def rewritten(template, **params):
    return tensorize(read_parameters(template, params), H200).output


def matmul(**params):
    return node_of(
        "Matmul", **{"M": 64, "N": 128, "K": 256, "out_dtype": "float32", "accum_dtype": "float32", **params}
    )


@pytest.mark.parametrize(
    ("region", "shape", "run"),
    [
        ([3, 5], [4, 8], 5),
        ([3, 8], [4, 8], 24),
        ([4, 8], [4, 8], 32),
        ([2, 3, 8], [2, 4, 8], 24),
        ([7], [1, 9], 7),
        ([1, 56, 56], [1, 56, 56, 64], 56),
    ],
)
def test_contiguous_run(region, shape, run):
    assert contig(region, shape) == run


@given(SIZES, st.data())
def test_contiguous_run_by_addresses(shape, data):
    region = [data.draw(st.integers(1, extent)) for extent in shape]
    strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    spots = {sum(i * s for i, s in zip(at, strides, strict=True)) for at in itertools.product(*map(range, region))}
    run = next(length for length in itertools.count() if length not in spots)
    assert contig(region, shape) == run


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 64))
def test_short_runs_cost_whole_transactions(rows, columns, transaction):
    shape = (rows + 1, columns + 1)
    assert moved((rows, columns), shape, transaction) == rows * max(columns, transaction)


def test_no_region_moves_nothing():
    assert moved((), (4,), 8) == 0


def test_an_index_expression_spans_its_values():
    window = Dim(((0, 2), (1, 3)))
    values = {2 * a + 3 * b for a in range(5) for b in range(4)}
    assert window.size((5, 4)) == max(values) - min(values) + 1
    row, height, width = ((0, 1),), 7, 9
    for rows in (1, 5, 9, 10, 40, 63, 64, 150):
        sizes = (rows,)
        assert Dim(row, 1, width).size(sizes) == min(rows, width)
        assert Dim(row, width, height).size(sizes) == min(height, (rows - 1) // width + 1)
    assert FREE.size((4,)) == UNBOUND


@pytest.mark.parametrize(
    ("trans_a", "trans_b", "regions"),
    [
        (False, True, [(4, 256), (8, 256)]),
        (False, False, [(4, 256), (256, 8)]),
        (True, False, [(256, 4), (256, 8)]),
        (True, True, [(256, 4), (8, 256)]),
    ],
)
def test_matmul_regions(trans_a, trans_b, regions):
    node = matmul(trans_A=trans_a, trans_B=trans_b)
    assert [access.trimmed(node.sizes((4, 8))) for access in node.reads] == regions
    product = tensorize(
        read_parameters("Matmul", {"M": 64, "N": 128, "K": 256, "trans_A": trans_a, "trans_B": trans_b}), H200
    )
    staged = [access.region(product.output.sizes((4, 8), (32,))) for access in product.output.staged]
    assert staged == [tuple(32 if size == 256 else size for size in region) for region in regions]


def test_a_step_beyond_the_axis_is_cut():
    node = matmul(K=20)
    assert node.reads[0].region(node.sizes((4, 8), (32,))) == (4, 20)


def test_unit_axes_vanish_and_shift_the_trimming():
    node = matmul(M=1)
    assert (node.space, node.reduce) == ((128,), (256,))
    vector, matrix = node.reads
    assert vector.region(node.sizes((16,), (32,))) == (32,)
    assert vector.trimmed(node.sizes((16,))) == (1,)
    assert matrix.trimmed(node.sizes((16,))) == (16, 256)
    assert node.output_region((16,)) == (1,)


def test_the_output_is_cut_to_the_first_input():
    assert matmul(K=4).output_region((64, 128)) == (64, 4)
    assert matmul(trans_A=True, K=4).output_region((64, 128)) == (4, 64)
    assert node_of("GeneralReduction", structure="RS", shape=[64, 4096]).output_region((512,)) == (64,)
    image = {"N": 2, "C": 3, "H": 8, "W": 8, "F": 16, "K": 3, "S": 1, "D": 1, "P": 1}
    assert node_of("Conv", **image).output_region((1, 2, 4, 16)) == (1, 2, 4, 3)


def test_convolution_windows():
    node = node_of("Conv", N=2, C=8, H=30, W=30, F=16, K=3, S=2, D=2, P=1)
    assert node.space == (2, 14, 14, 16)
    image, weights = node.reads
    assert image.region(node.sizes((1, 4, 14, 16))) == (1, 3 * 2 + 2 * 2 + 1, 13 * 2 + 2 * 2 + 1, 8)
    assert image.trimmed(node.sizes((1, 14, 14, 16))) == (1, 30, 30, 8)
    assert weights.region(node.sizes((1, 4, 14, 4), (1, 3, 2))) == (1, 3, 2, 4)


def test_a_rewritten_convolution_reads_whole_images():
    params = {"N": 8, "C": 3, "H": 224, "W": 224, "F": 64, "K": 7, "S": 2, "D": 1, "P": 3}
    node = rewritten("Conv", **params)
    assert (node.space, node.reduce) == ((8 * 112 * 112, 64), (147,))
    image, weights = node.reads
    assert image.trimmed(node.sizes((4, 4))) == (4, 224, 224, 3)
    assert weights.trimmed(node.sizes((4, 4))) == (4, 7, 3, 64)
    assert node.output_region((256, 16)) == (1, 3, 112, 3)
    assert node.footprint((14, 32), (32,)) == 14 * 32 * 2 + 32 * 32 * 2
    single = rewritten("Conv", **{**params, "N": 1})
    assert single.reads[0].trimmed(single.sizes((784, 2))) == (1, 224, 224)
    bare = rewritten("Conv", **{**params, "N": 1, "C": 1})
    assert bare.reads[0].trimmed(bare.sizes((784, 2))) == (784, 49)


@pytest.mark.parametrize("batch", [1, 4])
def test_a_chain_hands_its_tile_down(batch):
    shape = {"batch_size": batch, "head_dim": 64, "seq_length": 256, "seq_kv_length": 512}
    graph = tensorize(read_parameters("FlashAttention", shape), H200)
    first, last = graph.nodes
    head = () if batch == 1 else (1,)
    assert graph.node_tiles((*head, 16, 64)) == [(*head, 16, 512), (*head, 16, 64)]
    assert [access.source for access in last.reads] == [0, None]
    assert graph.feeds == {0}
    assert first.output.shape == last.reads[0].buffer.shape


def test_closed_form_of_the_traffic():
    m, n, k = 512, 1024, 2048
    node = matmul(M=m, N=n, K=k)
    graph = build(read_parameters("Matmul", {"M": m, "N": n, "K": k, "out_dtype": "float32", "accum_dtype": "float32"}))
    for rows, columns in itertools.product((1, 8, 64, 512), (8, 64, 256, 1024)):
        tile = (rows, columns)
        assert traffic(graph, [tile], H200) == 2 * k * (rows + columns) + 4 * rows * columns
        assert write_bytes(node, tile, H200) == 4 * rows * columns
    narrow = matmul(M=m, N=n, K=k, trans_B=False)
    for columns in (1, 8, 32, 64, 256):
        assert read_bytes(narrow, narrow.reads[1], (8, columns), H200) == 2 * k * columns * max(1, 64 / columns)


def test_footprints_are_aligned_and_elementwise_stages_nothing():
    node = matmul(K=24)
    assert node.footprint((1, 3), (3,)) == 32 + 32
    assert node.footprint((16, 32), (24,)) == 16 * 24 * 2 + 32 * 24 * 2
    assert node_of("Elementwise", shape=[8, 8]).footprint((4, 4), ()) == 0


@pytest.mark.parametrize(("dtype", "output"), [("int8", "int32"), ("float16", "float16"), ("int64", "int64")])
def test_elementwise_promotes_narrow_integers(dtype, output):
    assert node_of("Elementwise", shape=[8, 8], dtype=dtype).output.dtype == output
