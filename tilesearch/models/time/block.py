"""From one block to the launch: residency, waves and their tail, and the chip-wide limits beside the SMs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tilesearch.models.time.constants import Constants
from tilesearch.models.time.launch import Values


def norm(power: float, *terms: Values) -> Values:
    """``(sum of terms ** power) ** (1 / power)``: a maximum that is soft where two terms are alike."""
    largest = np.maximum.reduce([np.maximum(term, 1e-9) for term in terms])
    total: Values = sum(((np.maximum(term, 0) / largest) ** power for term in terms), np.zeros_like(largest))
    return np.asarray(largest * total ** (1 / power))


@dataclass(frozen=True)
class Block:
    """One block of a launch; times in ns, all columns.

    `steps` of its loop; `added`: what a step costs an SM for each block that is resident; `alone`: the chain of
    dependent work within one step, which another block can hide; `latency`: from a load to its data; `ahead`: steps
    that loads run in front. `ends`: start, first fill and epilogue, of which `ends_again` remain for every further
    tile of a persistent block. `extra` is added outside the SM (a second kernel). `longest`: steps of the longest
    block, where blocks differ.
    """

    grid: Values
    resident: Values
    steps: Values
    added: Values
    alone: Values
    latency: Values
    ahead: Values
    ends: Values
    ends_again: Values
    persistent: Values
    extra: Values
    parts: Mapping[str, Values]
    longest: Values | None = None


@dataclass(frozen=True)
class Chip:
    """Times in ns that the whole launch needs of a shared resource, whatever the SMs do."""

    dram: Values
    l2: Values
    lines: Values
    dispatch: Values


@dataclass(frozen=True)
class Composed:
    """The time of a launch in ns, and what it is made of: `sm` is the time of the SMs alone, `beside` what memory, L2
    and dispatch add to it, `tail` what waves that are not full cost. `stalled` and `ends` are shares of a step and of
    a block: waiting for loads; start, first loads and epilogue.
    """

    time: Values
    sm: Values
    beside: Values
    tail: Values
    step: Values
    stalled: Values
    ends: Values


def compose(block: Block, chip: Chip, constants: Constants) -> Composed:
    """The time of the launch.

    An SM with n resident blocks takes ``max(n * steps * added + what of the ends nobody hides, steps * period +
    ends)``, where the period of one block alone is the largest of its throughput, its dependent chain and what its
    loads need in flight. Waves are whole steps; from the third one on their edges blur (`smear`).
    """
    sms, resident = constants.sms, block.resident
    period = np.maximum(np.maximum(block.added, block.alone), (block.latency + block.alone) / block.ahead)

    def sm_time(count: Values, hidden: Values) -> Values:
        together = count * block.steps * block.added + hidden * block.ends_again
        return np.maximum(together, block.steps * period + block.ends_again)

    slots = sms * resident
    full = np.floor(block.grid / slots)
    rest = np.ceil((block.grid - full * slots) / sms)
    hidden = np.full_like(resident, constants.ends_hidden)
    first = sm_time(resident, hidden)
    steady = sm_time(resident, hidden * resident**-constants.ends_overlap)
    last = np.where(rest > 0, sm_time(np.maximum(rest, 1), hidden), 0)
    stepped = np.where(full > 0, first + (full - 1) * steady, 0) + last
    fluid = block.grid / slots * steady
    blur = constants.smear * np.maximum(0, 1 - 2 / np.maximum(full, 1))
    blur = np.where(block.persistent > 0, 0, blur)
    sm = stepped - blur * np.maximum(0, stepped - fluid) + (block.ends - block.ends_again)
    sm = sm + _uneven(block, full, np.maximum(period, resident * block.added))
    chip_time = norm(constants.norm_chip, sm, chip.dram, chip.l2, chip.lines)
    running = np.maximum(chip_time, chip.dispatch)
    time = running + constants.launch_floor + block.extra
    busy = np.maximum(1, np.minimum(resident, np.ceil(block.grid / sms)))
    stalled = np.maximum(0, 1 - busy * block.added / np.maximum(busy * block.added, period))
    ends = block.ends_again / np.maximum(steady, 1e-9)
    return Composed(
        time=time,
        sm=sm,
        beside=np.maximum(0, running - sm),
        tail=np.maximum(0, sm - fluid),
        step=period,
        stalled=stalled,
        ends=np.minimum(ends, 1),
    )


def _uneven(block: Block, full: Values, step: Values) -> Values | float:
    """What blocks of different lengths add: a launch of one wave lasts as long as its longest block; with several,
    SMs are done at times spread over the last block, so that half of its excess is waited for.
    """
    if block.longest is None:
        return 0.0
    return np.where(full > 0, 0.5, 1.0) * np.maximum(0, block.longest - block.steps) * step
