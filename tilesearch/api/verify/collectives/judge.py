"""Predictions for a run: by the constants of the device file, and by constants of a fit that left the row out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from tilesearch.api.context import make
from tilesearch.api.shard import chunk_rows
from tilesearch.api.sharding import Local, local_gemm, local_op, message_bytes
from tilesearch.api.verify.collectives.rows import Product, Run
from tilesearch.models.time.link import LinkConstants, transfer, waited_for
from tilesearch.models.time.link_fit import Call, Chunked, fit_handover, fit_link, fit_progress
from tilesearch.models.time.overlap import Queue

FIT_CHUNKS = (2, 4)
"""Chunk counts that the speed beside a collective is fitted to, where the host is not what decides."""
FIT_ROWS = 4096


@dataclass(frozen=True)
class Judge:
    """A run and the link's constants in the device file."""

    run: Run
    link: LinkConstants

    def call(self, call: Call, link: LinkConstants | None = None) -> float:
        """A collective called alone, us."""
        return transfer(call.op, call.message_bytes, self.run.ranks, link or self.link).single_us

    def total(self, product: Product, chunks: int, link: LinkConstants | None = None) -> float:
        """A product with its collective in so many chunks, us."""
        return replace(self.queue(product, chunks), link=link or self.link).total_us

    def gemm(self, product: Product) -> float:
        """The product of one rank, launched alone and waited for, us."""
        return waited_for(self._locals[product.name, product.op.m].used_us, self.link)

    def queue(self, product: Product, chunks: int) -> Queue:
        """The launches of a product in chunks."""
        ranks, split = self.run.ranks, product.split
        rows = chunk_rows(product.op.m, chunks)
        moved = [
            transfer(product.collective, message_bytes(product.op, split, ranks, r), ranks, self.link) for r in rows
        ]
        gemms = [self._locals[product.name, r].used_us for r in rows]
        return Queue(gemms, [t.device_us for t in moved], "gemm" if split == "row" else "collective", self.link)

    @cached_property
    def _locals(self) -> Mapping[tuple[str, int], Local]:
        """The best tile of every size of every product."""
        found: dict[tuple[str, int], Local] = {}
        for product in self.run.products:
            problem = make(product.op, self.run.device)
            for rows in {r for count in (1, *product.chunked_us) for r in chunk_rows(product.op.m, count)}:
                op = local_op(product.op, product.split, self.run.ranks, rows)
                found[product.name, rows] = local_gemm(problem, op)
        return found

    def without_size(self, size: int) -> LinkConstants:
        """Floor, host's time and shares of a fit to the calls of all other sizes."""
        return fit_link([c for c in self.run.calls if c.message_bytes != size], self.run.ranks, self.link)

    def without_product(self, product: Product | None) -> LinkConstants:
        """The link with handover and the speed beside a collective fitted to the other products."""
        others = [p for p in self.run.products if product is None or p.op != product.op]
        link = self.link
        if others:
            link = replace(link, handover=fit_handover([(self.queue(p, 1), p.sequential_us) for p in others], link))
        rows = [row for other in others for row in self.chunked(other)]
        return replace(link, overlap_progress=fit_progress(rows, link)) if rows else link

    def chunked(self, product: Product) -> Iterator[Chunked]:
        """What of a product the speed beside a collective is fitted to."""
        if product.op.m < FIT_ROWS:
            return
        whole = self.queue(product, 1)
        for count in FIT_CHUNKS:
            if count in product.chunked_us:
                yield Chunked(whole, self.queue(product, count), product.sequential_us, product.chunked_us[count])
