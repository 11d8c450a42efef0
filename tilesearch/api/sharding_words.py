"""What `shard` says in words: why overlap pays or not, and how strong its statements are."""

from __future__ import annotations

from tilesearch.api.sharding import TIMED, Local
from tilesearch.models.time.link import MEASURED_RANKS, REFERENCE, LinkConstants
from tilesearch.models.time.overlap import Queue
from tilesearch.specs.ops import Gemm
from tilesearch.specs.problems import Problem


def reason_of(queue: Queue, sequence: Queue) -> str:
    """What the chunks win and what eats it, each cost with its number; the largest cost first."""
    link = queue.link
    if len(queue.gemm_us) == 1:
        return "one after the other"
    hidden = min(sum(sequence.gemm_us), sum(sequence.collective_us))
    hidden *= 1 - 1 / len(queue.gemm_us)
    split = sum(queue.gemm_us) + sum(queue.collective_us) - sum(sequence.gemm_us) - sum(sequence.collective_us)
    losses = queue.losses()
    costs = [
        (
            losses["launches"] - sequence.losses()["launches"],
            f"launch floor: {queue.launches} launches of {link.enqueue:.0f} us each hold the queue up by",
        ),
        (losses["contention"], f"the product keeps {link.overlap_progress:.0%} of its speed beside the collective:"),
        (split, "smaller products and messages take longer by"),
    ]
    told = [f"{text} {cost:.0f} us" for cost, text in sorted(costs, reverse=True) if cost >= 1]
    return "; ".join([*told, f"at most {hidden:.0f} us could be hidden"])


def notes_of(problem: Problem, op: Gemm, split: str, ranks: int, local: Local, link: LinkConstants) -> list[str]:
    """What the numbers do not say by themselves."""
    name = problem.device.name
    notes = [_strength(name, ranks, link)]
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
