"""One tile against every rule, by plain scalar evaluation: value, limit, slack, verdict, binding rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from tilesearch.answers import RuleReport, Verdict
from tilesearch.rules.evaluate import Memo, evaluate
from tilesearch.rules.expr import Named
from tilesearch.rules.model import Model, Rule
from tilesearch.rules.printing import numeric, symbolic

_RELATION_SIGN = {"le": "<=", "lt": "<", "ge": ">=", "gt": ">", "eq": "==", "ne": "!=", "multiple": "a multiple of"}
_BROKEN_SIGN = {"le": ">", "lt": ">=", "ge": "<", "gt": "<=", "eq": "!=", "ne": "==", "multiple": "not a multiple of"}

_LONG = 240  # a longer formula is shown by the names of its parts


@dataclass(frozen=True)
class Judgement:
    """What the rules say of one tile."""

    verdict: Verdict
    violations: tuple[str, ...]
    binding: str | None
    reports: tuple[RuleReport, ...]


def judge(model: Model, tile: Mapping[str, int]) -> Judgement:
    """Judge `tile`, which names every variable of `model`, with values in or out of the domains."""
    memo: Memo = {}
    reports = tuple(_report(rule, tile, memo) for rule in model.rules)
    broken = tuple(r.id for r in reports if r.ok is False)
    return Judgement(verdict_of(model, tile, memo), broken, binding_of(model, tile, memo), reports)


def verdict_of(model: Model, tile: Mapping[str, int], memo: Memo | None = None) -> Verdict:
    """The verdict alone, without the account of each rule."""
    memo = {} if memo is None else memo
    if not all(evaluate(rule.holds, tile, memo) for rule in model.hard):
        return "infeasible"
    if any(rule.when is None or evaluate(rule.when, tile, memo) for rule in model.undecided):
        return "unknown"
    return "fits" if all(evaluate(rule.holds, tile, memo) for rule in model.soft) else "spills"


def binding_of(model: Model, tile: Mapping[str, int], memo: Memo | None = None) -> str | None:
    """The judged rule with the least slack, the first in rule order on a tie; None where none has slack."""
    memo = {} if memo is None else memo
    judged = (r for r in model.rules if r.has_slack and (r.when is None or evaluate(r.when, tile, memo)))
    slacks = [(s, rule.id) for rule in judged if (s := slack(rule, tile, memo)) is not None]
    return min(slacks, key=lambda pair: pair[0])[1] if slacks else None


def slack(rule: Rule, tile: Mapping[str, int], memo: Memo | None = None) -> Fraction | None:
    """``(limit - value) / limit`` as an exact fraction; None for rules without slack or with no known limit."""
    if not rule.has_slack or rule.limit is None:
        return None
    limit = int(evaluate(rule.limit, tile, memo))
    return Fraction(limit - int(evaluate(rule.value, tile, memo)), limit) if limit else None


def _report(rule: Rule, tile: Mapping[str, int], memo: Memo) -> RuleReport:
    common = {"id": rule.id, "hard": rule.hard, "unit": rule.unit, "source": rule.source}
    if rule.value.is_bool:
        ok = bool(evaluate(rule.value, tile, memo))
        formula = symbolic(rule.value)
        shown = numeric(rule.value, tile, expand=False)
        detail = f"{shown} is {'true' if ok else 'false'}"
        return RuleReport(**common, ok=ok, value=None, limit=None, slack=None, formula=formula, detail=detail)
    value = int(evaluate(rule.value, tile, memo))
    body = _formula(rule)
    if rule.limit is None:
        detail = f"not judged: {rule.unknown}"
        return RuleReport(**common, ok=None, value=value, limit=None, slack=None, formula=body, detail=detail)
    limit = int(evaluate(rule.limit, tile, memo))
    fraction = slack(rule, tile, memo)
    holds = bool(evaluate(rule.test, tile, memo))
    judged = rule.when is None or bool(evaluate(rule.when, tile, memo))
    report = RuleReport(
        **common,
        ok=holds if judged else None,
        value=value,
        limit=limit,
        slack=None if fraction is None else float(fraction),
        formula=f"{body} {_RELATION_SIGN[rule.relation]} {symbolic(rule.limit)}",
        detail=_detail(rule, tile, value, limit, holds),
    )
    if not judged:
        report.detail = f"not judged, since an earlier limit is passed already ({report.detail})"
    return report


def _formula(rule: Rule) -> str:
    written_out = symbolic(rule.value, expand=True)
    return written_out if len(written_out) <= _LONG else symbolic(rule.value)


def _detail(rule: Rule, tile: Mapping[str, int], value: int, limit: int, holds: bool) -> str:
    if rule.note and not holds:
        return rule.note
    unit = f" {rule.unit}" if rule.unit else ""
    numbers = numeric(rule.value, tile)
    if len(numbers) > _LONG:  # then by the values of its named parts
        body = rule.value.args[0] if isinstance(rule.value, Named) else rule.value
        numbers = numeric(body, tile, expand=False)
    work = f"{numbers} = " if numbers != str(value) and len(numbers) <= _LONG else ""
    sign = (_RELATION_SIGN if holds else _BROKEN_SIGN)[rule.relation]
    return f"{work}{value}{unit} {sign} {limit}{unit}"
