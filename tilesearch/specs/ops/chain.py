"""Chains of operators, for the question whether to fuse them."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, SerializeAsAny, StrictBool, StrictStr, model_validator

from tilesearch.errors import InputError
from tilesearch.specs.ops.base import OpSpec
from tilesearch.specs.ops.registry import parse_op
from tilesearch.specs.validation import Fault, fault, faults

_OWN = ("name", "input_from", "output_in_memory", "op")


class Link(BaseModel):
    """One operator of a chain. `input_from` is ``NAME.out``: an earlier operator and a tensor that it writes.

    The tensor takes the place of the first input of its type whose shape is the same, or joins or cuts neighbouring
    axes. `output_in_memory` says that the output
    must be in memory all the same: another kernel reads it, or its rounding there is part of the result.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: StrictStr
    input_from: StrictStr | None = None
    output_in_memory: StrictBool = False
    op: SerializeAsAny[OpSpec]

    @model_validator(mode="before")
    @classmethod
    def _from_table(cls, data: Any) -> Any:
        """An operator's keys stand beside the link's own, as in a problem file."""
        if not isinstance(data, dict) or isinstance(data.get("op"), OpSpec):
            return data
        own = {key: value for key, value in data.items() if key in _OWN}
        try:
            return {**own, "op": parse_op({k: v for k, v in data.items() if k not in own}, prefix="")}
        except InputError as error:
            raise faults([Fault(issue.message, issue.hint, issue.where) for issue in error.issues]) from None

    @model_validator(mode="after")
    def _plain_name(self) -> Self:
        if not self.name or "." in self.name:
            raise fault(f"a name without a dot is wanted, got {self.name!r}", key="name")
        return self

    @property
    def source(self) -> tuple[str, str] | None:
        """The operator and the tensor that the input comes from."""
        if self.input_from is None:
            return None
        name, _, tensor = self.input_from.partition(".")
        return name, tensor


class Chain(OpSpec):
    """Operators in order, each but the first reading what an earlier one writes: a question for `fuse`."""

    kind: Literal["chain"] = "chain"
    ops: tuple[Link, ...]

    @model_validator(mode="after")
    def _connected(self) -> Self:
        wrong = sorted({"dtype", "roof"} & self.model_fields_set)
        if wrong:
            raise fault("is a key of each operator, not of the chain", key=wrong[0])
        if len(self.ops) < 2:
            raise fault(f"a chain has at least two operators, got {len(self.ops)}", key="ops")
        found = [fault for place in range(len(self.ops)) for fault in self._faults(place)]
        if found:
            raise faults(found)
        return self

    def _faults(self, place: int) -> list[Fault]:
        link, before = self.ops[place], [earlier.name for earlier in self.ops[:place]]
        key = f"ops[{place}]"
        found = [Fault(f"the name {link.name!r} is taken", key=f"{key}.name")] if link.name in before else []
        if link.source is None:
            if place:
                found.append(Fault("is required and absent", f'for example "{before[-1]}.out"', f"{key}.input_from"))
            return found
        name, tensor = link.source
        if name not in before:
            hint = f"operators before it: {', '.join(before)}" if before else "the first operator reads from memory"
            found.append(Fault(f"no operator {name!r} stands before {link.name!r}", hint, f"{key}.input_from"))
        elif not tensor:
            found.append(Fault(f"NAME.TENSOR is wanted, got {link.input_from!r}", "", f"{key}.input_from"))
        return found

    @property
    def constants(self) -> dict[str, int]:
        """None: each operator has its own."""
        return {}
