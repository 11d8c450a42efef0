"""Carver's shared memory allocator: best fit over a list of blocks, 32-byte aligned (carver notes, section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from tilesearch.models.carver.graph import Graph, Sizes, align


@dataclass(eq=False)
class Piece:
    """A run of shared memory."""

    start: int
    end: int
    free: bool = False

    @property
    def size(self) -> int:
        """Bytes."""
        return self.end - self.start


@dataclass
class BestFit:
    """Pieces in address order without gaps; `high_water` is the end of the last one that ever was."""

    pieces: list[Piece] = field(default_factory=list)
    high_water: int = 0

    def malloc(self, size: int) -> Piece:
        """Take the smallest free piece that fits; else grow a free last piece in place; else append."""
        size = align(size)
        fitting = [piece for piece in self.pieces if piece.free and piece.size >= size]
        if fitting:
            piece = min(fitting, key=lambda p: p.size)
            if piece.size > size:
                rest = Piece(piece.start + size, piece.end, free=True)
                self.pieces.insert(self.pieces.index(piece) + 1, rest)
                piece.end = rest.start
        elif self.pieces and self.pieces[-1].free:
            piece = self.pieces[-1]
            piece.end = piece.start + size
        else:
            start = self.pieces[-1].end if self.pieces else 0
            piece = Piece(start, start + size)
            self.pieces.append(piece)
        piece.free = False
        self.high_water = max(self.high_water, piece.end)
        return piece

    def free(self, piece: Piece) -> None:
        """Give a piece back; it merges with free neighbours."""
        piece.free = True
        place = self.pieces.index(piece)
        if place + 1 < len(self.pieces) and self.pieces[place + 1].free:
            piece.end = self.pieces.pop(place + 1).end
        if place > 0 and self.pieces[place - 1].free:
            self.pieces[place - 1].end = piece.end
            self.pieces.pop(place)


def shared_bytes(graph: Graph, tiles: Sequence[Sizes], node_bytes: Sequence[int]) -> int:
    """Shared memory of a block: node after node, with the outputs that later nodes still read held meanwhile."""
    if len(graph.nodes) == 1:
        return align(node_bytes[0])
    memory = BestFit()
    held: dict[int, Piece] = {}
    readers = {
        n: {i for i, node in enumerate(graph.nodes) if any(a.source == n for a in node.reads)} for n in graph.feeds
    }
    for number, node in enumerate(graph.nodes):
        memory.free(memory.malloc(node_bytes[number]))
        for source in [s for s in held if max(readers[s]) == number]:
            memory.free(held.pop(source))
        if number in readers:
            held[number] = memory.malloc(prod(tiles[number]) * node.output.nbytes)
    return memory.high_water
