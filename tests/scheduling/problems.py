"""Loops and lines for tests: the recorded instances, the official example, and random ones."""

import gzip
import json
import random
from functools import cache
from pathlib import Path

from tilesearch.api.verify.ascend.instances import LineArgs, LoopArgs
from tilesearch.scheduling import Buffer, Edge, Exclusion, Group, Loop, Task

DATA = Path(__file__).parents[1] / "data" / "ascend" / "schedules.json.gz"


@cache
def instances():
    return json.loads(gzip.decompress(DATA.read_bytes()))["instances"]


def problem(instance):
    model = LoopArgs if instance["kind"] == "loop" else LineArgs
    return model.model_validate(instance["args"]).problem()


def official(stages=2):
    """The k-loop of the official example: copies of A and B, and the product of a 256 x 224 x 128 tile in bf16."""
    tasks = (
        Task("copy A", 846, 656, frozenset({"MTE2"})),
        Task("copy B", 764, 574, frozenset({"MTE2"})),
        Task("gemm", 1800, 1792, frozenset({"M"})),
    )
    edges = [Edge(2, 2, 1800, 1)]
    for copy, buffer in ((0, 0), (1, 1)):
        latency = tasks[copy].latency
        edges += [
            Edge(copy, copy, latency, 0, buffer),
            Edge(copy, 2, latency),
            Edge(2, copy, 1800, 0, buffer),
        ]
    return Loop(
        tasks,
        tuple(edges),
        (Exclusion(0, 1, 656, 574, "MTE2"),),
        (Buffer("a_l1", 65536), Buffer("b_l1", 57344)),
        (Group("L1", 524288, (0, 1)),),
        max_versions=stages,
    )


def random_loop(seed):
    """A small loop with a little of everything; many have no schedule."""
    rng = random.Random(seed)
    n = rng.randint(1, 6)
    names = ["MTE1", "MTE2", "MTE3", "M", "V", "FIX"]
    tasks = []
    for i in range(n):
        latency = rng.randint(1, 60)
        pipe = rng.choice(names[: rng.randint(1, 4)])
        tasks.append(Task(f"t{i}", latency, rng.randint(1, latency), frozenset({pipe})))
    buffers, edges = [], []
    for b in range(rng.randint(0, min(4, n))):
        writer = rng.randrange(n)
        buffers.append(Buffer(f"b{b}", rng.choice([0, 16, 32, 48])))
        edges.append(Edge(writer, writer, tasks[writer].latency, 0, b))
        for reader in range(writer + 1, n):
            if rng.random() < 0.5:
                edges.append(Edge(writer, reader, tasks[writer].latency))
                edges.append(Edge(reader, writer, tasks[reader].latency, 0, b))
    for _ in range(rng.randint(0, n)):
        u, v = rng.randrange(n), rng.randrange(n)
        edges.append(Edge(u, v, rng.randint(0, tasks[u].latency), 0 if u < v else rng.randint(1, 2)))
    exclusions = [
        Exclusion(i, j, tasks[i].interval, tasks[j].interval, "pipe")
        for i in range(n)
        for j in range(i)
        if tasks[i].pipes & tasks[j].pipes or rng.random() < 0.08
    ]
    if rng.random() < 0.2 and n > 1:
        i, j = rng.sample(range(n), 2)
        exclusions.append(Exclusion(i, j, rng.randint(0, 40), rng.randint(0, 40), "buffer"))
    stage_order = [tuple(rng.sample(range(n), 2)) for _ in range(rng.choice([0, 0, 0, 1, 2]))] if n > 1 else []
    groups = ()
    if buffers and rng.random() < 0.5:
        groups = (Group("UB", rng.randint(16, 48 * len(buffers)), tuple(range(len(buffers)))),)
    stages, pipe_order = None, []
    if rng.random() < 0.1:
        stages = tuple(rng.randint(0, 2) for _ in range(n))
        pipe_order = [(i, j) for i in range(n) for j in range(i + 1, n) if tasks[i].pipes & tasks[j].pipes]
    return Loop(
        tuple(tasks),
        tuple(edges),
        tuple(exclusions),
        tuple(buffers),
        groups,
        rng.randint(1, 3),
        rng.random() < 0.5,
        tuple(stage_order),
        tuple(pipe_order),
        stages,
    )
