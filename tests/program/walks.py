"""Each operator's loops, written anew from its definition."""

from __future__ import annotations

from itertools import product

from tests.program.interpreter import Walk, chunks, shares


def gemm(op, tile):
    blocks = [
        list(product([b], ms, ns, ks))
        for b in range(op.batch)
        for ms in chunks(range(op.m), tile["block_m"])
        for ns in chunks(range(op.n), tile["block_n"])
        for ks in shares(op.k, tile.get("split_k", 1))
    ]

    def touch(point):
        b, m, n, k = point
        met = {"a": (b, m, k), "b": (b, k, n), "out": (b, m, n)}
        return {**met, **({"bias": n} if op.bias else {}), **({"c_in": (b, m, n)} if op.c_in else {})}

    def work(point):
        b, m, n, _ = point
        done = {"multiply-add": (point, 2)}
        extras = {"bias": op.bias, "c_in": op.c_in, f"activation {op.activation}": op.activation != "none"}
        return {**done, **{name: ((b, m, n), 1) for name, there in extras.items() if there}}

    return Walk(blocks, touch, work)


def gemv(op, tile):
    blocks = [
        list(product(range(op.batch), ns, ks))
        for ns in chunks(range(op.n), tile["block_n"])
        for ks in shares(op.k, tile.get("split_k", 1))
    ]
    return Walk(
        blocks,
        lambda p: {"a": (p[0], p[2]), "b": (p[1], p[2]), "out": (p[0], p[1])},
        lambda p: {"multiply-add": (p, 2)},
    )


def grouped_gemm(op, tile):
    if op.groups is not None:
        groups = [[(g, r) for r in range(size)] for g, size in enumerate(op.groups)]
    else:  # token t goes to the experts t * top_k + j, counted around
        pairs = [(t, (t * op.top_k + j) % op.experts) for t in range(op.tokens) for j in range(op.top_k)]
        groups = [[(t, e) for t, e in pairs if e == expert] for expert in range(op.experts)]
    blocks = [
        list(product([g], rows, ns, ks))
        for g, group in enumerate(groups)
        for rows in chunks(group, tile["block_m"])
        for ns in chunks(range(op.n), tile["block_n"])
        for ks in shares(op.k, tile.get("split_k", 1))
    ]

    def touch(point):
        g, row, n, k = point
        met = {"b": (g, k, n), "out": (row, n)}
        if op.groups is None:
            return {**met, "a": (row[0], k), "token_ids": row}
        return {**met, "a": (row, k)}

    return Walk(blocks, touch, lambda p: {"multiply-add": (p, 2)})


def attention(op, tile):
    """Points are (batch, kv head, head, query, key), (…, query, None) and (batch, …, None, key of the part)."""
    group = op.heads // op.kv_heads
    mla = op.latent_dim is not None
    d, dv = (op.latent_dim + op.rope_dim, op.latent_dim) if mla else (op.head_dim, op.v_head_dim)
    sees = {i: [j for j in range(op.kv_len) if _visible(op, i, j)] for i in range(op.q_len)}
    keys = sorted({j for visible in sees.values() for j in visible})
    heads = [[h] for h in range(group)] if op.phase == "prefill" else [list(range(group))]
    blocks = []
    for b, h, packed in product(range(op.batch), range(op.kv_heads), heads):
        for rows in chunks(product(packed, range(op.q_len)), tile["block_m"]):
            for places in shares(len(keys), tile.get("split_k", 1)):
                part = {keys[place] for place in places}
                block = [(b, h, g, i, None) for g, i in rows]
                block += [(b, h, g, i, j) for g, i in rows for j in sees[i] if j in part]
                block += [(b, h, None, None, j) for j in part]
                blocks.append(block)

    def touch(point):
        b, h, g, i, j = point
        if j is None:
            return {"q": (b, h, g, i), "out": (b, h, g, i)}
        if i is None:
            return {} if op.page_size is None else {"block_table": (b, j // op.page_size)}
        return {"k": (b, h, j)} if mla else {"k": (b, h, j), "v": (b, h, j)}

    def work(point):
        _, _, _, i, j = point
        if j is None:
            return {"division by the sum": (point, dv)}
        if i is None:
            return {}
        return {
            "q k^T": (point, 2 * d),
            "softmax arithmetic": (point, 4),
            "softmax exponential": (point, 1),
            "p v": (point, 2 * dv),
        }

    return Walk(blocks, touch, work), {"q": d, "k": d, "v": dv, "out": dv}


def _visible(op, i, j):
    own = i + op.kv_len - op.q_len
    if op.causal and j > own:
        return False
    return op.window is None or abs(own - j) < op.window


def conv2d(op, tile):
    oh, ow = op.output_size
    g_in, g_out = op.c_in // op.groups, op.c_out // op.groups
    pixels = list(product(range(op.n), range(oh), range(ow)))
    blocks = [
        list(product([g], ms, ns, range(op.kh), range(op.kw), cs))
        for g in range(op.groups)
        for ms in chunks(pixels, tile["block_m"])
        for ns in chunks(range(g_out), tile["block_n"])
        for cs in shares(g_in, tile.get("split_k", 1))
    ]

    def touch(point):
        g, (image, y, x), n, ky, kx, c = point
        met = {"b": (g, n, ky, kx, c), "out": (image, y, x, g, n)}
        iy = y * op.stride[0] + ky * op.dilation[0] - op.pad[0]
        ix = x * op.stride[1] + kx * op.dilation[1] - op.pad[1]
        if 0 <= iy < op.h and 0 <= ix < op.w:
            met["a"] = (image, iy, ix, g, c)
        return met

    return Walk(blocks, touch, lambda p: {"multiply-add": (p, 2)})


REDUCTION_WORK = {  # element, with affine, row, special element, special row
    "softmax": (4, 4, 0, 1, 0),
    "layernorm": (5, 7, 3, 0, 1),
    "rmsnorm": (3, 4, 2, 0, 1),
    "sum": (1, 1, 0, 0, 0),
    "argmax": (1, 1, 0, 0, 0),
}
WEIGHTS = {"layernorm": ("weight", "bias"), "rmsnorm": ("weight",)}


def reduction(op, tile):
    kept = [range(size) for axis, size in enumerate(op.shape) if axis not in op.axes]
    reduced = list(product(*(range(op.shape[axis]) for axis in op.axes)))
    row_wise = op.function in ("softmax", "layernorm", "rmsnorm")
    blocks = [
        list(product(rows, [reduced[place] for place in places]))
        for rows in chunks(product(*kept), tile["block_m"])
        for places in shares(len(reduced), tile.get("split_k", 1))
    ]
    names = WEIGHTS.get(op.function, ()) if op.affine else ()
    element, affine, row, special, special_row = REDUCTION_WORK[op.function]

    def work(point):
        per = affine if op.affine else element
        done = {"arithmetic": (point, per), "arithmetic of a row": (point[0], row)}
        done |= {"special functions": (point, special), "special functions of a row": (point[0], special_row)}
        return {term: item for term, item in done.items() if item[1]}

    def touch(point):
        return {"x": point, "out": point if row_wise else point[0], **dict.fromkeys(names, point[1])}

    return Walk(blocks, touch, work)


def elementwise(op, tile):
    blocks = chunks(product(*(range(size) for size in op.shape)), tile["block_m"])
    names = [f"in{i}" for i in range(op.inputs)] + [f"out{i}" for i in range(op.outputs)]
    terms = {"arithmetic": op.arithmetic_per_element, "special functions": op.special_per_element}
    return Walk(
        blocks,
        lambda p: dict.fromkeys(names, p),
        lambda p: {term: (p, number) for term, number in terms.items() if number},
    )


def rows(op, tile):
    """Points are (token, row); entries are whole rows and whole table entries, sized by the test."""
    blocks = [
        list(product(tokens, heads))
        for tokens in chunks(range(op.tokens), tile["tokens_per_block"])
        for heads in chunks(range(sum(op.heads)), tile["rows_per_block"])
    ]

    def touch(point):
        token, row = point
        met = {"in": point, "out": point, **({"scale": point} if op.scale else {})}
        for table in op.tables:
            met[table.name] = tuple({"token": token, "row": row}[name] for name in table.index)
        return met

    def work(point):
        done = {"arithmetic": (point, op.flops_per_element * op.head_dim)}
        return {**done, **({"arithmetic of a row": (point, op.flops_per_row)} if op.flops_per_row else {})}

    return Walk(blocks, touch, work)


def block_scaled_gemm(op, tile):
    (ra, ca), (rb, cb) = op.scale_block_a, op.scale_block_b
    blocks = [
        list(product(ms, ns, ks))
        for ms in chunks(range(op.m), tile["block_m"])
        for ns in chunks(range(op.n), tile["block_n"])
        for ks in shares(op.k, tile.get("split_k", 1))
    ]

    def touch(point):
        m, n, k = point
        scales = {"scale_a": (m // ra, k // ca), "scale_b": (n // rb, k // cb)}
        return {"a": (m, k), "b": (n, k), "out": (m, n), **scales}

    def work(point):
        m, n, k = point
        scaling = {"scaling": ((m, n, k // min(ca, cb)), 2)} if op.scale_dtype == "fp32" else {}
        return {"multiply-add": (point, 2), **scaling}

    return Walk(blocks, touch, work)


def einsum(op, tile):
    """Blocks as the docstring of the operator says them; entries are tuples of index values."""
    left, output = op.expression.split("->")
    inputs = left.split(",")
    batches, tiled = _tiling(inputs, output)
    summed = [i for i in op.extents if i not in output]
    cut = _cut(op, inputs, summed)
    splits = tile.get("split_k", 1)
    loops = [[[dict(zip(batches, v, strict=True))] for v in _values(op, batches)]]
    loops += [
        chunks([dict(zip(names, v, strict=True)) for v in _values(op, names)], tile[size]) for names, size in tiled
    ]
    runs = [dict(zip(cut, v, strict=True)) for v in _values(op, cut)]
    alone = [i for i in summed if i not in cut]
    blocks = []
    for choice in product(*loops):
        for part in shares(len(runs), splits):
            rest = [dict(zip(alone, v, strict=True)) for v in _values(op, alone)]
            combined = product(*choice, [runs[place] for place in part], rest)
            blocks.append([tuple(sorted({k: v for d in c for k, v in d.items()}.items())) for c in combined])
    names = [chr(ord("a") + place) for place in range(len(inputs))]

    def touch(point):
        at = dict(point)
        met = {name: tuple(at[i] for i in indices) for name, indices in zip(names, inputs, strict=True)}
        return {**met, "out": tuple(at[i] for i in output)}

    return Walk(blocks, touch, lambda p: {"products and sums": (p, len(inputs) - 1 + bool(summed))})


def _cut(op, inputs, summed):
    """The summed indices over which a split is: those that two inputs share, or the most that the same inputs have."""
    if len(inputs) == 2 and (shared := [i for i in inputs[0] if i in inputs[1] and i in summed]):
        return shared
    groups = {}
    for index in summed:
        groups.setdefault(tuple(index in read for read in inputs), []).append(index)
    sizes = {users: len(list(_values(op, group))) for users, group in groups.items()}
    return groups[max(sizes, key=sizes.get)] if groups else []


def _values(op, indices):
    return product(*(range(op.extents[i]) for i in indices))


def _tiling(inputs, output):
    """The output's batch indices, and the groups of indices that a variable tiles."""
    if len(inputs) == 2:
        a, b = inputs
        summed = [i for i in a if i in b and i not in output]
        rows, columns = [i for i in output if i not in b], [i for i in output if i not in a]
        shared = [i for i in output if i in a and i in b]
        if rows and columns and summed:
            return shared, [(rows, "block_m"), (columns, "block_n")]
        if (rows or columns) and summed and not ({*a, *b} - {*output, *summed}):
            return shared, [(rows or columns, "block_n")]
    if len(output) < 2:
        return [], [(list(output), "block_m")]
    return [], [(list(output[:-1]), "block_m"), ([output[-1]], "block_n")]
