"""A case as its file states it, and what answering it gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictStr


class Number(BaseModel):
    """A number that the report gives, with how far it may be off."""

    model_config = ConfigDict(extra="ignore")

    name: StrictStr
    value: float
    tolerance_abs: float = 0


class Op(BaseModel):
    """The operator of a case, as far as the report says."""

    model_config = ConfigDict(extra="ignore")

    kind: StrictStr
    shapes: dict[str, Any] = Field(default_factory=dict)
    dtypes: dict[str, str] = Field(default_factory=dict)


class Case(BaseModel):
    """One report. `device`, `frontend`, `op` and `config` are inputs, the rest is what was observed."""

    model_config = ConfigDict(extra="ignore")

    id: StrictStr
    device: StrictStr
    limit_bytes: int | None = None
    frontend: StrictStr
    compiler_version: StrictStr | None = None
    op: Op
    config: dict[str, Any]
    expected_verdict: Literal["feasible", "infeasible", "unknown"]
    expected_constraint: StrictStr = "none"
    expected_numbers: list[Number] = Field(default_factory=list)
    severity: StrictStr = "none"
    certainty: StrictStr = ""
    certainty_detail: StrictStr = ""

    def number(self, name: str, default: int | None = None) -> int:
        """An integer of the configuration. Raises `SkippedError` where the report does not give it."""
        value = self.config.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise SkippedError(f"the report does not give {name}")
        return value


class SkippedError(Exception):
    """A case that cannot be answered, with the reason."""


@dataclass(frozen=True)
class Answered:
    """What the rules say: a verdict, the constraints that are broken (or bind), and numbers by the file's names."""

    verdict: str
    constraints: tuple[str, ...] = ()
    numbers: dict[str, float] = field(default_factory=dict)
