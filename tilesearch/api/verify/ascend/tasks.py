"""Replay of task costs: one row is one task of TileLang's `EstimateLatency` pass, by family."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr

from tilesearch.answers import VerifyAnswer
from tilesearch.api.verify.replay import Tally
from tilesearch.errors import InputError, Issue, UnknownLimitError
from tilesearch.models.ascend import LatencyModel, TaskCost, loop, sequence
from tilesearch.specs.devices import load_device
from tilesearch.specs.dtypes import dtype
from tilesearch.specs.validation import find_issues, load_json, shown

DEVICE = "ascend950"

USER_COST = TaskCost(4000, 77)
"""What the author of the rows of kind ``over`` gave as the task's cost; the rows themselves do not repeat it."""

Size = Annotated[StrictInt, Field(ge=0, le=2**53)]
Pair = tuple[Size, Size]


class TaskInput(BaseModel):
    """What a task is; which keys it needs follows from its family. Bytes, elements, cycles."""

    model_config = ConfigDict(extra="ignore")

    dtype: StrictStr | None = None
    src: StrictStr | None = None
    dst: StrictStr | None = None
    rows: Size | None = None
    cols: Size | None = None
    m: Size | None = None
    n: Size | None = None
    k: Size | None = None
    bytes: Size | None = None
    bytes_per_aiv: Size | None = None
    row_bytes: Size | None = None
    geometry: StrictStr | None = None
    blockscaled: StrictBool = False
    operands: StrictStr = "l0"
    ops: list[tuple[StrictStr, Size]] = Field(default_factory=list)
    one_cycle_calls: Size = 0
    read_bytes: Size = 0
    user_latency: Size | None = None
    kind: StrictStr | None = None
    a: Pair | None = None
    b: Pair | None = None

    def need(self, name: str) -> Any:
        """A key that the family cannot do without. Raises `InputError` where it is absent."""
        value = getattr(self, name)
        if value is None:
            raise InputError(Issue("is required and absent", f"input.{name}"))
        return value


class TaskRow(BaseModel):
    """One task and its cost in cycles."""

    model_config = ConfigDict(extra="ignore")

    id: StrictStr | None = None
    family: StrictStr | None = None
    input: TaskInput
    latency: Size
    ii: Size


def verify_tasks(files: list[Path]) -> VerifyAnswer:
    """Compute every task of `files` in the mode ``shipped`` and compare latency and interval exactly."""
    tally = Tally("ascend-tasks")
    families: dict[str, int] = {}
    for place, family, row in list(_rows(files)):
        compute = FAMILIES.get(family)
        if compute is None:
            tally.skip(place, f"the family {family!r} is not known")
            continue
        try:
            got = compute(model(), row.input)
        except InputError as error:
            raise InputError([Issue(str(issue), str(place)) for issue in error.issues]) from None
        except UnknownLimitError as error:
            raise InputError(Issue(str(error), str(place))) from None
        tally.compare(place, {"latency": row.latency, "ii": row.ii}, {"latency": got.latency, "ii": got.interval})
        families[family] = families.get(family, 0) + 1
    tally.stats["families"] = families
    return tally.answer()


@cache
def model() -> LatencyModel:
    """The latency model that the rows were made with."""
    return LatencyModel(load_device(DEVICE), "shipped")


def _rows(files: list[Path]) -> Iterator[tuple[str, str, TaskRow]]:
    """Rows of a list, or of ``cases``: a list, or lists by family."""
    issues: list[Issue] = []
    for path in files:
        data = load_json(path)
        cases = data.get("cases") if isinstance(data, Mapping) else data
        groups = cases if isinstance(cases, Mapping) and cases else {"": cases}
        for name, group in groups.items():
            if not isinstance(group, list) or not group:
                got = "there are no rows" if not group else f"got {shown(group)}"
                message = f"rows, or lists of rows by family, are wanted under 'cases', {got}"
                raise InputError(Issue(message, "cases", str(path)))
            for number, entry in enumerate(group):
                where = f"cases.{name}[{number}]" if name else f"cases[{number}]"
                row = find_issues(TaskRow, entry, str(path), where) if isinstance(entry, Mapping) else None
                if isinstance(row, TaskRow):
                    yield row.id or where, row.family or name, row
                else:
                    issues += row or [Issue(f"a row is an object, got {shown(entry)}", where, str(path))]
    if issues:
        raise InputError(issues)


def _row_width(given: TaskInput) -> int | None:
    """None where rows are contiguous, 0 where their width is not known."""
    return None if given.geometry in (None, "M") else given.row_bytes or 0


def _copy(path: str) -> Callable[[LatencyModel, TaskInput], TaskCost]:
    """A copy of contiguous bytes."""
    return lambda model, given: model.copy(path, given.need("bytes"))


def _lane_copy(path: str) -> Callable[[LatencyModel, TaskInput], TaskCost]:
    """A copy that both Vector cores make, by the share and the rows of one of them."""
    return lambda model, given: model.copy(path, given.need("bytes_per_aiv"), _row_width(given))


def _to_l0(model: LatencyModel, given: TaskInput) -> TaskCost:
    return model.copy(f"l1_{given.need('dst')}", given.need("bytes"))


def _dual(model: LatencyModel, given: TaskInput) -> TaskCost:
    return model.copy("l0c_ub_dual", given.need("bytes_per_aiv"), given.need("row_bytes"))


def _gemm(model: LatencyModel, given: TaskInput) -> TaskCost:
    name = given.need("dtype")
    kind = "tf32" if name == "hf32" else dtype(name).name
    kind = f"mx_{dtype(name).roof_name}" if given.blockscaled else kind
    return model.cube(kind, given.need("m"), given.need("n"), given.need("k"), in_l1=given.operands == "l1")


def _vector(model: LatencyModel, given: TaskInput) -> TaskCost:
    return model.vector(given.ops, calls=given.one_cycle_calls, read_bytes=given.read_bytes)


def _user_latency(model: LatencyModel, given: TaskInput) -> TaskCost:
    return model.vector(user_latency=given.need("user_latency"))


def _scatter(model: LatencyModel, given: TaskInput) -> TaskCost:
    return model.scatter(given.need("src"), given.need("dst"), given.need("rows"), given.need("cols"))


def _fill(scope: str) -> Callable[[LatencyModel, TaskInput], TaskCost]:
    return lambda model, given: model.fill(scope, given.need("bytes"))


def _within_ub(model: LatencyModel, given: TaskInput) -> TaskCost:
    return model.vector(read_bytes=given.need("bytes"))


def _composed(model: LatencyModel, given: TaskInput) -> TaskCost:
    """Two statements inside one task: in order, repeated, or with a cost that the author gave."""
    kind: str = given.need("kind")
    first, second = given.need("a"), given.need("b")
    if kind == "over":
        return USER_COST
    order = kind.partition("_")[2] if kind.startswith("loop") else kind
    bodies = {"": (first,), "two": (first, second), "two_rev": (second, first)}
    if order not in bodies:
        raise InputError(Issue(f"unknown kind of composition {kind!r}", "input.kind"))
    pair = sequence(bodies[order])
    if kind.startswith("loop"):
        pair = loop(pair, _trips(kind))
    return TaskCost(*pair)


def _trips(kind: str) -> int:
    digits = kind.removeprefix("loop").partition("_")[0]
    if not digits.isdigit():
        raise InputError(Issue(f"unknown kind of composition {kind!r}", "input.kind"))
    return int(digits)


FAMILIES: dict[str, Callable[[LatencyModel, TaskInput], TaskCost]] = {
    "gm_l1": _copy("gm_l1"),
    "gm_ub": _lane_copy("gm_ub"),
    "ub_gm": _lane_copy("ub_gm"),
    "ub_l1_raw": _lane_copy("ub_l1"),
    "nd2nz_scatter": _scatter,
    "nd2nz_post_copy": _lane_copy("ub_l1"),
    "l1_l0": _to_l0,
    "l1_sf": _copy("l1_sf"),
    "l1_bt_fp_quirk": _to_l0,
    "l0c_gm": _copy("l0c_gm"),
    "l0c_ub": _copy("l0c_ub"),
    "l0c_ub_dual": _dual,
    "dual_gm_ub": _lane_copy("gm_ub"),
    "dual_ub_gm": _lane_copy("ub_gm"),
    "dual_ub_l1": _lane_copy("ub_l1"),
    "gemm": _gemm,
    "gemm_mx": _gemm,
    "vector": _vector,
    "vector_rowsum": _vector,
    "vector_dynamic_loop": _vector,
    "simd_intrinsics": _vector,
    "vf_user_latency": _user_latency,
    "fill_l1": _fill("l1"),
    "fill_ub_outside_vf": _fill("ub"),
    "ub_ub_copy": _within_ub,
    "task_composition": _composed,
}
"""Family to computation."""
