"""The best-fit allocator."""

from itertools import pairwise
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from tilesearch.models.carver import load_device
from tilesearch.models.carver.allocator import BestFit, shared_bytes
from tilesearch.models.carver.graph import align
from tilesearch.models.carver.parameters import read_parameters
from tilesearch.models.carver.tensorize import tensorize

BYTES = st.integers(0, 5000)


def test_smallest_that_fits_and_the_rest_stays_free():
    memory = BestFit()
    taken = [memory.malloc(size) for size in (128, 32, 64, 32, 96, 32)]
    for piece in (taken[0], taken[2], taken[4]):
        memory.free(piece)
    piece = memory.malloc(40)
    assert (piece.start, piece.end) == (160, 224)
    piece = memory.malloc(70)
    assert (piece.start, piece.end) == (256, 352)
    piece = memory.malloc(96)
    assert (piece.start, piece.end) == (0, 96)
    assert [(p.start, p.end) for p in memory.pieces if p.free] == [(96, 128)]
    assert memory.high_water == 384


def test_a_free_end_grows_in_place():
    memory = BestFit()
    memory.malloc(32)
    memory.free(memory.malloc(32))
    piece = memory.malloc(100)
    assert (piece.start, piece.end, memory.high_water) == (32, 160, 160)


@given(st.lists(st.one_of(BYTES, st.just(None)), max_size=30), st.randoms())
def test_pieces_tile_the_memory(steps, chance):
    memory, held = BestFit(), []
    for size in steps:
        if size is not None:
            held.append((memory.malloc(size), align(size)))
        elif held:
            memory.free(held.pop(chance.randrange(len(held)))[0])
        ends = [0, *(piece.end for piece in memory.pieces)]
        assert [piece.start for piece in memory.pieces] == ends[:-1]
        assert memory.high_water == ends[-1]
        assert all(piece.size == size and not piece.free for piece, size in held)
        free = [piece.free for piece in memory.pieces]
        assert not any(a and b for a, b in pairwise(free))


@given(BYTES, BYTES, st.integers(1, 64))
def test_a_chain_of_two_in_closed_form(first, second, rows):
    shape = {"batch_size": 2, "head_dim": 64, "seq_length": 64, "seq_kv_length": 128}
    graph = tensorize(read_parameters("FlashAttention", shape), load_device("h200"))
    tiles = graph.node_tiles((1, rows, 64))
    held = align(rows * 128 * 2)
    assert shared_bytes(graph, tiles, [first, second]) == max(align(first), held + align(second))


@given(BYTES)
def test_a_single_node_is_rounded_up(size):
    memory = BestFit()
    memory.free(memory.malloc(size))
    graph = SimpleNamespace(nodes=(None,))
    assert shared_bytes(graph, [], [size]) == memory.high_water == align(size)
