"""A set of schedules as a matrix of longest paths, tightened by what excludes one another in a period.

``M[i, j]`` is the least ``s_j - s_i``. Two tasks that exclude one another may not start ``forbidden`` far
apart: for every whole y, not between ``y II - back`` and ``y II + hold`` (both ends allowed). Whatever lies in
such a gap at the end of the range [M[i, j], -M[j, i]] is cut off, every cut is carried to all pairs, and so on
until nothing moves or nothing is left. That alone settles most questions; `search` branches over the rest.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tilesearch.scheduling.bounds import most_versions
from tilesearch.scheduling.probe import Question

Matrix = NDArray[np.int64]

FAR = -(2**60)
"""No path; times are far smaller, and sums with it stay within 64 bits."""


class System:
    """What is constant during one search: nodes, exclusions, buffers.

    Nodes are the tasks; then, where an iteration is limited, its start and its end; then, where stages or
    residues are ordered, the time 0 that they count from.
    """

    def __init__(self, question: Question) -> None:
        loop = question.loop
        self.loop, self.ii, self.count = loop, question.ii, len(loop.tasks)
        self.limit = question.iteration
        size = self.count
        self.source = self.sink = self.origin = -1
        if question.iteration is not None:
            self.source, self.sink, size = size, size + 1, size + 2
        if loop.absolute:
            self.origin, size = size, size + 1
        self.size = size
        pairs = [(x.first, x.second, x.hold, x.back) for x in loop.exclusions]
        table = np.array(pairs, dtype=np.int64).reshape(-1, 4)
        self.first, self.second, self.hold, self.back = (table[:, c].copy() for c in range(4))
        self._prepare_buffers(question.storage)

    def _prepare_buffers(self, storage: int | None) -> None:
        loop = self.loop
        self.sizes = np.array([b.size for b in loop.buffers], dtype=np.int64)
        self.caps = np.array(most_versions(loop), dtype=np.int64)
        stored = [(e.source, e.target, e.latency, e.buffer) for e in loop.edges if e.buffer is not None]
        self.stored = np.array(stored, dtype=np.int64).reshape(-1, 4)
        groups = [(g.capacity, list(g.members)) for g in loop.groups if g.members]
        if storage is not None:
            groups.append((storage, list(range(len(loop.buffers)))))
        # A memory that holds every buffer's most versions restricts nothing.
        self.groups = [
            (capacity, np.array(members))
            for capacity, members in groups
            if int((self.caps[members] * self.sizes[members]).sum()) > capacity
        ]

    def root(self) -> Matrix | None:
        """The matrix before any decision; None where the edges alone are inconsistent."""
        matrix = np.full((self.size, self.size), FAR, dtype=np.int64)
        np.fill_diagonal(matrix, 0)
        for e in self.loop.edges:
            least = e.latency - self.ii * (e.distance if e.buffer is None else int(self.caps[e.buffer]))
            if e.source == e.target:
                if least > 0:
                    return None
            elif least > matrix[e.source, e.target]:
                matrix[e.source, e.target] = least
        for a, b in self.loop.windows:
            matrix[a, b] = max(matrix[a, b], 1 - self.ii)
        self._frame(matrix)
        if not self._close(matrix):
            return None
        if (matrix <= FAR // 2).any():
            self._tie(matrix)
            if not self._close(matrix):
                return None
        return matrix

    def _frame(self, matrix: Matrix) -> None:
        """The nodes that are no tasks."""
        n, loop = self.count, self.loop
        if self.limit is not None:
            matrix[self.source, :n] = 0
            matrix[:n, self.sink] = [t.latency for t in loop.tasks]
            matrix[self.sink, self.source] = -self.limit
        if self.origin >= 0:
            matrix[self.origin, :n] = 0
            for i, stage in enumerate(loop.stages or ()):
                matrix[self.origin, i] = stage * self.ii
                matrix[i, self.origin] = 1 - (stage + 1) * self.ii
            for i, j in loop.pipe_order if loop.stages is not None else ():
                least = (loop.stages[j] - loop.stages[i]) * self.ii  # type: ignore[index]
                matrix[i, j] = max(matrix[i, j], least)

    def _close(self, matrix: Matrix) -> bool:
        """All-pairs longest paths (Floyd-Warshall), in place; False where a cycle is positive."""
        for k in range(self.size):
            np.maximum(matrix, matrix[:, k, None] + matrix[k], out=matrix)
        return not (matrix.diagonal() > 0).any()

    def _tie(self, matrix: Matrix) -> None:
        """Bound how far apart tasks are that no path ties together, without losing every schedule.

        Of all schedules at a period, take one whose waits between strongly connected parts are as short as
        possible in sum: a part could otherwise be moved by a period. Then some tree of edges joins all the
        parts of a connected component with waits shorter than the least plus a period, so no two of its tasks
        are further apart than all parts' own spans and all those waits together. Components move freely, by
        whole periods at least: their first tasks can be brought within one period of each other.
        """
        free = matrix <= FAR // 2
        tied = ~(free | free.T)
        parts = np.unique(tied, axis=0)
        within = sum(int(-matrix[np.ix_(p, p)].min()) for p in parts)
        waits = [max(e.latency, self.ii * max(e.distance, self.loop.max_versions)) for e in self.loop.edges]
        longest = max([*waits, self.ii]) + self.ii
        span = within + longest * max(len(parts) - 1, 1)
        np.maximum(matrix, -span, out=matrix)

    def add(self, matrix: Matrix, source: int, target: int, least: int) -> Matrix | None:
        """The matrix with ``s_target - s_source >= least`` added and carried to all pairs; None if impossible."""
        if least <= matrix[source, target]:
            return matrix
        if matrix[target, source] + least > 0:
            return None
        grown: Matrix = np.maximum(matrix, (matrix[:, source] + least)[:, None] + matrix[target])
        return grown

    def tighten(self, matrix: Matrix, caps: Matrix, low: Matrix) -> tuple[Matrix, Matrix] | None:
        """Everything that follows without choosing: the tightened matrix and versions; None if nothing is left."""
        while True:
            cut = self._cut_gaps(matrix)
            if cut is None:
                return None
            if not self.groups:
                return cut, caps
            held = self._cut_versions(cut, caps, low)
            if held is None:
                return None
            if held[0] is cut:
                return cut, held[1]
            matrix, caps = held

    def _cut_gaps(self, matrix: Matrix) -> Matrix | None:
        ii, first, second = self.ii, self.first, self.second
        while len(first):
            low, high = matrix[first, second], -matrix[second, first]
            before = -((-low - self.back) // ii) - 1  # the lap in which the earliest allowed place lies
            after = (high - self.hold) // ii
            if (before > after).any():
                return None
            least, most = self.hold + before * ii, (after + 1) * ii - self.back
            rising, falling = np.nonzero(least > low)[0], np.nonzero(most < high)[0]
            if not len(rising) and not len(falling):
                break
            grown: Matrix | None = matrix
            for x in rising:
                grown = self.add(grown, first[x], second[x], least[x]) if grown is not None else None
            for x in falling:
                grown = self.add(grown, second[x], first[x], -most[x]) if grown is not None else None
            if grown is None:
                return None
            matrix = grown
        return matrix

    def _cut_versions(self, matrix: Matrix, caps: Matrix, low: Matrix) -> tuple[Matrix, Matrix] | None:
        """Versions that the memories cannot hold are taken away: their buffers' edges get shorter."""
        need = np.maximum(self._needed(matrix), low)
        most = caps.copy()
        for capacity, members in self.groups:
            spare = capacity - int((need[members] * self.sizes[members]).sum())
            if spare < 0:
                return None
            room = need[members] + spare // np.maximum(self.sizes[members], 1)
            most[members] = np.where(self.sizes[members] > 0, np.minimum(most[members], room), most[members])
        if (most < need).any():
            return None
        if (most == caps).all():
            return matrix, caps
        grown = self.shrink(matrix, most)
        return None if grown is None else (grown, most)

    def _needed(self, matrix: Matrix) -> Matrix:
        """The fewest versions of each buffer that the ranges of start times allow."""
        need = np.ones(len(self.sizes), dtype=np.int64)
        source, target, latency, buffer = self.stored.T
        np.maximum.at(need, buffer, -((-latency - matrix[target, source]) // self.ii))
        return need

    def shrink(self, matrix: Matrix, caps: Matrix) -> Matrix | None:
        """The matrix with the buffers' edges at `caps` versions."""
        grown: Matrix | None = matrix
        for source, target, latency, buffer in self.stored:
            least = int(latency - self.ii * caps[buffer])
            if source == target:
                grown = None if least > 0 else grown
            elif grown is not None:
                grown = self.add(grown, source, target, least)
            if grown is None:
                return None
        return grown
