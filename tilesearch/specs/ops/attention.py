"""Attention: softmax(q k^T) v without the score matrix ever leaving the chip."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from tilesearch.specs.ops.base import DTypeName, Extent, OpSpec, accumulator_of
from tilesearch.specs.validation import fault


class Attention(OpSpec):
    """``out[b, h, i] = sum over j of softmax(q[b, h, i] . k[b, h', j]) * v[b, h', j]``, heads h sharing h'.

    Tile: block_m (block_q) query rows, block_n (block_kv) keys a step, split_k (split_kv) parts of the keys
    with fp32 partials. In the phase ``prefill`` a block takes rows of one head; in ``decode`` it takes rows of
    all the heads that share keys (the group packed into the rows), so keys are read once for the group.
    The phase is decode for a single query and prefill otherwise, unless it is said.

    `kv_heads` defaults to heads (MHA; fewer is GQA, one is MQA) and `kv_len` to q_len. Queries stand at the
    end of the keys: with `causal`, query i sees keys up to ``i + kv_len - q_len``; with `window`, only the
    `window` nearest of them (on both sides when not causal). `page_size` puts keys and values in pages behind
    an int32 block table.

    MLA: with `latent_dim` and `rope_dim` all heads share one row of latent_dim + rope_dim for each key, whose
    first latent_dim are also the value (the absorbed form, where q and out are in latent space); `head_dim`
    and `v_head_dim` are then dimensions of the projections around this operator and do not enter it.

    `dtype` stands for q, k, v and out. Products are computed in q's type: keys stored narrower are converted
    on chip. The default roof is the tensor core of q's type; exponentials run on ``sfu.fp32``.
    """

    kind: Literal["attention"] = "attention"
    batch: Extent = 1
    heads: Extent
    kv_heads: Extent | None = None
    q_len: Extent
    kv_len: Extent | None = None
    head_dim: Extent | None = None
    v_head_dim: Extent | None = None
    causal: bool = False
    window: Extent | None = None
    page_size: Extent | None = None
    phase: Literal["prefill", "decode"] | None = None
    latent_dim: Extent | None = None
    rope_dim: Extent | None = None
    q: DTypeName | None = None
    k: DTypeName | None = None
    v: DTypeName | None = None
    acc: DTypeName | None = None
    out: DTypeName | None = None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        mla = self.latent_dim is not None
        if mla != (self.rope_dim is not None):
            missing = "rope_dim" if mla else "latent_dim"
            raise fault("is required and absent: MLA has both latent_dim and rope_dim", key=missing)
        if not mla and self.head_dim is None:
            raise fault("is required and absent", key="head_dim")
        self.fill(kv_heads=1 if mla else self.heads, kv_len=self.q_len, v_head_dim=self.head_dim)
        self.fill(phase="decode" if self.q_len == 1 else "prefill")
        self.fill(q=self.dtype, k=self.dtype, v=self.dtype, out=self.dtype)
        self.fill(acc=accumulator_of(self.operand("q")))
        self._check_heads(mla)
        return self

    def _check_heads(self, mla: bool) -> None:
        kv_heads, kv_len = self.kv_heads or 1, self.kv_len or 1
        if mla and kv_heads != 1:
            raise fault(f"with latent_dim all heads share one latent row, got kv_heads = {kv_heads}", key="kv_heads")
        if self.heads % kv_heads:
            raise fault(f"must divide heads = {self.heads}, got {kv_heads}", key="kv_heads")
        if (self.causal or self.window is not None) and kv_len < self.q_len:
            message = f"a mask needs every query among the keys: kv_len = {kv_len} is below q_len = {self.q_len}"
            raise fault(message, key="kv_len")
