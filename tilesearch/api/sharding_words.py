"""What `shard` says in words: why overlap pays or not, and how strong its statements are."""

from __future__ import annotations

from tilesearch.answers.shard import Limit
from tilesearch.api.sharding import TIMED, Local
from tilesearch.models.time.link import MEASURED_RANKS, REFERENCE, LinkConstants
from tilesearch.models.time.overlap import Queue
from tilesearch.specs.ops import Gemm
from tilesearch.specs.problems import Problem

LAUNCHES: Limit = "launch floor"
CONTENTION: Limit = "contention"
PARTS: Limit = "smaller parts"


def costs_of(queue: Queue, sequence: Queue) -> dict[Limit, float]:
    """What eats the gain of chunks, us by name: each found by taking it away."""
    parts = sum(queue.gemm_us) + sum(queue.collective_us) - sum(sequence.gemm_us) - sum(sequence.collective_us)
    losses = queue.losses()
    return {
        LAUNCHES: losses["launches"] - sequence.losses()["launches"],
        CONTENTION: losses["contention"],
        PARTS: parts,
    }


def hideable_us(queue: Queue, sequence: Queue) -> float:
    """The most that chunks could hide: all but one chunk of the shorter of product and collective."""
    return min(sum(sequence.gemm_us), sum(sequence.collective_us)) * (1 - 1 / len(queue.gemm_us))


def limit_of(queue: Queue, sequence: Queue) -> Limit:
    """What stands in the way most: the launch floor where more launches take longer than could be hidden at all."""
    if len(queue.gemm_us) == 1:
        return ""
    if queue.issue_us - sequence.issue_us >= hideable_us(queue, sequence):
        return LAUNCHES
    costs = costs_of(queue, sequence)
    return max(costs, key=lambda name: costs[name])


def reason_of(queue: Queue, sequence: Queue) -> str:
    """What the chunks could win and what eats it, each cost with its number: `limit_of` first, then by size."""
    if len(queue.gemm_us) == 1:
        return "one after the other"
    link, costs, limit = queue.link, costs_of(queue, sequence), limit_of(queue, sequence)
    more = queue.launches - sequence.launches
    words = {
        LAUNCHES: f"launch floor: {more} launches more take the host {queue.issue_us - sequence.issue_us:.0f} us, of "
        f"which the queue waits {max(0.0, costs[LAUNCHES]):.0f} us",
        CONTENTION: f"the product keeps {link.overlap_progress:.0%} of its speed beside the collective: "
        f"{costs[CONTENTION]:.0f} us",
        PARTS: f"smaller products and messages take longer by {costs[PARTS]:.0f} us",
    }
    order = sorted(costs, key=lambda name: (name != limit, -costs[name]))
    told = [words[name] for name in order if name == limit or costs[name] >= 1]
    return "; ".join([f"at most {hideable_us(queue, sequence):.0f} us could be hidden", *told])


def notes_of(problem: Problem, op: Gemm, split: str, ranks: int, local: Local, link: LinkConstants) -> list[str]:
    """What the numbers do not say by themselves."""
    name = problem.device.name
    notes = [_strength(name, ranks, link), *local.notes]
    if problem.kernel.language not in TIMED:
        kind = f"the fastest of Triton's variants, {local.kernel.variant}"
        notes.append(f"no time model for the language {problem.kernel.language}: the product is timed as {kind}")
    if local.sustained_us is None:
        notes.append(f"no sustained rate of {op.dtype} is known for {name}: the product is timed at full clock")
    elif local.sustained_us > local.time_us:
        notes.append(
            f"under the power limit the product takes {local.sustained_us:.1f} us, cool {local.time_us:.1f}: "
            "the totals use the former"
        )
    length, axis = (op.k, "K") if split == "row" else (op.n, "N")
    if length % ranks:
        part = -(-length // ranks)
        notes.append(f"{ranks} does not divide {axis} = {length}: the longest part, {part}, decides")
    if split == "row" and (op.bias or op.c_in or op.activation != "none"):
        notes.append("bias, activation and an added C belong behind the collective: they are not timed")
    return notes


def _strength(name: str, ranks: int, link: LinkConstants) -> str:
    if link.strength != "calibrated":
        return (
            f"link: datasheet only: {name} was never measured; bandwidth from its datasheet, the rest kept from "
            f"{REFERENCE}"
        )
    if ranks != MEASURED_RANKS:
        measured = f"measured on {name} with {MEASURED_RANKS} devices"
        return f"link: not validated: {measured}; {ranks} follow the ring's formula"
    return f"link: calibrated on {name} with {ranks} devices; intervals hold 80 % of measured runs"
