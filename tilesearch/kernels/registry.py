"""The kernel languages by name, and what is common to all of them: users' rules and dropped rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tilesearch.errors import InputError, Issue, suggest
from tilesearch.kernels import ascend, cutlass, generic, tilelang, triton
from tilesearch.kernels.base import Context
from tilesearch.rules.expr import TRUE, Const
from tilesearch.rules.model import Model, Rule
from tilesearch.rules.parse import Ratio, Value, parse_rule, shorten

LANGUAGES: dict[str, Callable[[Context], Model]] = {
    "generic": generic.build,
    "triton": triton.build,
    "tilelang": tilelang.build,
    "cutlass": cutlass.build,
    "ascend": ascend.build,
}
"""Language to builder: the one place where a new language is registered."""


def build_model(context: Context) -> Model:
    """The model of a problem: its language's variables, metrics and rules, plus the user's rules.

    Raises `InputError` with every fault of the [rules] and [space] tables.
    """
    issues = _foreign(context)
    if issues:
        raise InputError(issues)
    model = LANGUAGES[context.kernel.language](context)
    rules = _chosen(model, context, issues)
    rules += _users_rules(model, context, issues)
    if issues:
        raise InputError(issues)
    return replace(model, rules=rules)


def _foreign(context: Context) -> list[Issue]:
    """Keys that the language has no use for: they would be ignored without a word."""
    kernel = context.kernel
    if kernel.maxnreg is not None and kernel.language != "triton":
        message = f"maxnreg is an option of triton, this is {kernel.language}"
        return [Issue(message, "kernel.maxnreg", context.source)]
    if kernel.language != "generic":
        if context.rules.preset == "default":
            return []
        message = f"the preset {context.rules.preset} belongs to the generic language, this one is {kernel.language}"
        return [Issue(message, "rules.preset", context.source)]
    given = [name for name in ("version", "variant") if getattr(kernel, name) is not None]
    hint = f"languages that have them: {', '.join(name for name in LANGUAGES if name != 'generic')}"
    return [Issue(f"the generic language has no {name}s", f"kernel.{name}", context.source, hint) for name in given]


def _chosen(model: Model, context: Context, issues: list[Issue]) -> tuple[Rule, ...]:
    """The language's rules without those dropped, and with the optional ones that are required."""
    optional = {rule.id: rule for rule in model.optional}
    required = []
    for number, name in enumerate(context.rules.require):
        if name in optional:
            required.append(optional[name])
            continue
        where = f"rules.require[{number}]"
        hint = "every rule listed by `tilesearch check` is enforced already"
        hint = suggest(name, list(optional)) if optional else hint
        issues.append(Issue(f"there is no optional rule {name!r} here", where, context.source, hint))
    ids = [rule.id for rule in (*model.rules, *required)]
    for number, name in enumerate(context.rules.off):
        if name not in ids:
            where = f"rules.off[{number}]"
            issues.append(Issue(f"there is no rule {name!r} here", where, context.source, suggest(name, ids)))
    return tuple(rule for rule in (*model.rules, *required) if rule.id not in context.rules.off)


def rule_names(model: Model) -> dict[str, Value]:
    """What a user's rule may name: variables and their aliases, constants, metrics."""
    names: dict[str, Value] = {}
    names.update({name: Const(value, name) for name, value in model.constants.items()})
    names.update({m.name: m.expr for m in model.metrics.values() if m.expr is not None})
    names.update({name: Ratio(*pair) for name, pair in model.fractions.items()})
    for variable in model.variables:
        names[variable.name] = variable.expr
        for alias in variable.aliases:
            names.setdefault(alias, variable.expr)
            names.setdefault(alias.upper(), variable.expr)
        names.setdefault(variable.name.upper(), variable.expr)
    return names


TIME_METRICS = ("time_us", "time_low_us", "time_high_us")
"""Float metrics: rules on them are filters after the engines."""


FLOAT_METRICS = (*TIME_METRICS, "time_sustained_us", "dram_bytes", "dram_low_bytes", "dram_high_bytes", "l2_bytes")
FLOATS = "a model of time gives it: rules may name time_us, time_low_us and time_high_us, and --rank time orders by it"


def timed_rules(texts: Sequence[str]) -> dict[int, str]:
    """The users' rules that name a time, by their number."""
    return {n: text for n, text in enumerate(texts, start=1) if re.search(rf"\b({'|'.join(TIME_METRICS)})\b", text)}


def _users_rules(model: Model, context: Context, issues: list[Issue]) -> tuple[Rule, ...]:
    names = rule_names(model)
    reasons = dict.fromkeys(FLOAT_METRICS, FLOATS)
    reasons |= {m.name: m.reason for m in model.metrics.values() if m.expr is None}
    rules = []
    timed = timed_rules(context.rules.extra)
    for number, text in enumerate(context.rules.extra, start=1):
        if number in timed:
            continue
        where = f"rules.extra[{number - 1}]"
        try:
            tree = parse_rule(text, names, model.domains, where, context.source)
        except InputError as error:
            issues.extend(with_reason(issue, reasons) for issue in error.issues)
            continue
        rules.append(
            Rule(
                id=f"user.{number}",
                sentence=shorten(text),
                value=tree,
                limit=TRUE,
                source=context.source or "the user",
            )
        )
    return tuple(rules)


def with_reason(issue: Issue, reasons: Mapping[str, str]) -> Issue:
    """An issue about a name that is missing, with the reason as its hint where one is known."""
    missing = next((name for name in reasons if f"there is no {name!r}" in issue.message), None)
    return issue if missing is None else replace(issue, hint=reasons[missing])
