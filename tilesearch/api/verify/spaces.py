"""Replay of constrained spaces: how many rows are valid, which, and the least costs. One file is one row."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictInt

from tilesearch.answers import VerifyAnswer
from tilesearch.api.verify.replay import Tally
from tilesearch.engines.base import Request
from tilesearch.engines.product import Product
from tilesearch.engines.vector import VectorEngine
from tilesearch.errors import InputError, Issue, UnsupportedError
from tilesearch.rules.model import Model
from tilesearch.rules.spaces import OBJECTIVE, space_model
from tilesearch.specs.spaces import Space, load_table, parse_space
from tilesearch.specs.validation import validate

WRAP = 2**64
"""Reference programs add row numbers up in 64 bits: a sum beyond them is recorded modulo this."""

Count = Annotated[StrictInt, Field(ge=0)]


class Expected(BaseModel):
    """What is recorded of a space. `index_sum` adds up the row numbers of the valid rows, from 0, in the full
    product with the last parameter fastest, perhaps in 64 bits; `top_costs` are the least costs, one a row.
    """

    model_config = ConfigDict(extra="ignore")

    cartesian_size: Count | None = None
    valid_configs: Count | None = None
    index_sum: Count | None = None
    top_costs: list[StrictInt] | None = None


def verify_spaces(files: list[Path]) -> VerifyAnswer:
    """List the valid rows of every space by the vector engine and compare what the file records of them."""
    tally = Tally("spaces")
    seconds = tally.stats.setdefault("seconds", {})
    for space, expected, model in [_read(path) for path in files]:
        start = perf_counter()
        try:
            product = VectorEngine().product(Request(model, attribute=False))
        except UnsupportedError as error:
            tally.skip(space.name, str(error))
            continue
        tally.compare(space.name, expected, _computed(space, model, product, expected))
        seconds[space.name] = round(perf_counter() - start, 4)
    return tally.answer()


def _read(path: Path) -> tuple[Space, dict[str, Any], Model]:
    data = load_table(path)
    space = parse_space(data, str(path))
    recorded = validate(Expected, data, str(path))
    expected = recorded.model_dump(exclude_none=True)
    if not expected:
        hint = f"one of {', '.join(Expected.model_fields)}"
        raise InputError(Issue("nothing is recorded that could be compared", source=str(path), hint=hint))
    if "top_costs" in expected and space.objective is None:
        raise InputError(Issue("there are costs, but no cost to compute them by", "top_costs", str(path)))
    return space, expected, space_model(space, str(path))


def _computed(space: Space, model: Model, product: Product, expected: dict[str, Any]) -> dict[str, Any]:
    costs = len(expected.get("top_costs", []))
    return {
        "cartesian_size": space.cartesian,
        "valid_configs": product.size,
        "index_sum": _wrapped(_index_sum(space, product), expected.get("index_sum", 0)),
        "top_costs": product.least(model.keys[OBJECTIVE], costs) if costs else [],
    }


def _wrapped(total: int, recorded: int) -> int:
    return total % WRAP if total >= WRAP > recorded else total


def _index_sum(space: Space, product: Product) -> int:
    """The sum of row numbers, from how often each value comes: exact, and without writing the rows out."""
    counts = product.value_counts()
    total, stride = 0, 1
    for name, values in reversed(space.parameters.items()):
        place = {value: index for index, value in enumerate(values)}
        total += stride * sum(n * place[v] for v, n in zip(product.domains[name], counts[name], strict=True))
        stride *= len(values)
    return total
