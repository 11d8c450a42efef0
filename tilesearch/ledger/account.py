"""The ledger of an operator, line by line (seed 2.1).

Each input is read once, each output written once, a look-up table is a line of its own, an intermediate moves
nothing. A multiply-add is two operations and a special function one: an accounting rule, not a hardware cost,
which is why special functions are also counted apart.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tilesearch.program.form import Program, Role
from tilesearch.program.units import SPECIAL

MEMORY = "memory"
"""The unit of lines that move bytes."""

_VERBS = {Role.INPUT: "read", Role.TABLE: "look up", Role.OUTPUT: "write"}


@dataclass(frozen=True)
class Line:
    """One line: operations on `unit`, or bytes moved (unit ``memory``) for a tensor of that `role`."""

    name: str
    unit: str
    flops: int = 0
    bytes: int = 0
    role: Role | None = None


@dataclass(frozen=True)
class Ledger:
    """All lines of an operator, for one call of one kernel."""

    lines: tuple[Line, ...]

    @property
    def flops(self) -> int:
        """Operations of all lines, each special function counted as one."""
        return sum(line.flops for line in self.lines)

    @property
    def bytes(self) -> int:
        """Bytes that any kernel must move. Unit: B."""
        return sum(line.bytes for line in self.lines)

    @property
    def intensity(self) -> float:
        """Arithmetic intensity: operations for each byte moved. Unit: FLOP/B."""
        return self.flops / self.bytes

    @property
    def special(self) -> int:
        """Special functions (exp, rsqrt, sin, …) among the operations."""
        return self.flops_by_unit.get(SPECIAL, 0)

    @property
    def flops_by_unit(self) -> dict[str, int]:
        """Operations of each unit, in the order of the lines."""
        counts: Counter[str] = Counter()
        for line in self.lines:
            if line.flops:
                counts[line.unit] += line.flops
        return dict(counts)

    @property
    def read_share(self) -> float:
        """The share of reads in the bytes, 0 to 1: which bandwidth calibration is nearest depends on it."""
        return 1 - self.bytes_of(Role.OUTPUT) / self.bytes

    def bytes_of(self, *roles: Role) -> int:
        """Bytes of the tensors of these roles. Unit: B."""
        return sum(line.bytes for line in self.lines if line.role in roles)

    @property
    def lookup(self) -> int:
        """Bytes of look-up tables, each entry once. Unit: B."""
        return self.bytes_of(Role.TABLE)

    @property
    def payload(self) -> int:
        """Bytes of inputs and outputs, special outputs such as scales among them. Unit: B."""
        return self.bytes_of(Role.INPUT, Role.OUTPUT)


def ledger_of(program: Program) -> Ledger:
    """The ledger of a program: tensors first, in the order of the program, then arithmetic."""
    moved = [
        Line(f"{_VERBS[tensor.role]} {tensor.name}", MEMORY, bytes=program.tensor_bytes(tensor), role=tensor.role)
        for tensor in program.tensors
        if tensor.role is not Role.INTERMEDIATE
    ]
    done = [Line(term.name, term.unit, flops=program.term_flops(term)) for term in program.terms]
    return Ledger((*moved, *(line for line in done if line.flops)))
