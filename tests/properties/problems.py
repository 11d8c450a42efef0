"""Random problems: perturbed devices, operators, spaces and users' rules."""

from hypothesis import strategies as st

import tilesearch as ts
from tilesearch.specs.instructions import instructions_for

BASES = ("h200", "a100_80gb", "rtx4090", "v100", "t4", "rtx5090")
DTYPES = ("fp16", "bf16", "tf32", "fp8_e4m3", "int8", "fp32")
LIMITS = {
    "sm_count": st.integers(1, 200),
    "shared_per_block_optin": st.sampled_from([16384, 32768, 49152, 65536]),
    "max_threads_per_block": st.sampled_from([128, 256, 512, 1024]),
    "max_threads_per_sm": st.sampled_from([128, 512, 1024, 2048]),
    "max_registers_per_thread": st.sampled_from([63, 127, 255]),
    "max_blocks_per_sm": st.integers(1, 32),
    "registers_per_block": st.sampled_from([16384, 32768, 65536]),
    "registers_per_sm": st.sampled_from([32768, 65536]),
}


def perturbed(base, changes):
    """A device with some limits changed, and the rest of its file as it is."""
    device = ts.load_device(base)
    return device.model_copy(update={n: type(getattr(device, n))(value=v) for n, v in changes.items()})


def devices():
    return st.builds(perturbed, st.sampled_from(BASES), st.fixed_dictionaries({}, optional=LIMITS))


def extents():
    return st.one_of(st.integers(1, 300), st.sampled_from([1024, 4096, 2**20 + 3, 2**31 - 1]))


@st.composite
def gemms(draw, device):
    """An operator that the device has instructions for, or none and runs on CUDA cores."""
    dtype = draw(st.sampled_from(DTYPES))
    acc = "int32" if dtype == "int8" else "fp32"
    fields = {
        "m": extents(),
        "n": extents(),
        "k": extents(),
        "batch": st.sampled_from([1, 1, 2, 3, 77]),
        "out": st.sampled_from(["fp16", "fp32"]),
        "bias": st.booleans(),
        "c_in": st.booleans(),
        "trans_a": st.booleans(),
        "trans_b": st.booleans(),
    }
    roof = None if dtype == "fp32" or instructions_for(device, dtype, acc) else "cuda_core.fp32"
    return ts.Gemm(dtype=dtype, acc=acc, roof=roof, **draw(st.fixed_dictionaries(fields)))


@st.composite
def questions(draw):
    """A device, an operator for it, a space and some rules of a user's."""
    device = draw(devices())
    return device, draw(gemms(device)), draw(spaces()), draw(rules())


def _some(values, most=3):
    return st.lists(st.sampled_from(values), min_size=1, max_size=most, unique=True)


def spaces():
    return st.fixed_dictionaries(
        {
            "block_m": _some([8, 16, 48, 64, 128, 256]),
            "block_n": _some([8, 24, 32, 64, 128, 256]),
            "block_k": _some([8, 16, 24, 32, 64, 128], 2),
            "num_stages": _some([1, 2, 3, 5], 2),
            "num_warps": _some([1, 3, 4, 8, 32], 2),
            "split_k": _some([1, 2, 8], 2),
        }
    )


RULES = (
    "block_m * block_n <= 16384",
    "block_m >= block_n",
    "tail_fill >= 0.5",
    "waves <= 3 or split_k > 1",
    "k % (split_k * block_k) == 0",
    "blocks_per_sm >= 2",
    "shared_bytes / shared_per_block_optin <= 0.75",
    "traffic_bytes % 7 != 3",
    "num_stages in (2, 3)",
    "min(block_m, block_n) * num_stages > 64",
    "ceildiv(m, block_m) - ceildiv(n, block_n) < 4",
)


def rules():
    return st.lists(st.sampled_from(RULES), max_size=3, unique=True)
