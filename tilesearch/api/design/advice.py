"""What is worth doing at all, which model says so, and the risks that remain."""

from __future__ import annotations

from tilesearch.answers.design import Advice, AdviceItem, ModelAnswer
from tilesearch.answers.roofline import RooflineAnswer
from tilesearch.api.design.versions import Version
from tilesearch.ledger.analyzer import reconcile
from tilesearch.ledger.antipatterns import shared_key
from tilesearch.ledger.criteria import FEW, PipelineCriterion
from tilesearch.ledger.signals import Signals
from tilesearch.program.form import Role


def advice(
    ledger: RooflineAnswer, naive: Version, chosen: Version, found: PipelineCriterion, rank: str, tied: int | None
) -> Advice:
    """The verdict of the first two steps in words, item by item."""
    s = chosen.signals
    return Advice(
        text=_headline(ledger, s),
        items=[
            _bytes(ledger, naive.signals, s),
            _matrix(ledger, s),
            _tile(ledger, naive.signals, s),
            _stages(ledger, s, found),
            _launches(ledger),
        ],
        models=models(ledger, chosen, found, rank, tied),
    )


def _headline(ledger: RooflineAnswer, s: Signals) -> str:
    if ledger.latency_bound:
        return "the whole operator is shorter than a launch: launch less often, or do more in a launch"
    if ledger.class_ == "memory":
        below = f"{ledger.balance / ledger.intensity:.3g} times below the balance" if ledger.flops else "no arithmetic"
        return f"memory-bound, {below}: the one thing worth anything is to move fewer bytes"
    return f"compute-bound, {ledger.intensity / ledger.balance:.3g} times above the balance: keep {ledger.roof} busy"


def _bytes(ledger: RooflineAnswer, naive: Signals, s: Signals) -> AdviceItem:
    ratio = naive.over_ideal
    worth = ledger.class_ == "memory" and ratio > 1 + FEW
    return AdviceItem(
        what="bytes",
        worth=worth,
        number=ratio,
        text=f"the smallest tile moves {ratio:.2f} times the ideal, the chosen one {s.over_ideal:.2f} times",
    )


def _matrix(ledger: RooflineAnswer, s: Signals) -> AdviceItem:
    declared = ledger.roof.startswith("tensor_core")
    worth = declared and ledger.class_ == "compute"
    if declared:
        text = f"{ledger.roof} is declared, and {'binds' if worth else 'does not bind'}"
    elif ledger.class_ == "memory":
        text = f"{100 * ledger.compute_us / ledger.memory_us:.0f} % of the memory time is arithmetic: no matrix unit"
    else:
        times = f"arithmetic on {ledger.roof} takes {ledger.compute_us / ledger.memory_us:,.3g} times the memory's time"
        product = bool(s.program.contractions)
        text = f"{times}, {'and a product is not declared on' if product else 'with no product of two operands for'} it"
    return AdviceItem(what="matrix unit", worth=worth, number=ledger.compute_us / ledger.memory_us, text=text)


def _tile(ledger: RooflineAnswer, naive: Signals, s: Signals) -> AdviceItem:
    gain = naive.traffic / s.traffic
    return AdviceItem(
        what="tile",
        worth=gain > 1 + FEW,
        number=gain,
        text=f"the chosen tile moves {gain:.2f} times fewer bytes than the smallest",
    )


def _stages(ledger: RooflineAnswer, s: Signals, found: PipelineCriterion) -> AdviceItem:
    worth = s.loops and (ledger.class_ == "compute" or found.covered is False)
    text = "loads have arithmetic to hide behind" if worth else "stages save no byte, and there is little to hide"
    return AdviceItem(what="stages", worth=worth, number=found.needed, text=text if s.loops else "blocks have no loop")


def _launches(ledger: RooflineAnswer) -> AdviceItem:
    if ledger.launch_floor_us is None:
        text = "the launch floor of this device is not known"
        return AdviceItem(what="launches", worth=False, number=None, text=text)
    ratio = ledger.launch_floor_us / ledger.sol_us
    text = f"an empty launch takes {ledger.launch_floor_us:.1f} us, the bound is {ledger.sol_us:.4g}"
    return AdviceItem(what="launches", worth=ratio > 1, number=ratio, text=text)


def models(
    ledger: RooflineAnswer, chosen: Version, found: PipelineCriterion, rank: str, tied: int | None
) -> list[ModelAnswer]:
    """Which model answered what (seed 3.5)."""
    s = chosen.signals
    sums = reconcile(s.program, s.geometry, s.tile)
    time = chosen.metrics.time_us
    return [
        ModelAnswer(
            model="ledger and roofline",
            answers="which direction is worth anything",
            says=f"{ledger.class_}-bound, {ledger.sol_us:.4g} us at least",
        ),
        ModelAnswer(
            model=f"ranking by {rank}",
            answers="which candidates are plausible, not which is best",
            says=shared_key(tied),
        ),
        ModelAnswer(
            model="tile time model",
            answers="which few to measure, with an interval",
            says="no time model covers this problem" if time is None else f"{time:.4g} us",
        ),
        ModelAnswer(
            model="pipeline criterion",
            answers="how many stages hide the loads",
            says="unknown" if found.needed is None else f"{found.needed} stages",
        ),
        ModelAnswer(
            model="TileLang's Analyzer",
            answers="GEMM operations and bytes across global memory, for reconciliation",
            says=f"{sums.gemm_flops:,} operations, {sums.global_bytes:,} B; not counted: {len(sums.not_counted)} terms",
        ),
        ModelAnswer(
            model="Ascend latency and schedule",
            answers="which pipe binds, and the least period",
            says="not applicable: not an Ascend device",
        ),
        ModelAnswer(model="measurement", answers="the verdict", says=_measurement(ledger)),
    ]


def _measurement(ledger: RooflineAnswer) -> str:
    says = []
    if ledger.measured is not None:
        says.append(f"{ledger.measured.time_us:.4g} us, {100 * ledger.measured.efficiency:.1f} % of the bound")
    if ledger.measured_bytes is not None:
        says.append(f"{ledger.measured_bytes.bytes / 1e6:,.2f} MB, which followed: {ledger.measured_bytes.followed}")
    return "; ".join(says) or "none yet"


def risks(chosen: Version, assumed: int | None) -> list[str]:
    """What the budget does not guarantee (seed 6.6)."""
    s = chosen.signals
    return [*_index_risks(s), *_grid_risks(s, assumed), *_cache_risks(s), *_unknown_risks(s)]


def _index_risks(s: Signals) -> list[str]:
    found = []
    tables = [t for t in s.program.tensors if t.role is Role.TABLE]
    if tables:
        by = ", ".join(f"{t.name} by {' and '.join(sorted(_indices(s, t.name))) or 'nothing'}" for t in tables)
        where = f"a block of {s.outputs_per_block} rows indexes {by}"
        found.append(f"{where}: with one wrong index some rows are wrong, and not all, which is hard to see")
    ragged = [
        f"{d.name} {d.extent} by {s.value(s.geometry.tile(d))}"
        for d in s.program.parallel
        if not d.whole and d.extent % s.value(s.geometry.tile(d))
    ]
    if ragged:
        found.append(f"ragged tiles: {', '.join(ragged)}; masks cost registers, and the last blocks work for less")
    return found


def _indices(s: Signals, name: str) -> set[str]:
    parallel = {d.name for d in s.program.parallel}
    return set(s.program.owners(s.program.tensor(name))) & parallel


def _grid_risks(s: Signals, assumed: int | None) -> list[str]:
    launch = s.launch
    resident = assumed or launch.blocks_per_sm
    waves = f"{launch.grid / (s.sms * max(resident, 1)):.2f} waves, the last {100 * launch.tail_fill:.0f} % full"
    text = f"{launch.grid} blocks, {resident} an SM on {s.sms} SMs: {waves}"
    found = [f"{text}; a larger tile saves bytes and gives parallelism away"]
    if assumed is not None and assumed != launch.blocks_per_sm:
        slots = s.sms * max(launch.blocks_per_sm, 1)
        found.append(
            f"{assumed} blocks an SM are assumed, {launch.blocks_per_sm} are what the SM allows: "
            f"{-(-launch.grid // slots)} waves instead of {launch.waves}"
        )
    return found


def _cache_risks(s: Signals) -> list[str]:
    if not s.reread:
        return []
    names = ", ".join(t.name for t in s.reread)
    if s.reread_stays_in_l2 is None:
        return [f"whether L2 catches the re-reads of {names} is not known: its size is not"]
    if s.reread_stays_in_l2:
        return [f"what is re-read ({names}) comes back while L2 still holds it: main memory may see the ideal only"]
    return [f"what is re-read ({names}) comes back after more than L2 holds: the order of the blocks decides"]


def _unknown_risks(s: Signals) -> list[str]:
    found = []
    if s.dispatch_s is None:
        found.append("the time to hand out blocks is not known for this device: a large grid may cost more than bytes")
    if s.load_latency is None:
        found.append("the latency of a load is not known for this device: stages are not judged")
    return found
