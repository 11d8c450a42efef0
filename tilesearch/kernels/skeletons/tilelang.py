"""A TileLang kernel to start from."""

from __future__ import annotations

from collections.abc import Mapping

from tilesearch.kernels.skeletons.plan import Plan, identifier, tuple_text, wrapped
from tilesearch.program.form import Dim, Program, Role, Tensor

_TYPES = {
    "fp64": "float64", "fp32": "float32", "tf32": "float32", "fp16": "float16", "bf16": "bfloat16",
    "fp8_e4m3": "float8_e4m3", "fp8_e5m2": "float8_e5m2", "int8": "int8", "int32": "int32",
}  # fmt: skip


def tilelang_skeleton(program: Program, tile: Mapping[str, int], warp_size: int) -> str:
    """Source of a TileLang kernel with this tile."""
    return _TileLang(Plan(program, tile, warp_size)).text()


def _type(name: str) -> str:
    return _TYPES.get(name, name)


def _at(dim: Dim) -> str:
    """Where a block's, or a step's, indices of a dimension begin."""
    return f"at_{identifier(dim.name)}"


class _TileLang:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.program = plan.program
        self.lines: list[str] = []

    def text(self) -> str:
        plan, program = self.plan, self.program
        tensors = plan.moved(Role.INPUT, Role.TABLE, Role.OUTPUT)
        tile = ", ".join(f"{name}={value}" for name, value in plan.tile.items())
        self._put(0, f'"""{program.kind}: a skeleton with the tile {tile}. Fill in what is marked TODO."""')
        self._put(0, "", "import tilelang", "import tilelang.language as T", "", "", "@T.prim_func")
        self._put(0, "def kernel(")
        for tensor in tensors:
            shape = tuple_text([axis.extent for axis in tensor.axes])
            self._put(1, f'{identifier(tensor.name)}: T.Tensor({shape}, "{_type(tensor.dtype.name)}"),')
        self._put(0, "):", f"    with T.Kernel({plan.grid}, threads={plan.threads}) as pid:")
        self._place()
        self._allocate()
        for tensor in plan.moved(Role.INPUT, Role.TABLE):
            if not plan.streams(tensor):
                self._copy_in(2, tensor)
        depth = self._enter_loops()
        for tensor in plan.moved(Role.INPUT, Role.TABLE):
            if plan.streams(tensor):
                self._copy_in(depth, tensor)
        self._products(depth)
        if not program.contractions:
            self._put(depth, *(f"# TODO {line}" for line in plan.work()))
        self._copy_out()
        self._put(0, "", "", "def build():", '    """The compiled kernel."""', "    return tilelang.compile(kernel)")
        return "\n".join(self.lines) + "\n"

    def _put(self, depth: int, *lines: str) -> None:
        self.lines += [f"{'    ' * depth}{line}" if line else "" for line in lines]

    def _place(self) -> None:
        plan = self.plan
        inner = plan.splits
        if plan.splits > 1:
            self._put(2, f"part = pid % {plan.splits}")
        for dim in reversed(plan.parallel):
            count, size, name = plan.blocks(dim), plan.size(dim), _at(dim)
            block = f"{f'pid // {inner}' if inner > 1 else 'pid'} % {count}"
            start = "0" if count == 1 else block if size == 1 else f"{wrapped(block)} * {size}"
            self._put(2, f"{name} = {start}")
            if dim.piece:
                self._put(2, f"group_of_{identifier(dim.name)} = 0  # TODO: the run of rows that these lie in")
            inner *= count
        for dim in self.program.dims:
            if dim.whole and dim not in plan.loops:
                self._put(2, f"{_at(dim)} = 0")

    def _shape(self, dims: list[Dim]) -> str:
        return tuple_text([self.plan.size(dim) for dim in dims] or [1])

    def _allocate(self) -> None:
        for tensor in self.program.tensors:
            if tensor.staged:
                shape = self._shape(self.plan.spread(tensor))
                name = identifier(tensor.name)
                self._put(2, f'{name}_shared = T.alloc_shared({shape}, "{_type(tensor.dtype.name)}")')
        for held in self.program.held:
            shape = self._shape([self.program.dim(name) for name in held.dims])
            self._put(2, f'{identifier(held.name)} = T.alloc_fragment({shape}, "{_type(held.dtype.name)}")')
            self._put(2, f"T.clear({identifier(held.name)})")

    def _slice(self, tensor: Tensor) -> str:
        names = {name: text for d in self.program.dims for name, text in self.plan.parts(d, _at(d)).items()}
        return ", ".join(self.plan.index(axis, names) for axis in tensor.axes)

    def _copy_in(self, depth: int, tensor: Tensor) -> None:
        name = identifier(tensor.name)
        if any(axis.gathered for axis in tensor.axes):
            self._put(depth, f"# TODO rows of {name} are gathered: a table says which")
        if tensor.staged:
            self._put(depth, f"T.copy({name}[{self._slice(tensor)}], {name}_shared)")
        else:
            self._put(depth, f"# TODO read {name}[{self._slice(tensor)}] and on, into registers")

    def _enter_loops(self) -> int:
        depth, plan = 2, self.plan
        split = self.program.split
        for dim in plan.loops:
            name, size = identifier(dim.name), plan.size(dim)
            steps = -(-dim.extent // size)
            step = f"{name}_step"
            if split is not None and split.dim == dim.name and plan.splits > 1:
                steps = -(-steps // plan.splits)
                step = f"(part * {steps} + {step})"
            last = dim is plan.loops[-1]
            run = f"T.Pipelined({steps}, num_stages={plan.stages})" if last else f"T.serial({steps})"
            self._put(depth, f"for {name}_step in {run}:")
            depth += 1
            self._put(depth, f"{_at(dim)} = {step} * {size}" if size > 1 else f"{_at(dim)} = {step}")
        return depth

    def _products(self, depth: int) -> None:
        held = {item.name for item in self.program.held}
        for product in self.program.contractions:
            target = next((h for h in self.program.held if set(h.dims) == {product.m, product.n}), None)
            name = identifier(target.name) if target is not None else "accumulator"
            a, b = (identifier(x) if x in held else f"{identifier(x)}_shared" for x in (product.a, product.b))
            self._put(depth, f"T.gemm({a}, {b}, {name})")
            if target is not None and any(self.program.dim(d).looped for d in target.dims):
                self._put(depth, *(f"# TODO {line}" for line in self.plan.work()))

    def _copy_out(self) -> None:
        source = next((identifier(h.name) for h in reversed(self.program.held)), None)
        if self.program.contractions and not any(self.program.dim(d).looped for h in self.program.held for d in h.dims):
            self._put(2, *(f"# TODO {line}" for line in self.plan.work()))
        if self.plan.splits > 1:
            self._put(2, "# TODO partials go to a buffer of their own, added up by a second kernel")
        for tensor in self.plan.moved(Role.OUTPUT):
            name = identifier(tensor.name)
            staged = f"{name}_shared" if tensor.staged else source
            if staged is None:
                self._put(2, f"# TODO write {name}[{self._slice(tensor)}]")
            else:
                self._put(2, f"T.copy({staged}, {name}[{self._slice(tensor)}])")
