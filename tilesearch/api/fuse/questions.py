"""The four questions on a fusion (seed 5.1), asked of any two versions."""

from __future__ import annotations

from typing import Literal

from tilesearch.answers.fuse import FuseOption, FuseQuestion
from tilesearch.api.tilesets import CUT_SHORT
from tilesearch.ledger import Rates
from tilesearch.ledger.cost import L2_BANDWIDTH

_QUESTIONS: dict[Literal["bytes", "onchip", "grid", "work"], str] = {
    "bytes": "How many bytes does it save?",
    "onchip": "What must stay alive on chip at once?",
    "grid": "Does the grid still fill the device?",
    "work": "What new work does it bring?",
}


def four_questions(
    kept: FuseOption, changed: FuseOption, alive: str, sms: int, cores: str = "SMs"
) -> list[FuseQuestion]:
    """The four answers on `changed`, the version in question, against `kept`, the one without it.

    `cores` is what the device's vendor calls its `sms`.
    """
    saved = kept.bytes - changed.bytes
    verb = "saves" if saved >= 0 else "adds"
    share = 100 * abs(saved) / kept.bytes
    percent = f"{share:.1f}" if share >= 0.1 else f"{share:.1g}"
    answers = {
        "bytes": f"{changed.name} {verb} {size_text(abs(saved))} of {size_text(kept.bytes)} ({percent} %)",
        "onchip": f"{changed.onchip_bytes / 1024:,.1f} KB a block: {alive}",
        "grid": f"{kept.grid} blocks become {changed.grid} for {sms} {cores}{_idle(changed, sms)}",
        "work": changed.new_work or "none",
    }
    return [FuseQuestion(id=name, question=text, answer=answers[name]) for name, text in _QUESTIONS.items()]


def bound_note(rates: Rates) -> str:
    """What `bound_us` is, and whether L2 is in it."""
    known = rates.constant(L2_BANDWIDTH) is not None
    terms = "memory, L2, compute" if known else "memory, compute"
    missing = "" if known else f"; no bandwidth of L2 is known for {rates.device.name}, so re-reads cost nothing here"
    return f"bounds, not times: max({terms}) over the share of the SMs that the grid can use{missing}"


def cut_short(complete: bool) -> list[str]:
    """What must be said where not all tiles were seen."""
    return [] if complete else [f"{CUT_SHORT}: each version has the best tile of those seen, not of all"]


def size_text(count: int) -> str:
    """Bytes in MB of 1e6 B, in kB or B where that would be nothing."""
    if count < 50:
        return f"{count} B"
    return f"{count / 1e6:,.1f} MB" if count >= 50_000 else f"{count / 1e3:,.1f} kB"


def _idle(option: FuseOption, sms: int) -> str:
    return f": {sms - option.grid} stay idle" if option.grid < sms else ""


def moves_more(winner: FuseOption, options: list[FuseOption]) -> bool:
    """Whether another version moves fewer bytes than the winner."""
    return any(other.bytes < winner.bytes for other in options if other is not winner)
