"""The project's own engine: depth-first search over which of two exclusive tasks comes first in which lap.

Each node of the search is tightened (`system`); then the earliest schedules it allows are tried, and where
none is valid, the search branches on something that is wrong with the first of them: two tasks in each other's
way (one starts later, or the other does), a memory that is too small (one version less of a buffer, or no
less), or stages out of order. Both branches together lose no schedule, so an exhausted search is a proof.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tilesearch.scheduling.probe import Answer, Budget, Question, Reply, normalised
from tilesearch.scheduling.system import Matrix, System

_UNSUPPORTED = "the search engine knows orders within a pipe only with given stages"
_CLOCK_EVERY = 64  # nodes between two looks at the clock
_FIRST, _GROWTH = 300, 1.5  # nodes of the first run, and by how much each run is longer than the one before


@dataclass
class _Node:
    """A set of schedules: their longest paths, the most and the fewest versions of each buffer."""

    matrix: Matrix
    caps: Matrix
    low: Matrix


class SearchEngine:
    """Constraint propagation and depth-first search with restarts."""

    name = "search"

    def ask(self, question: Question, budget: Budget) -> Reply:
        """Decide `question` within the budget's nodes and time.

        A run that takes long has most often gone wrong at its first choices: it is given up, and begun anew
        with choices that are weighed a little at random. The seeds are fixed, so the answer is too.
        """
        if question.loop.pipe_order and question.loop.stages is None:
            return Reply(Answer.UNKNOWN, engine=self.name, notes=(_UNSUPPORTED,))
        nodes, limit, seed = 0, float(_FIRST), 0
        while True:
            reply = _Search(question, seed).run(budget, min(int(limit), budget.nodes - nodes))
            nodes += reply.nodes
            if reply.answer is not Answer.UNKNOWN or nodes >= budget.nodes or budget.spent:
                return replace(reply, engine=self.name, nodes=nodes)
            seed, limit = seed + 1, limit * _GROWTH


class _Search:
    def __init__(self, question: Question, seed: int = 0) -> None:
        self.random = np.random.default_rng(seed) if seed else None
        self.question = question
        self.system = System(question)
        self.loop = question.loop

    def run(self, budget: Budget, limit: int) -> Reply:
        root = self.system.root()
        if root is None:
            return Reply(Answer.NO)
        low = np.ones_like(self.system.caps)
        stack = [_Node(root, self.system.caps, low)]
        nodes = 0
        while stack:
            nodes += 1
            if nodes > limit or (nodes % _CLOCK_EVERY == 0 and budget.spent):
                return Reply(Answer.UNKNOWN, nodes=nodes)
            node = stack.pop()
            tightened = self.system.tighten(node.matrix, node.caps, node.low)
            if tightened is None:
                continue
            node.matrix, node.caps = tightened
            starts = self._earliest(node)
            children = self._branches(node, starts)
            if children is None:
                found = normalised(self.loop, self.question.ii, [int(s) for s in starts])
                return Reply(Answer.YES, found, nodes=nodes)
            stack += [child for child in reversed(children) if child is not None]
        return Reply(Answer.NO, nodes=nodes)

    def _earliest(self, node: _Node) -> Matrix:
        """Start times that respect every path, preferably ones without two tasks in each other's way.

        Any row of the matrix is such a schedule: the earliest one, seen from the row's node.
        """
        system = self.system
        if system.origin >= 0:
            first: Matrix = node.matrix[system.origin, : system.count]
            return first
        rows = node.matrix[:, : system.count]
        if system.source >= 0:
            rows = rows[[system.source, *range(system.count)]]
        ahead = (rows[:, system.second] - rows[:, system.first]) % system.ii
        wrong = ((ahead < system.hold) | (ahead > system.ii - system.back)).sum(axis=1)
        best: Matrix = rows[int(wrong.argmin())]
        return best

    def _branches(self, node: _Node, starts: Matrix) -> list[_Node | None] | None:
        """Two sets of schedules that together make up the node's, without `starts`; None where these are valid.

        A set in which nothing is left is None.
        """
        for branch in (self._by_exclusion, self._by_stage, self._by_memory):
            found = branch(node, starts)
            if found is not None:
                return found
        return None

    def _by_exclusion(self, node: _Node, starts: Matrix) -> list[_Node | None] | None:
        """The pair in each other's way that has the least room: one side of the gap, or the other."""
        system, ii = self.system, self.system.ii
        apart = starts[system.second] - starts[system.first]
        lap = (apart + system.back) // ii  # the gap around lap * ii is the one that `apart` may lie in
        below, above = lap * ii - system.back, lap * ii + system.hold
        wrong = np.nonzero((apart > below) & (apart < above))[0]
        if not len(wrong):
            return None
        first, second = system.first[wrong], system.second[wrong]
        room_above = -node.matrix[second, first] - above[wrong]
        room_below = below[wrong] - node.matrix[first, second]
        room = np.minimum(room_above, room_below)
        if self.random is not None:
            room = room * self.random.uniform(1.0, 2.0, len(room))
        place = int(room.argmin())
        x = wrong[place]
        i, j = int(system.first[x]), int(system.second[x])
        later = self._with(node, [(i, j, int(above[x]))])
        earlier = self._with(node, [(j, i, -int(below[x]))])
        nearer = above[x] - apart[x] <= apart[x] - below[x]
        return [later, earlier] if nearer else [earlier, later]

    def _by_stage(self, node: _Node, starts: Matrix) -> list[_Node | None] | None:
        """Stages out of order: the later task's stage stays at most what it is, or becomes more."""
        ii, zero = self.system.ii, self.system.origin
        for u, w in self.loop.stage_order:
            stage = int(starts[w]) // ii
            if int(starts[u]) // ii > stage:
                end = 1 - (stage + 1) * ii
                stays = self._with(node, [(w, zero, end), (u, zero, end)])
                return [stays, self._with(node, [(zero, w, (stage + 1) * ii)])]
        return None

    def _by_memory(self, node: _Node, starts: Matrix) -> list[_Node | None] | None:
        """A memory that is too small: one version less of its largest buffer that could do with less, or no less."""
        system = self.system
        used = np.array(self.loop.versions(system.ii, [int(s) for s in starts]), dtype=np.int64)
        for capacity, members in system.groups:
            if int((np.maximum(used, node.low)[members] * system.sizes[members]).sum()) <= capacity:
                continue
            spare = [b for b in members if used[b] > node.low[b]]
            if not spare:
                return [None, None]
            b = max(spare, key=lambda b: (used[b] - node.low[b]) * system.sizes[b])
            caps, low = node.caps.copy(), node.low.copy()
            caps[b], low[b] = used[b] - 1, used[b]
            shrunk = system.shrink(node.matrix, caps)
            fewer = None if shrunk is None else _Node(shrunk, caps, node.low)
            return [fewer, _Node(node.matrix, node.caps, low)]
        return None

    def _with(self, node: _Node, waits: list[tuple[int, int, int]]) -> _Node | None:
        matrix: Matrix | None = node.matrix
        for source, target, least in waits:
            if matrix is not None:
                matrix = self.system.add(matrix, source, target, least)
        return None if matrix is None else _Node(matrix, node.caps, node.low)
