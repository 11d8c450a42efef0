"""A Triton kernel to start from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilesearch.kernels.skeletons.plan import Plan, identifier, tuple_text, wrapped
from tilesearch.program.form import Contraction, Dim, Program, Role, Tensor

_TYPES = {
    "fp64": "tl.float64", "fp32": "tl.float32", "tf32": "tl.float32", "fp16": "tl.float16", "bf16": "tl.bfloat16",
    "fp8_e4m3": "tl.float8e4nv", "fp8_e5m2": "tl.float8e5", "int8": "tl.int8", "int32": "tl.int32",
}  # fmt: skip


def triton_skeleton(program: Program, tile: Mapping[str, int], warp_size: int) -> str:
    """Source of a Triton kernel with this tile, and its launch. Runs of indices are rounded up to powers of two."""
    return _Triton(Plan(program, tile, warp_size)).text()


def _power(size: int) -> int:
    return 1 << (size - 1).bit_length()


class _Triton:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.program = plan.program
        self.lines: list[str] = []
        self.names: dict[str, str] = {}

    def text(self) -> str:
        plan, program = self.plan, self.program
        tensors = plan.moved(Role.INPUT, Role.TABLE, Role.OUTPUT)
        pointers = ", ".join(f"{identifier(t.name)}_ptr" for t in tensors)
        tile = ", ".join(f"{name}={value}" for name, value in plan.tile.items())
        self._put(0, f'"""{program.kind}: a skeleton with the tile {tile}. Fill in what is marked TODO."""')
        self._put(0, "", "import triton", "import triton.language as tl", "", "", "@triton.jit")
        self._put(0, f"def kernel({pointers}):")
        for tensor in tensors:
            sizes = " x ".join(str(axis.extent) for axis in tensor.axes)
            self._put(1, f"# {identifier(tensor.name)}: {tensor.role.value}, {sizes} {tensor.dtype}, contiguous")
        self._place()
        for tensor in plan.moved(Role.INPUT, Role.TABLE):
            if not plan.streams(tensor):
                self._load(1, tensor, self._order(tensor))
        self._held()
        depth = self._enter_loops()
        for tensor in plan.moved(Role.INPUT, Role.TABLE):
            if plan.streams(tensor):
                self._load(depth, tensor, self._order(tensor))
        for number, product in enumerate(program.contractions):
            self._dot(depth, product, number == len(program.contractions) - 1)
        self._work(depth if not program.contractions else 1)
        self._store()
        self._launch(tensors)
        return "\n".join(self.lines) + "\n"

    def _put(self, depth: int, *lines: str) -> None:
        self.lines += [f"{'    ' * depth}{line}" if line else "" for line in lines]

    def _place(self) -> None:
        """Which block this is: its indices along each parallel dimension."""
        plan = self.plan
        self._put(1, "pid = tl.program_id(0)")
        if plan.splits > 1:
            self._put(1, f"part = pid % {plan.splits}", f"pid = pid // {plan.splits}")
        for dim in reversed(plan.parallel):
            count, size = plan.blocks(dim), plan.size(dim)
            start = "0"
            if count > 1:
                block = f"block_{identifier(dim.name)}"
                self._put(1, f"{block} = pid % {count}", f"pid = pid // {count}")
                start = f"{block} * {size}" if size > 1 else block
            self._indices(1, dim, start)
        for dim in self.program.dims:
            if dim.whole and dim not in plan.loops:
                self._indices(1, dim, "0")

    def _indices(self, depth: int, dim: Dim, start: str) -> None:
        name, size = f"at_{identifier(dim.name)}", self.plan.size(dim)
        run = f"tl.arange(0, {_power(size)})"
        text = start if size == 1 else run if start == "0" else f"{start} + {run}"
        self._put(depth, f"{name} = {text}")
        if dim.piece:
            self._put(depth, f"group_of_{identifier(dim.name)} = 0  # TODO: the run of rows that these lie in")
        self.names[dim.name] = name

    def _order(self, tensor: Tensor) -> list[Dim]:
        """The order of a tile's dimensions: a product's where the tensor is an operand, else the tensor's own."""
        spread = self.plan.spread(tensor)
        for product in self.program.contractions:
            for name, order in zip((product.a, product.b), self.plan.operands(product), strict=True):
                if name == tensor.name and {d.name for d in order} == {d.name for d in spread}:
                    return order
        return spread

    def _address(self, tensor: Tensor, order: Sequence[Dim]) -> tuple[str, str]:
        """The offset of each element of a tile, and the mask of those that exist (empty where all do)."""
        parts: dict[str, str] = {}
        for dim in self.program.dims:
            name = self.names.get(dim.name, f"at_{identifier(dim.name)}")
            parts |= self.plan.parts(dim, f"{name}{_cut(order, dim)}")
        terms, masks = [], []
        for axis, stride in zip(tensor.axes, self.plan.strides(tensor), strict=True):
            index = self.plan.index(axis, parts)
            if axis.extent == 1 or index == "0":
                continue
            terms.append(wrapped(index) if stride == 1 else f"{wrapped(index)} * {stride}")
            if len(axis.terms) > 1 or axis.offset:
                masks.append(f"({wrapped(index)} >= 0) & ({wrapped(index)} < {axis.extent})")
        for dim in order:
            size, name = self.plan.size(dim), f"{self.names[dim.name]}{_cut(order, dim)}"
            if _power(size) > size:  # the run is longer than the tile
                masks.append(f"(tl.arange(0, {_power(size)}) < {size}){_cut(order, dim)}")
            if self.plan.ragged(dim):
                masks.append(f"({name} < {dim.extent})")
        return " + ".join(terms) or "0", " & ".join(masks)

    def _load(self, depth: int, tensor: Tensor, order: Sequence[Dim]) -> None:
        name = identifier(tensor.name)
        offset, mask = self._address(tensor, order)
        masked = f", mask={mask}, other=0" if mask else ""
        if any(axis.gathered for axis in tensor.axes):
            self._put(depth, f"# TODO rows of {name} are gathered: a table says which")
        self._put(depth, f"{name} = tl.load({name}_ptr + {offset}{masked})")

    def _held(self) -> None:
        for held in self.program.held:
            dims = [self.program.dim(name) for name in held.dims]
            shape = [_power(self.plan.size(dim)) for dim in dims if self.plan.size(dim) > 1]
            kind = _TYPES.get(held.dtype.name, "tl.float32")
            if shape and not any(d.looped for d in dims):
                self._put(1, f"{identifier(held.name)} = tl.zeros({tuple_text(shape)}, dtype={kind})")

    def _enter_loops(self) -> int:
        depth = 1
        split = self.program.split
        for dim in self.plan.loops:
            name, size = identifier(dim.name), self.plan.size(dim)
            bounds = f"0, {dim.extent}"
            if split is not None and split.dim == dim.name and self.plan.splits > 1:
                bounds = f"part * {dim.extent} // {self.plan.splits}, (part + 1) * {dim.extent} // {self.plan.splits}"
            stages = f", num_stages={self.plan.stages}" if self.plan.stages > 1 and dim is self.plan.loops[-1] else ""
            self._put(depth, f"for {name}_start in tl.range({bounds}, {size}{stages}):")
            depth += 1
            self._indices(depth, dim, f"{name}_start")
        return depth

    def _dot(self, depth: int, product: Contraction, last: bool) -> None:
        held = {item.name: identifier(item.name) for item in self.program.held}
        a, b = identifier(product.a), identifier(product.b)
        target = next((item for item in self.program.held if set(item.dims) == {product.m, product.n}), None)
        name = held[target.name] if target is not None else "accumulator"
        if target is not None and any(self.program.dim(d).looped for d in target.dims):
            self._put(depth, f"{name} = tl.dot({a}, {b})")
            self._put(depth, *(f"# TODO {line}" for line in self.plan.work()))
        else:
            cast = f"{a}.to({b}.dtype)" if product.a in held else a
            self._put(depth, f"{name} += tl.dot({cast}, {b})")

    def _work(self, depth: int) -> None:
        if self.program.contractions and any(self.program.dim(d).looped for h in self.program.held for d in h.dims):
            return  # said beside the product that needs it
        for line in self.plan.work():
            self._put(depth, f"# TODO {line}")

    def _store(self) -> None:
        value = next((identifier(h.name) for h in reversed(self.program.held)), None)
        value = value or next((identifier(t.name) for t in self.plan.moved(Role.INPUT)), "0")
        if self.plan.splits > 1:
            self._put(1, "# TODO each part writes its partials to a buffer of its own; a second kernel adds them up")
        for tensor in self.plan.moved(Role.OUTPUT):
            name = identifier(tensor.name)
            offset, mask = self._address(tensor, self.plan.spread(tensor))
            masked = f", mask={mask}" if mask else ""
            self._put(1, f"{name} = {value}  # TODO")
            self._put(1, f"tl.store({name}_ptr + {offset}, {name}{masked})")

    def _launch(self, tensors: Sequence[Tensor]) -> None:
        names = ", ".join(identifier(t.name) for t in tensors)
        self._put(0, "", "", f"def launch({names}):")
        self._put(1, f'"""{self.plan.grid} blocks of {self.plan.threads} threads."""')
        knobs = f"num_warps={self.plan.warps}, num_stages={self.plan.stages}"
        self._put(1, f"kernel[({self.plan.grid},)]({names}, {knobs})")


def _cut(order: Sequence[Dim], dim: Dim) -> str:
    """How a run of indices is spread along its place in a tile of several dimensions: ``[:, None]``."""
    names = [d.name for d in order]
    if len(names) < 2 or dim.name not in names:
        return ""
    return f"[{', '.join(':' if name == dim.name else 'None' for name in names)}]"
