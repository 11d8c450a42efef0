"""Following the location of a pydantic error through the types of a model.

Pydantic's locations name keys, list positions and, for a union, the member that was tried. To suggest the
nearest valid key one must know which model a location leads to, and which of its parts stand in the file.
"""

from __future__ import annotations

import enum
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

Loc = tuple[int | str, ...]


@dataclass(frozen=True)
class Place:
    """Where an error stands: the key as the file has it, and what may stand there.

    `siblings` are the valid keys of the table that holds it, `choices` the values it may take if it is a
    choice among strings, `absent_hint` what to write if it is not known, and `in_union` whether pydantic
    tried several types for it (and so reports one value several times).
    """

    key: Loc
    siblings: list[str] = field(default_factory=list)
    choices: list[str] = field(default_factory=list)
    absent_hint: str = ""
    in_union: bool = False


def resolve(model: type[BaseModel], loc: Loc) -> Place:
    """Follow `loc` from `model`, dropping the parts of it that only name the member of a union."""
    here: list[Any] = [model]
    key: list[int | str] = []
    siblings: list[str] = []
    in_union = False
    for part in loc:
        chosen = [t for t in here if part in _names(t)] if len(here) > 1 else []
        if chosen:
            here, in_union = chosen, True
            continue
        following = _step(here, part)
        if following is None and not _may_be_key(here, part):
            in_union = in_union or len(here) > 1
            continue
        siblings = _keys(here)
        key.append(part)
        here = following or []
        in_union = False
    hint = next((t.absent_hint for t in here if hasattr(t, "absent_hint")), "")
    return Place(tuple(key), siblings, _choices(here), hint, in_union)


def _members(annotation: Any) -> list[Any]:
    """The types that `annotation` may mean: unions and `Annotated` are opened, None is dropped."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _members(get_args(annotation)[0])
    if origin is Union or origin is types.UnionType:
        return [m for arg in get_args(annotation) for m in _members(arg)]
    if hasattr(annotation, "__value__"):  # a `type X = ...` alias
        return _members(annotation.__value__)
    return [] if annotation is types.NoneType else [annotation]


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _may_be_key(here: list[Any], part: int | str) -> bool:
    """Whether `part`, no valid step from `here`, is a wrong key of the file and not a label of pydantic's."""
    return isinstance(part, str) and "[" not in part and any(_is_model(t) for t in here)


def _fields(model: type[BaseModel]) -> dict[str, Any]:
    if not model.__pydantic_complete__:  # it names a class that was defined after it
        model.model_rebuild(raise_errors=False)
    return {info.alias or name: info.annotation for name, info in model.model_fields.items()}


def _keys(here: list[Any]) -> list[str]:
    return list(dict.fromkeys(key for t in here if _is_model(t) for key in _fields(t)))


def _step(here: list[Any], part: int | str) -> list[Any] | None:
    """The types one step below `here`, or None if `part` is no key or position there."""
    found: list[Any] = []
    known = False
    for annotation in here:
        arguments = get_args(annotation)
        origin = get_origin(annotation)
        if _is_model(annotation) and part in (fields := _fields(annotation)):
            found += _members(fields[str(part)])
            known = True
        elif origin in (dict, Mapping) and part != "[key]":
            found += _members(arguments[1])
            known = True
        elif origin in (list, tuple, Sequence) and isinstance(part, int):
            items = arguments if origin is tuple and Ellipsis not in arguments else arguments[:1] * (part + 1)
            found += _members(items[part]) if part < len(items) else []
            known = True
    return found if known else None


def _names(annotation: Any) -> set[str]:
    """The labels by which a location may name this member of a union: its class or its tag."""
    if not _is_model(annotation):
        return {str(getattr(annotation, "__name__", annotation)), str(annotation)}
    tags = {
        value
        for info in annotation.model_fields.values()
        if get_origin(info.annotation) is Literal
        for value in get_args(info.annotation)
        if isinstance(value, str)
    }
    return {annotation.__name__, *tags}


def _choices(here: list[Any]) -> list[str]:
    choices: list[str] = []
    for annotation in here:
        if get_origin(annotation) is Literal:
            choices += [value for value in get_args(annotation) if isinstance(value, str)]
        elif isinstance(annotation, type) and issubclass(annotation, enum.Enum):
            choices += [str(member.value) for member in annotation]
    return choices
