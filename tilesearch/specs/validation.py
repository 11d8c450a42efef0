"""Reading TOML and JSON and checking it against a model, with every fault reported at once and in the user's words.

`load_toml`, `load_json` and `validate` are used for every file that users write. None lets a traceback of a
reader or of pydantic through: what is wrong comes out as one `InputError` of `Issue`s.
"""

from __future__ import annotations

import gzip
import json
import tomllib
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from tilesearch.errors import InputError, Issue, suggest
from tilesearch.specs._schema import Loc, Place, resolve

M = TypeVar("M", bound=BaseModel)


def load_toml(path: str | Path) -> dict[str, Any]:
    """Read a TOML file. Raises `InputError` for a file that is missing, unreadable, not text or not TOML."""
    source = str(path)
    text = load_text(path, "TOML")
    try:
        return tomllib.loads(text)
    except ValueError as error:  # also what int() says of a number with thousands of digits
        raise InputError(Issue(f"is not valid TOML: {error}", source=source)) from None
    except RecursionError:
        raise InputError(Issue("is not valid TOML: nested too deeply", source=source)) from None


def load_json(path: str | Path) -> Any:
    """Read a JSON file, keys in the file's order. Raises `InputError` as `load_toml` does.

    What JSON itself does not have is refused: NaN, infinities and a key that stands twice in one object.
    """
    source = str(path)
    text = load_text(path, "JSON")
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_without_repeats)
    except ValueError as error:  # also what int() says of a number with thousands of digits
        raise InputError(Issue(f"is not valid JSON: {error}", source=source)) from None
    except RecursionError:
        raise InputError(Issue("is not valid JSON: nested too deeply", source=source)) from None


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is not a JSON number")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for key, value in pairs:
        if key in table:
            raise ValueError(f"the key {key!r} stands twice in one object")
        table[key] = value
    return table


def load_text(path: str | Path, language: str) -> str:
    """The text of a file that holds `language`, compressed by gzip or not.

    Raises `InputError` for one that is absent or no text.
    """
    source = str(path)
    try:
        raw = Path(path).read_bytes()
        text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8")
    except FileNotFoundError:
        raise InputError(Issue("no such file", source=source)) from None
    except IsADirectoryError:
        raise InputError(Issue(f"is a directory, a {language} file is wanted", source=source)) from None
    except UnicodeDecodeError:
        raise InputError(Issue(f"is not a text file (UTF-8), a {language} file is wanted", source=source)) from None
    except (OSError, ValueError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(Issue(f"cannot be read: {reason}", source=source)) from None
    return text.removeprefix("\ufeff")


def validate(model: type[M], data: Mapping[str, Any], source: str = "", prefix: str = "") -> M:
    """Make an instance of `model` of `data`, or raise one `InputError` with every issue.

    `source` is the file that the data come from and `prefix` the dotted key under which they stand there;
    both only serve the messages.
    """
    issues = find_issues(model, data, source, prefix)
    if isinstance(issues, BaseModel):
        return issues
    raise InputError(issues)


def find_issues(model: type[M], data: Mapping[str, Any], source: str = "", prefix: str = "") -> M | list[Issue]:
    """As `validate`, but return the issues, for callers that collect them from several places."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        return issues_of(error, model, source, prefix, data)


def issues_of(
    error: ValidationError,
    model: type[BaseModel],
    source: str = "",
    prefix: str = "",
    data: Mapping[str, Any] | None = None,
) -> list[Issue]:
    """Translate a pydantic error on `model` into issues, in the order in which pydantic found them.

    Given the `data`, an issue inside a value that stands for a whole table is named by the key of that value.
    """
    merged: dict[tuple[str, object], Issue] = {}
    for number, details in enumerate(error.errors(include_url=False)):
        place = resolve(model, details["loc"])
        if data is not None:
            place = replace(place, key=_within(data, place.key))
        if details["type"] == "faults":
            where = _where(prefix, place)
            for part in details["ctx"]["faults"]:
                issue = Issue(part.message, ".".join(p for p in (where, part.key) if p), source, part.hint)
                merged[issue.where, (number, part)] = issue
            continue
        issue = _issue(details, place, source, prefix)
        # A value that may have several types is reported once for each; that is one fault to its author.
        slot = (issue.where, None if place.in_union else number)
        if slot in merged:
            first = merged[slot]
            issue = replace(first, message=f"{first.message}; or: {issue.message}", hint=first.hint or issue.hint)
        merged[slot] = issue
    return list(dict.fromkeys(merged.values()))


@dataclass(frozen=True)
class Fault:
    """What a model's own check found; `key` is a dotted key below the place where the check stands."""

    message: str
    hint: str = ""
    key: str = ""


def faults(found: Sequence[Fault]) -> PydanticCustomError:
    """What a validator of a model raises: messages and hints that reach the user as they are."""
    # The texts go through the context because pydantic would take braces in them for a template.
    text = "; ".join(part.message for part in found)
    return PydanticCustomError("faults", "{text}", {"text": text, "faults": list(found)})


def fault(message: str, hint: str = "", key: str = "") -> PydanticCustomError:
    """As `faults`, for a single one."""
    return faults([Fault(message, hint, key)])


def dotted(*parts: str | int) -> str:
    """A dotted key as TOML writes it: a part with a dot in it is quoted, a list position is bracketed."""
    text = ""
    for part in parts:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part:
            text += ("." if text else "") + (part if _is_bare(part) else f'"{part}"')
    return text


def _is_bare(key: str) -> bool:
    return key.replace("_", "").replace("-", "").isalnum() and key.isascii()


def _issue(details: ErrorDetails, place: Place, source: str, prefix: str) -> Issue:
    message, hint = _explain(details, place)
    where = _where(prefix, place)
    if details["type"].startswith("union_tag"):
        where = ".".join(part for part in (where, str(details["ctx"]["discriminator"]).strip("'")) if part)
    return Issue(message, where=where, source=source, hint=hint)


def _where(prefix: str, place: Place) -> str:
    return ".".join(part for part in (prefix, dotted(*place.key)) if part)


def _within(data: object, key: Loc) -> Loc:
    """As much of `key` as can stand in the data: not the parts of a table that is written as a bare value."""
    here = data
    for depth, part in enumerate(key):
        if isinstance(here, Mapping):
            here = here.get(str(part))
        elif isinstance(here, list | tuple) and isinstance(part, int) and part < len(here):
            here = here[part]
        else:
            return key[:depth]
    return key


_KINDS = {
    "int": "an integer",
    "float": "a number",
    "string": "a string",
    "bool": "true or false",
    "list": "a list",
    "tuple": "a list",
    "set": "a list",
    "dict": "a table",
    "model": "a table",
    "mapping": "a table",
}

_COMPARISONS = {
    "greater_than": ("gt", "must be greater than"),
    "greater_than_equal": ("ge", "must be at least"),
    "less_than": ("lt", "must be less than"),
    "less_than_equal": ("le", "must be at most"),
    "multiple_of": ("multiple_of", "must be a multiple of"),
}


def _explain(details: ErrorDetails, place: Place) -> tuple[str, str]:
    """The message and the hint for one pydantic error."""
    kind, value, context = details["type"], details["input"], details.get("ctx", {})
    if kind == "extra_forbidden":
        return "unknown key", suggest(str(place.key[-1]), place.siblings) if place.siblings else ""
    if kind == "missing":
        return "is required and absent", place.absent_hint
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return _explain_tag(details, place)
    if kind in ("literal_error", "enum"):
        return _explain_choice(value, place, str(context.get("expected", "")))
    if kind in _COMPARISONS:
        name, words = _COMPARISONS[kind]
        return f"{words} {context[name]}, got {shown(value)}", ""
    if kind in ("value_error", "assertion_error"):
        return str(context.get("error", details["msg"])), ""
    for name, words in _KINDS.items():
        if kind in (f"{name}_type", f"{name}_parsing", f"{name}_from_float", f"{name}_attributes_type"):
            return f"{words} is wanted, got {shown(value)}", ""
    return f"{_lower_first(details['msg'])}, got {shown(value)}", ""


def _explain_choice(value: object, place: Place, expected: str) -> tuple[str, str]:
    hint = suggest(value, place.choices) if place.choices and isinstance(value, str) else ""
    if place.in_union:
        return f"{expected} is wanted", hint
    if hint:
        return f"unknown value {value!r}", hint
    return f"must be {expected}, got {shown(value)}", ""


def _explain_tag(details: ErrorDetails, place: Place) -> tuple[str, str]:
    """A discriminated union whose discriminating key is absent or names no member."""
    context = details["ctx"]
    tags = [tag.strip().strip("'") for tag in str(context.get("expected_tags", "")).split(",") if tag.strip()]
    tags = tags or list(place.choices)
    key = str(context["discriminator"]).strip("'")
    if details["type"] == "union_tag_not_found":
        return "is required and absent", f"allowed: {', '.join(tags)}" if tags else ""
    tag = str(context["tag"])
    return f"unknown {key} {tag!r}", suggest(tag, tags)


def shown(value: object) -> str:
    """A value as a message shows it: short, and with strings in quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, int) and abs(value) >= 10**40:
        return "a number of more than 40 digits"
    if isinstance(value, list | tuple) and len(value) > 8:
        return f"a list of {len(value)}"
    text = repr(list(value) if isinstance(value, tuple) else value)
    return text if len(text) <= 60 else text[:57] + "..."


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
