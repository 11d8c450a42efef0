"""Known figures from the form alone: the seed text's section 6 and its two splits, FlashAttention's footprint."""

from __future__ import annotations

import pytest

import tilesearch as ts
from tilesearch.program import lower
from tilesearch.rules.evaluate import evaluate
from tilesearch.rules.geometry import Geometry

MB = 1e6
KIB = 1024


def geometry_of(op, *free):
    return Geometry(lower(op), frozenset(free))


class TestNormRopeQuant:
    """The seed's section 6: 4096 tokens of 32 + 8 heads of 128, bf16 to fp8 with one fp32 scale a row."""

    op = ts.load_problem("problems/qk_norm_rope_quant.toml").op

    # rows a block, grid, waves at 8 blocks/SM, on-chip KiB, look-up MB, total MB, over the ideal
    DESIGNS = (
        (1, 163840, 156, 1.9, 251.66, 315.23, 4.65),
        (8, 20480, 20, 8.0, 31.46, 95.03, 1.40),
        (40, 4096, 4, 36.2, 6.29, 69.86, 1.03),
    )

    def test_ledger(self):
        program = lower(self.op)
        assert program.flops == 210_206_720
        payload = sum(program.tensor_bytes(program.tensor(name)) for name in ("in", "out", "scale"))
        assert payload == 63_569_920
        assert program.tensor_bytes(program.tensor("scale")) == 655_360
        assert program.tensor_bytes(program.tensor("cos_sin")) == 4_194_304
        # The seed's ideal leaves the 512 B of norm weights out.
        assert program.compulsory_bytes - program.tensor_bytes(program.tensor("norm_weights")) == 67_764_224

    def test_flops_at_nine_an_element(self):
        op = self.op.model_copy(update={"flops_per_element": 9})
        assert lower(op).flops == 189_235_200

    def test_default_work_of_the_steps_is_the_seeds(self):
        data = self.op.model_dump(exclude={"flops_per_element", "flops_per_row", "kind"})
        assert lower(ts.Rows(**data)).flops == 210_206_720

    @pytest.mark.parametrize(("rows", "grid", "waves", "onchip", "lookup", "total", "ratio"), DESIGNS)
    def test_designs(self, rows, grid, waves, onchip, lookup, total, ratio):
        problem = ts.load_problem("problems/qk_norm_rope_quant.toml")
        metrics = ts.check(problem, tile={"tokens_per_block": 1, "rows_per_block": rows}).metrics
        assert metrics.grid == grid
        assert metrics.waves == waves
        assert metrics.shared_bytes / KIB == pytest.approx(onchip, rel=0.02)
        assert metrics.traffic_bytes / MB == pytest.approx(total, abs=0.005)
        assert (metrics.traffic_bytes - 63_569_920) / MB == pytest.approx(lookup, abs=0.005)
        assert round(metrics.traffic_bytes / lower(self.op).compulsory_bytes, 2) == pytest.approx(ratio)

    def test_whole_token_is_found_first(self):
        answer = ts.solve(ts.load_problem("problems/qk_norm_rope_quant.toml"))
        assert answer.best.tile["rows_per_block"] == 40
        assert answer.best.metrics.traffic_bytes == 69_861_376
        assert answer.best.tied == 1
        assert answer.best.metrics.tail_fill == pytest.approx(0.88, abs=0.005)
        assert answer.best.metrics.blocks_per_sm == 6  # what shared memory allows, beside the assumed 8

    def test_more_tokens_save_little(self):
        answer = ts.solve(ts.load_problem("problems/qk_norm_rope_quant_tokens.toml"))
        by_tile = {(c.tile["tokens_per_block"], c.tile["rows_per_block"]): c.metrics for c in answer.candidates}
        assert by_tile[2, 40].traffic_bytes == 68_812_800
        assert by_tile[2, 40].grid == by_tile[1, 40].grid // 2

    def test_onchip_bytes_can_be_said(self):
        op = self.op.model_copy(update={"onchip_bytes_per_row": 1000})
        metrics = ts.check(op, "h200", {"rows_per_block": 8}).metrics
        assert metrics.shared_bytes == 8 * 1000 + 1024


class TestSplits:
    """The seed's section 5.1: two decisions won by the side that moves more bytes."""

    def test_skinny_gemm(self):
        op = ts.Gemm(m=1024, n=1024, k=16384, dtype="fp16", out="fp32")
        geometry = geometry_of(op, "block_m", "block_n", "split_k")
        output = lower(op).tensor_bytes(lower(op).tensor("out"))
        tile = {"block_m": 128, "block_n": 128}
        alone, split = ({**tile, "split_k": parts} for parts in (1, 8))
        assert evaluate(geometry.grid(), alone) == 64
        assert evaluate(geometry.grid(), split) == 512
        assert evaluate(geometry.partial_bytes(), alone) == 0
        moved = output + evaluate(geometry.partial_bytes(), split)
        assert (round(output / MB, 1), round(moved / MB, 1)) == (4.2, 71.3)
        assert round((output - moved) / MB, 1) == -67.1

    def test_decode(self):
        op = ts.load_problem("problems/attention_decode.toml").op
        geometry = geometry_of(op, "block_m", "block_n", "split_k")
        alone, split = ({"block_m": 16, "block_n": 64, "split_k": parts} for parts in (1, 64))
        assert evaluate(geometry.grid(), alone) == 32
        assert evaluate(geometry.grid(), split) == 2048
        once = lower(op).compulsory_bytes
        moved = once + evaluate(geometry.partial_bytes(), split)
        assert (round(once / MB, 1), round(moved / MB, 1)) == (2147.5, 2149.6)
        assert round((once - moved) / MB, 1) == -2.1


class TestFlashAttention:
    """The q tile is kept, keys and values stream past it."""

    op = ts.Attention(batch=2, heads=16, q_len=2048, head_dim=128, dtype="fp16")

    def metrics(self, op, **tile):
        return ts.check(op, "h200", {"num_warps": 8, **tile}).metrics

    def test_footprint(self):
        metrics = self.metrics(self.op, block_m=128, block_n=64, num_stages=2)
        assert metrics.shared_bytes == 128 * 128 * 2 + 2 * (64 * 128 + 64 * 128) * 2
        # fp32 scores (128 x 64) and output (128 x 128) over 256 threads
        assert metrics.accumulators_per_thread == (128 * 64 + 128 * 128) // 256

    def test_traffic_and_grid(self):
        metrics = self.metrics(self.op, block_m=128, block_n=64)
        tensor = 2 * 16 * 2048 * 128 * 2
        assert metrics.grid == 2 * 16 * 16
        assert metrics.traffic_bytes == tensor + 16 * 2 * tensor + tensor  # q, k and v for each of 16 blocks, out

    def test_causal_blocks_skip_what_they_do_not_see(self):
        op = self.op.model_copy(update={"causal": True})
        tensor = 2 * 16 * 2048 * 128 * 2
        seen = sum((block + 1) * 128 for block in range(16))  # keys that the blocks of one head read
        assert self.metrics(op, block_m=128, block_n=64).traffic_bytes == 2 * tensor + 2 * 32 * seen * 128 * 2
        pairs = 2048 * 2049 // 2
        assert lower(op).term_flops(lower(op).terms[0]) == 2 * 128 * 32 * pairs

    def test_grouped_queries_read_their_keys_once_in_decode(self):
        op = ts.Attention(batch=4, heads=32, kv_heads=8, q_len=1, kv_len=4096, head_dim=128)
        keys, row = 4 * 8 * 4096 * 128 * 2, 4 * 32 * 128 * 2
        metrics = self.metrics(op, block_m=16, block_n=64, num_warps=4)
        assert metrics.grid == 32
        assert metrics.traffic_bytes == 2 * keys + 2 * row

    def test_latent_keys_are_their_own_values(self):
        op = ts.load_problem("problems/attention_mla.toml").op
        program = lower(op)
        assert program.compulsory_bytes == 32 * (4096 * 576 + 128 * 576 + 128 * 512) * 2
        metrics = self.metrics(op, block_m=64, block_n=16)
        assert metrics.shared_bytes == (64 * 576 + 16 * 576) * 2


def test_experts_read_their_matrix_for_each_of_their_tiles():
    op = ts.GroupedGemm(groups=[300, 0, 1, 128], n=256, k=64, dtype="fp16")
    metrics = ts.check(op, "h200", {"block_m": 128, "block_n": 128, "block_k": 64}).metrics
    tiles = 3 + 0 + 1 + 1
    assert metrics.grid == tiles * 2
    rows = 300 + 1 + 128
    assert metrics.traffic_bytes == (2 * rows * 64 + tiles * 64 * 256 + rows * 256) * 2
    assert lower(op).tensor_bytes(lower(op).tensor("b")) == 3 * 64 * 256 * 2  # the empty group's is not read


def test_im2col_tile_is_what_a_convolution_stages():
    op = ts.Conv2d(n=8, h=28, w=28, c_in=64, c_out=128, kh=3, kw=3, pad=1)
    metrics = ts.check(op, "h200", {"block_m": 128, "block_n": 64, "block_k": 32, "num_stages": 3}).metrics
    assert metrics.shared_bytes == 3 * (128 * 32 + 64 * 32) * 2


def test_scales_of_a_stage():
    op = ts.BlockScaledGemm(m=512, n=512, k=1024)
    metrics = ts.check(op, "h200", {"block_m": 128, "block_n": 64, "block_k": 128, "num_stages": 2}).metrics
    assert metrics.shared_bytes == 2 * (128 * 128 + 128 * 4 + 64 * 128 + 4)


def test_products_beyond_int64_stay_exact():
    top = 2**31 - 1
    program = lower(ts.Attention(batch=top, heads=top, q_len=top, head_dim=top, causal=True))
    assert program.term_flops(program.terms[0]) == 2 * top**3 * (top * (top + 1) // 2)
    assert program.tensor_bytes(program.tensor("k")) == 2 * top**4
