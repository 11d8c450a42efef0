"""Any operator that an index expression says: sums of products, with work of the author's own for each point."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, StrictStr, model_validator

from tilesearch.specs.ops.base import Count, DTypeName, Extent, OpSpec, accumulator_of
from tilesearch.specs.validation import fault, shown


class Einsum(OpSpec):
    """``expression = "mk,kn->mn"``: for each output index, a sum over the indices that the output lacks.

    Each letter is an index; `extents` gives its size (``{ m = 4096, … }``), or the shape of each tensor in
    order (``[[4096, 128], [128, 64]]``, the output's too or not). `roles` (input, table, output) and `dtypes`
    are lists in the order of the expression, output last; `dtype` stands for what `dtypes` leaves out.

    Work: `flops_per_element` and `special_per_element` are operations at every point of the index space (every
    combination of all indices); the default is a multiplication less than there are inputs, and an addition
    where something is summed, so 2 for a product of two.

    Two inputs that share summed indices, with indices of their own in the output, are a matrix product:
    block_m tiles the first one's output indices, block_n the second one's, block_k the summed ones, each
    flattened; shared output indices are batches, one a block. With indices of one input only, a matrix-vector
    product (block_n, block_k). Anything else: block_n tiles the last output index and block_m the others,
    flattened; block_k tiles the summed ones, the longest run of them that the same inputs have, and the rest
    is walked one by one; inputs are staged step by step. A split (split_k) is over what block_k tiles. The
    default roof is the tensor core of the first input's type for a matrix product, the CUDA core otherwise;
    special functions run on ``sfu.fp32``.
    """

    kind: Literal["einsum"] = "einsum"
    expression: StrictStr
    extents: dict[str, Extent]
    roles: tuple[Literal["input", "table", "output"], ...] | None = None
    dtypes: tuple[DTypeName, ...] | None = None
    acc: DTypeName | None = None
    flops_per_element: Count | None = Field(default=None)
    special_per_element: Count = 0

    @model_validator(mode="before")
    @classmethod
    def _read_shapes(cls, data: Any) -> Any:
        """Turn the shapes of the tensors into the extents of the indices."""
        if not isinstance(data, dict) or not isinstance(data.get("extents"), list | tuple):
            return data
        if not isinstance(data.get("expression"), str):
            return data
        inputs, output = split_expression(data["expression"])
        return {**data, "extents": _extents_of((*inputs, output), data["extents"])}

    @model_validator(mode="after")
    def _type_check(self) -> Self:
        inputs, output = split_expression(self.expression)
        used = set("".join(inputs))
        for index in output:
            if index not in used:
                raise fault(
                    f"output index {index!r} is in no input: nothing says what it ranges over", key="expression"
                )
        missing = sorted(used - set(self.extents))
        if missing:
            raise fault(f"no extent is given for index {', '.join(map(repr, missing))}", key="extents")
        for name in self.extents:
            if name not in used:
                hint = f"its indices are {', '.join(sorted(used))}"
                raise fault(f"unknown index {name!r}: {self.expression!r} does not use it", hint, key=f"extents.{name}")
        self._check_lists(len(inputs))
        self.fill(acc=accumulator_of(self.dtype_of(0)))
        return self

    def _check_lists(self, inputs: int) -> None:
        for key, values in (("roles", self.roles), ("dtypes", self.dtypes)):
            if values is not None and len(values) != inputs + 1:
                message = f"one for each of the {inputs} inputs and the output is wanted, got {len(values)}"
                raise fault(message, key=key)
        if self.roles is None:
            return
        for place, role in enumerate(self.roles):
            if (role == "output") != (place == inputs):
                raise fault("the last tensor, and no other, is the output", key=f"roles[{place}]")

    @property
    def inputs(self) -> tuple[str, ...]:
        """The indices of each input."""
        return split_expression(self.expression)[0]

    @property
    def output(self) -> str:
        """The indices of the output."""
        return split_expression(self.expression)[1]

    def role_of(self, place: int) -> str:
        """The role of an input: input or table."""
        return "input" if self.roles is None else self.roles[place]

    def dtype_of(self, place: int) -> str:
        """The data type of a tensor, by its place in the expression."""
        return self.dtype if self.dtypes is None else self.dtypes[place]


def split_expression(text: str) -> tuple[tuple[str, ...], str]:
    """The indices of the inputs and of the output. Raises a fault for what is no expression."""
    left, arrow, right = text.replace(" ", "").partition("->")
    if not arrow:
        raise fault(f"{text!r} does not say its output", 'write "mk,kn->mn"', key="expression")
    tensors = [*left.split(","), right]
    for indices in tensors:
        odd = next((c for c in indices if not (c.isascii() and c.isalpha())), None)
        if odd is not None:
            raise fault(f"{odd!r} in {text!r} is no index: an index is one letter", key="expression")
        twice = next((c for c in indices if indices.count(c) > 1), None)
        if twice is not None:
            raise fault(f"index {twice!r} stands twice in {indices!r}: diagonals are not supported", key="expression")
    if not all(tensors[:-1]):
        raise fault(f"an input of {text!r} has no index", key="expression")
    return tuple(tensors[:-1]), right


def _extents_of(tensors: tuple[str, ...], shapes: Any) -> dict[str, Any]:
    """The extent of each index from the shapes of the tensors, which must agree."""
    if len(shapes) not in (len(tensors) - 1, len(tensors)):
        raise fault(f"a shape for each of {len(tensors) - 1} inputs is wanted, got {len(shapes)}", key="extents")
    extents: dict[str, Any] = {}
    for place, (indices, shape) in enumerate(zip(tensors, shapes, strict=False)):
        key = f"extents[{place}]"
        if not isinstance(shape, list | tuple) or len(shape) != len(indices):
            rank = len(shape) if isinstance(shape, list | tuple) else shown(shape)
            raise fault(f"rank mismatch: {indices!r} has {len(indices)} indices, its shape has {rank}", key=key)
        for index, extent in zip(indices, shape, strict=True):
            if extents.setdefault(index, extent) != extent:
                raise fault(f"index {index!r} is {extents[index]} elsewhere and {shown(extent)} here", key=key)
    return extents
