"""Constrained parameter spaces without an operator: names with values, constraints, and what to minimise."""

from __future__ import annotations

import keyword
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, StrictStr

from tilesearch.errors import InputError, Issue
from tilesearch.specs.validation import fault, load_json, load_toml, shown, validate

MAX_VALUES = 65_536
"""Most values that one parameter may take."""

_WIDEST = 2**62
_TAKEN = ("min", "max", "ceildiv", "cdiv")


def _values(value: Any) -> tuple[int, ...]:
    """Whole numbers in the order given; true and false count as 1 and 0, as they do in an expression."""
    if not isinstance(value, list | tuple) or not value:
        raise fault(f"a list of at least one value is wanted, got {shown(value)}")
    if len(value) > MAX_VALUES:
        raise fault(f"{len(value)} values, at most {MAX_VALUES} are searched")
    wrong = [v for v in value if not isinstance(v, int) or abs(v) >= _WIDEST]
    if wrong:
        raise fault(f"whole numbers of at most 62 bits are wanted, got {shown(wrong[0])}")
    numbers = tuple(int(v) for v in value)
    if len(set(numbers)) < len(numbers):
        repeated = next(v for v in numbers if numbers.count(v) > 1)
        raise fault(f"the value {repeated} is given twice")
    return numbers


def _parameters(value: Any) -> Any:
    if isinstance(value, Mapping):
        for name in value:
            if not str(name).isidentifier() or keyword.iskeyword(str(name)) or name in _TAKEN:
                raise fault(f"{name!r} cannot be the name of a parameter", "letters, digits and _, not a function")
        if not value:
            raise fault("a space has at least one parameter")
    return value


class Space(BaseModel):
    """A space: every combination of the parameters' values at which all constraints hold.

    Constraints and the objective (also called cost; smaller is better) are written in the language of users'
    rules. Values keep the order in which they are given.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    name: StrictStr = ""
    parameters: Annotated[
        dict[StrictStr, Annotated[tuple[int, ...], BeforeValidator(_values)]], BeforeValidator(_parameters)
    ]
    constraints: tuple[StrictStr, ...] = ()
    objective: StrictStr | None = Field(default=None, validation_alias=AliasChoices("objective", "cost"))

    @property
    def cartesian(self) -> int:
        """Number of combinations, valid or not."""
        return prod(len(values) for values in self.parameters.values())


def load_space(path: str | Path) -> Space:
    """Read a space from a JSON or TOML file. Raises `InputError` with every fault."""
    return parse_space(load_table(path), str(path))


def load_table(path: str | Path) -> Mapping[str, Any]:
    """The top level of a JSON or TOML file, which must be a table."""
    data = load_toml(path) if str(path).endswith(".toml") else load_json(path)
    if not isinstance(data, Mapping):
        raise InputError(Issue(f"a table with parameters is wanted, got {shown(data)}", source=str(path)))
    return data


def parse_space(data: Mapping[str, Any], source: str = "") -> Space:
    """A space from a table; it is named after its file where it does not name itself."""
    space = validate(Space, data, source)
    return space if space.name else space.model_copy(update={"name": Path(source).stem})
