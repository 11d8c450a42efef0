"""Measurements that nobody took."""

from tilesearch.answers.measured import TuneAnswer, TunedRow, TuneSeconds
from tilesearch.api.context import make
from tilesearch.api.solve import solve_problem
from tilesearch.measure.gpu import Gpu
from tilesearch.measure.probes import Measured

GPU = Gpu("NVIDIA H200", (9, 0), 132, 62_914_560, 150_000_000_000)
_OFF = 1.1


def answer(op, variant) -> TuneAnswer:
    """Five tiles, each 10 % slower than predicted, and one that did not run."""
    kernel = {"language": "triton", "version": "3.6"} | ({"variant": variant} if variant else {})
    problem = make(op, "h200", kernel=kernel, search={"rank": "time", "top": 5})
    rows = [
        TunedRow(
            rank=c.rank,
            tile=c.tile,
            predicted_us=c.metrics.time_us,
            time_us=c.metrics.time_us * _OFF,
            launches=20,
            relative_error=1e-4,
        )
        for c in solve_problem(problem).candidates
    ]
    rows.append(TunedRow(rank=6, tile=rows[0].tile, error="OutOfResources"))
    return TuneAnswer(
        problem="made",
        device="h200",
        gpu=GPU.name,
        op=op.model_dump(exclude_none=True),
        kernel=problem.kernel.model_dump(exclude_none=True),
        chosen="in rank order",
        rows=rows,
        compiles=6,
        seconds=TuneSeconds(),
        mean_error=1 - 1 / _OFF,
        within_interval=1.0,
        resolution=0.003,
    )


def measurements() -> list[Measured]:
    made = [
        ("launch_floor", 3.5e-6, "s"),
        ("block_dispatch", 0.9e-9, "s"),
        ("dram_stream", 4.6e12, "B/s"),
        ("dram_copy", 4.2e12, "B/s"),
        ("tensor_flops_fp16", 4000.0, "FLOP/clk/SM"),
        ("tensor_rate_fp16", 1e15, "FLOP/s"),
        ("mma_share", 0.63, ""),
        ("clock_gemm_cool", 1.7e9, "Hz"),
        ("clock_gemm_sustained", 1.4e9, "Hz"),
        ("l2_hit_latency", 1.4e-7, "s"),
    ]
    return [Measured(name, value, unit, 0.02, 'a note with "quotes"') for name, value, unit in made]
