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
    that loads run in front. `ring`: steps from a load to the next into the same buffer, which is `ahead` unless
    products run on while the loads of later steps are issued; `lead`: steps whose loads leave together at the start
    and are waited for in `ends`, none where not given. `ends`: start, first fill and epilogue, of which `ends_again`
    remain for every further tile of a persistent block. `extra` is added outside the SM (a second kernel).
    `longest`: steps of the longest block, where blocks differ.
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
    ring: Values | None = None
    lead: Values | None = None


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

    An SM with n resident blocks takes ``max(n * steps * added + what of the ends nobody hides, chain)``. The chain of
    one block alone is its ends and steps of a period, which is the larger of its own work (throughput or dependent
    chain) and what its loads need in flight. The warps of older blocks are served first, so that the blocks of an SM
    end one after another: those that follow fill its slots in turn, and an SM is done when all its work is, or the
    longest row of chains. From the third wave on the edges of waves blur (`smear`).
    """
    sms, resident = constants.sms, block.resident
    work = np.maximum(block.added, block.alone)
    period = _period(block, work, constants)
    lead = np.zeros_like(period) if block.lead is None else np.minimum(block.lead, block.steps)
    chain = block.steps * period - lead * (period - work) + block.ends_again

    slots = sms * resident
    full = np.floor(block.grid / slots)
    rest = np.ceil((block.grid - full * slots) / sms)
    shown = constants.ends_hidden * block.ends_again
    shown_between = shown * resident**-constants.ends_overlap
    steady = np.maximum(resident * block.steps * block.added + shown_between, chain)
    ends = np.where(full > 0, shown + (full - 1) * shown_between, 0) + np.where(rest > 0, shown, 0)
    together = (full * resident + rest) * block.steps * block.added + ends
    stepped = np.maximum(together, (full + (rest > 0)) * chain)
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
    share = block.ends_again / np.maximum(steady, 1e-9)
    return Composed(
        time=time,
        sm=sm,
        beside=np.maximum(0, running - sm),
        tail=np.maximum(0, sm - fluid),
        step=period,
        stalled=stalled,
        ends=np.minimum(share, 1),
    )


def _period(block: Block, work: Values, constants: Constants) -> Values:
    """Time from step to step of a block alone. As many loads may be in flight as there are stages in front, and a
    buffer is free only once its step is done; with one buffer a step waits for its load and then does its work.
    """
    ring = block.ahead if block.ring is None else block.ring
    loads = np.maximum(block.latency / block.ahead, (block.latency + block.alone) / ring)
    return np.where(ring > 1, norm(constants.norm_sm, work, loads), np.maximum(work, loads))


def _uneven(block: Block, full: Values, step: Values) -> Values | float:
    """What blocks of different lengths add: a launch of one wave lasts as long as its longest block; with several,
    SMs are done at times spread over the last block, so that half of its excess is waited for.
    """
    if block.longest is None:
        return 0.0
    return np.where(full > 0, 0.5, 1.0) * np.maximum(0, block.longest - block.steps) * step
