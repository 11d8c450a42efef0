"""Chains of operators as one kernel: what crosses, what stays alive on chip, what the grid becomes (seed 5.1).

A fused block takes whole *units*: the smallest piece of the chain that needs nothing from another piece. Where a
consumer reduces over an axis of what it reads (a softmax over a row, a product over its k), or a producer must have
an axis whole to write any of it, the unit holds that axis whole; where every stage goes entry by entry, an entry is
a unit. Which axes those are, and which tensors they index, is followed through all stages by `ledger.digits`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from tilesearch.errors import InputError, Issue
from tilesearch.ledger.account import Ledger, ledger_of
from tilesearch.ledger.digits import Edge, Loop, linked, regrouped
from tilesearch.program.form import Axis, Dim, Program, Role, Tensor
from tilesearch.program.touch import Component, total


@dataclass(frozen=True)
class Stage:
    """One operator of a chain. Its tensor `operand` is the tensor `read` of the stage at the place `source`."""

    name: str
    program: Program
    keeps: bool = False
    source: int | None = None
    read: str = ""
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
    def reshaped(self) -> bool:
        """Whether the consumer knows the entries under another shape."""
        return _long(self.out.shape) != _long(self.operand.shape)


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
        reads = sum(self._bytes(c.after, c.operand) for c in self.crossings)
        return reads + sum(self._bytes(place, out) for place, out in self.inside)

    @property
    def inside(self) -> set[tuple[int, Tensor]]:
        """What one kernel does not write: tensors that cross, each with the place of the stage it comes from."""
        return {(c.before, c.out) for c in self.crossings if not self.stages[c.before].keeps}

    def written(self, fused: bool) -> int:
        """Bytes of all outputs, without those that stay inside one kernel where they are `fused`. Unit: B."""
        inside = self.inside if fused else set()
        return sum(
            stage.program.tensor_bytes(tensor)
            for place, stage in enumerate(self.stages)
            for tensor in stage.program.outputs
            if (place, tensor) not in inside
        )

    def _bytes(self, place: int, tensor: Tensor) -> int:
        return self.stages[place].program.tensor_bytes(tensor)

    @cached_property
    def _loops(self) -> tuple[Loop, ...]:
        return linked([Edge(c.before, c.out, c.after, c.operand) for c in self.crossings])

    @cached_property
    def loops(self) -> tuple[Loop, ...]:
        """The loops that tell units apart, outermost first: met at each crossing, and whole for no stage."""
        everywhere = set(range(len(self.crossings)))
        return tuple(loop for loop in self._loops if loop.crossings == everywhere and not self._whole(loop))

    def _whole(self, loop: Loop) -> bool:
        return any(_reduced(self.stages[place].program, name) for place, name in loop.names)

    @cached_property
    def units(self) -> int:
        """Pieces of the chain that need nothing from one another: the most blocks that a fused grid can have."""
        return prod(loop.extent for loop in self.loops)

    @property
    def entrywise(self) -> bool:
        """Whether every stage goes entry by entry, so that the kernel of the largest one just goes on."""
        return self.loops == self._loops

    def whole_at(self, place: int) -> set[str]:
        """Dimensions of a stage of which a unit holds the whole, among those that cross."""
        return {name for loop in self._loops if loop not in self.loops for at, name in loop.names if at == place}

    def least_units(self, place: int, name: str, least: int) -> int:
        """The fewest units whose block holds `least` indices of a dimension of the stage at `place`."""
        ours = [loop for loop in self.loops if (place, name) in loop.names]
        inside = self.stages[place].program.extent(name) // prod(loop.extent for loop in ours)
        if inside >= least or not ours:
            return 1
        inner = prod(loop.extent for loop in self.loops[self.loops.index(ours[-1]) + 1 :])
        return min(self.units, -(-least // inside) * inner)

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
        """Bytes that so many blocks, with equal runs of units, read from L2 or memory, and write. Unit: B.

        A tensor is read once by each block that meets the same entries of it: by all of them where no unit's loop
        indexes it, by those of one batch where only the batch does.
        """
        crossed = {(c.after, c.operand.name) for c in self.crossings} | {(c.before, c.out.name) for c in self.crossings}
        count = 0
        for place, stage in enumerate(self.stages):
            for tensor in stage.program.tensors:
                if tensor.role is Role.INTERMEDIATE or (place, tensor.name) in crossed:
                    continue
                size = stage.program.tensor_bytes(tensor)
                count += size if tensor.role is Role.OUTPUT else self._read(place, tensor, size, grid)
        return count

    def _read(self, place: int, tensor: Tensor, size: int, grid: int) -> int:
        """Bytes of a tensor that all blocks read: its parts by the loops that index it, each met by some blocks."""
        program = self.stages[place].program
        ours = [
            number
            for number, loop in enumerate(self.loops)
            if any(at == place and _indexes(program, tensor, name) for at, name in loop.names)
        ]
        if not ours:
            return size * grid
        unit = Dim("unit", self.units, parts=tuple((str(n), loop.extent) for n, loop in enumerate(self.loops)))
        axes = tuple(Axis(self.loops[number].extent, ((str(number), 1),)) for number in ours)
        met = total(Component(axes, (unit,), None), -(-self.units // grid))
        return -(-size * met // prod(axis.extent for axis in axes))

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
        found.append(Stage(name, program, keeps, before, out.name, _operand(program, out, name, place).name))
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
    """The first input of the tensor's type whose shape is the tensor's, or else one that groups the same axes."""
    inputs = [tensor for tensor in program.tensors if tensor.role is Role.INPUT]
    alike = [t for t in inputs if regrouped(out.shape, t.shape)]
    typed = [t for t in alike if t.dtype == out.dtype]
    if typed:
        return min(typed, key=lambda t: _long(t.shape) != _long(out.shape))
    where = f"ops[{place}].input_from"
    if alike:
        message = f"{name!r} reads {alike[0].name} in {alike[0].dtype}, and {out.name} is written in {out.dtype}"
        raise InputError(
            Issue(message, where, hint="a conversion is an operator of its own: elementwise with another out")
        )
    shapes = ", ".join(f"{tensor.name} {_shape_text(tensor.shape)}" for tensor in inputs)
    sized = any(tensor.elements == out.elements for tensor in inputs)
    message = f"{name!r} has no input of {out.elements} elements, shape {_shape_text(out.shape)}"
    if sized:
        message = f"{name!r} has no input of shape {_shape_text(out.shape)}, nor one that joins or cuts these axes"
    raise InputError(Issue(message, where, hint=f"its inputs: {shapes}"))


def _crossing(stages: tuple[Stage, ...], place: int, source: int) -> Crossing:
    stage = stages[place]
    operand = stage.program.tensor(stage.operand)
    if any(len(axis.terms) > 1 or axis.gathered for axis in operand.axes):
        message = f"{stage.name!r} reads through a window or a table: fuse covers entries that are read directly"
        raise InputError(Issue(message, f"ops[{place}].input_from"))
    width = prod(axis.extent for axis in operand.axes if _reduced(stage.program, axis.terms[0][0]))
    return Crossing(source, place, stages[source].program.tensor(stage.read), operand, width)


def _reduced(program: Program, name: str) -> bool:
    """Whether a block must meet the whole axis: it is summed over, or a row that is transformed as one."""
    dim = program.owner(name)
    return dim.reduce or dim.whole


def _indexes(program: Program, tensor: Tensor, name: str) -> bool:
    """Whether the loop of that name, a dimension or a part of one, decides which entries of the tensor are met."""
    owner = program.owner(name)
    return bool({name, owner.name} & tensor.dims) or (name == owner.name and bool(set(owner.names) & tensor.dims))


def _long(shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape without its axes of a single index."""
    return tuple(extent for extent in shape if extent > 1)


def _shape_text(shape: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, shape))}]"
