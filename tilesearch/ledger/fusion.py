"""Chains of operators as one kernel: what crosses, what stays alive on chip, what the grid becomes (seed 5.1).

A fused block takes whole *units*: the smallest piece of the chain that needs nothing from another piece. Where a
consumer reduces over an axis of what it reads (a softmax over a row, a product over its k), the unit holds that
axis whole; where every consumer reads entry by entry, an entry is a unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from tilesearch.errors import InputError, Issue
from tilesearch.ledger.account import Ledger, ledger_of
from tilesearch.program.form import Axis, Program, Role, Tensor


@dataclass(frozen=True)
class Stage:
    """One operator of a chain. `source` is the place of the stage it reads from, through its tensor `operand`."""

    name: str
    program: Program
    keeps: bool = False
    source: int | None = None
    operand: str = ""

    @cached_property
    def ledger(self) -> Ledger:
        """The stage's own ledger, as a kernel of its own."""
        return ledger_of(self.program)


@dataclass(frozen=True)
class Crossing:
    """An intermediate: `out` of stage `before` is read as `operand` by stage `after`."""

    before: int
    after: int
    out: Tensor
    operand: Tensor
    width: int

    @property
    def elements(self) -> int:
        """Elements that cross."""
        return self.operand.elements

    @property
    def units(self) -> int:
        """Pieces of the intermediate that a consumer reads apart from each other."""
        return self.elements // self.width


class Fusion:
    """A chain of stages seen as one kernel."""

    def __init__(self, stages: tuple[Stage, ...]) -> None:
        self.stages = stages
        self.crossings = tuple(
            _crossing(stages, place, stage.source) for place, stage in enumerate(stages) if stage.source is not None
        )

    @property
    def apart(self) -> int:
        """Bytes that the stages move as kernels of their own. Unit: B."""
        return sum(stage.ledger.bytes for stage in self.stages)

    @property
    def saved(self) -> int:
        """Bytes that one kernel does not move: each intermediate's write, unless it is kept, and its reads."""
        written = {c.before: c for c in self.crossings if not self.stages[c.before].keeps}
        reads = sum(self._bytes(c.after, c.operand) for c in self.crossings)
        return reads + sum(self._bytes(c.before, c.out) for c in written.values())

    def _bytes(self, place: int, tensor: Tensor) -> int:
        return self.stages[place].program.tensor_bytes(tensor)

    @cached_property
    def units(self) -> int:
        """Pieces of the chain that need nothing from one another: the most blocks that a fused grid can have."""
        return min(crossing.units for crossing in self.crossings)

    @property
    def entrywise(self) -> bool:
        """Whether every consumer reads entry by entry, so that the kernel of the largest stage just goes on."""
        return all(crossing.width == 1 for crossing in self.crossings)

    @property
    def anchor(self) -> int:
        """The stage with the most operations: the one whose tile an entry-by-entry chain follows."""
        return max(range(len(self.stages)), key=lambda place: self.stages[place].ledger.flops)

    def alive(self, units: int) -> int:
        """Bytes of intermediates that a block of `units` units must keep on chip at once. Unit: B.

        A stage that reads a unit whole has its input and its output alive together, unless it writes in place
        (as many elements as it read).
        """
        return max(self._alive_at(place, units) for place in range(len(self.stages)))

    def _alive_at(self, place: int, units: int) -> int:
        read = [self._share(c.operand, units) for c in self.crossings if c.after == place]
        written = [self._share(c.out, units) for c in self.crossings if c.before == place][:1]
        size = self.stages[place].program.outputs[0].elements
        in_place = any(c.after == place and c.elements == size for c in self.crossings)
        return max([*read, *written], default=0) if in_place else sum(read) + sum(written)

    def _share(self, tensor: Tensor, units: int) -> int:
        return tensor.dtype.storage_bytes(-(-tensor.elements * units // self.units))

    def cached(self, grid: int) -> int:
        """Bytes that all blocks read from L2 or memory, and write. Unit: B.

        An operand is read once for each block that meets the same entries of it: by all of them where the units
        do not index it, by those of one batch where only the batch does.
        """
        crossed = {(c.after, c.operand.name) for c in self.crossings} | {(c.before, c.out.name) for c in self.crossings}
        count = 0
        for place, stage in enumerate(self.stages):
            for tensor in stage.program.tensors:
                if tensor.role is Role.INTERMEDIATE or (place, tensor.name) in crossed:
                    continue
                again = 1 if tensor.role is Role.OUTPUT else max(1, grid // self._told_apart(place, tensor))
                count += stage.program.tensor_bytes(tensor) * again
        return count

    def _told_apart(self, place: int, tensor: Tensor) -> int:
        """How many different parts of a stage's tensor the units of the chain meet."""
        program = self.stages[place].program
        reads = next((c.operand for c in self.crossings if c.after == place), None)
        if reads is not None:
            axes = [axis for axis in reads.axes if not _reduced(program, axis.terms[0][0])]
        else:
            axes = self._outermost(next(c.out for c in self.crossings if c.before == place))
        owners = program.owners(tensor)
        return prod(axis.extent for axis in axes if program.owner(axis.terms[0][0]).name in owners)

    def _outermost(self, out: Tensor) -> list[Axis]:
        """The outermost axes of a tensor that is written, as many as tell the units apart."""
        found: list[Axis] = []
        for axis in out.axes:
            if prod(a.extent for a in found) >= self.units:
                break
            found.append(axis)
        return found

    @property
    def flops(self) -> dict[str, int]:
        """Operations of the whole chain, by unit."""
        counts: dict[str, int] = {}
        for stage in self.stages:
            for unit, flops in stage.ledger.flops_by_unit.items():
                counts[unit] = counts.get(unit, 0) + flops
        return counts

    @property
    def mixes_units(self) -> bool:
        """Whether one stage has products for a matrix unit and another has not: two bodies in one kernel."""
        products = [stage.program.contraction is not None for stage in self.stages]
        return any(products) and not all(products)


def connect(stages: Sequence[tuple[str, Program, bool, tuple[str, str] | None]]) -> tuple[Stage, ...]:
    """Stages from (name, program, keeps its output in memory, (source, tensor) or None).

    Raises `InputError` for a tensor that the source does not write, and for one that fits no input.
    """
    places = {name: place for place, (name, *_) in enumerate(stages)}
    found = []
    for place, (name, program, keeps, source) in enumerate(stages):
        if source is None:
            found.append(Stage(name, program, keeps))
            continue
        before = places[source[0]]
        out = _output(stages[before][1], source, place)
        found.append(Stage(name, program, keeps, before, _operand(program, out, name, place).name))
    return tuple(found)


def _output(program: Program, source: tuple[str, str], place: int) -> Tensor:
    """The tensor of that name; ``out`` is the first output, whatever the operator calls it."""
    outputs = {tensor.name: tensor for tensor in program.outputs}
    outputs.setdefault("out", program.outputs[0])
    if source[1] not in outputs:
        hint = f"it writes {', '.join(outputs)}"
        raise InputError(Issue(f"{source[0]!r} writes no {source[1]!r}", f"ops[{place}].input_from", hint=hint))
    return outputs[source[1]]


def _operand(program: Program, out: Tensor, name: str, place: int) -> Tensor:
    inputs = [tensor for tensor in program.tensors if tensor.role is Role.INPUT]
    for tensor in inputs:
        if tensor.elements == out.elements:
            return tensor
    sizes = ", ".join(f"{tensor.name} {tensor.elements}" for tensor in inputs)
    message = f"{name!r} has no input of {out.elements} elements"
    raise InputError(Issue(message, f"ops[{place}].input_from", hint=f"its inputs: {sizes}"))


def _crossing(stages: tuple[Stage, ...], place: int, source: int) -> Crossing:
    stage = stages[place]
    operand = stage.program.tensor(stage.operand)
    out = next(t for t in stages[source].program.outputs if t.elements == operand.elements)
    if any(len(axis.terms) > 1 or axis.gathered for axis in operand.axes):
        message = f"{stage.name!r} reads through a window or a table: fuse covers entries that are read directly"
        raise InputError(Issue(message, f"ops[{place}].input_from"))
    width = prod(axis.extent for axis in operand.axes if _reduced(stage.program, axis.terms[0][0]))
    return Crossing(source, place, out, operand, width)


def _reduced(program: Program, name: str) -> bool:
    """Whether a block must meet the whole axis: it is summed over, or a row that is transformed as one."""
    dim = program.owner(name)
    return dim.reduce or dim.whole
