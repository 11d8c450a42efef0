"""What makes a command of a function: groups of options, output formats, and the reply."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass, replace
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer

from tilesearch.report import Format, Report


@dataclass(frozen=True)
class Output:
    """How the user wants the answer: its format, and whether anything but the answer is printed."""

    format: Format = Format.TABLE
    quiet: bool = False


@dataclass(frozen=True)
class Reply:
    """What a command gives back: an answer to print, and the exit status."""

    report: Report
    status: int = 0


@dataclass(frozen=True)
class Printable:
    """A reply and how to print it."""

    reply: Reply
    output: Output


def _version(wanted: bool) -> None:
    if wanted:
        from tilesearch import __version__

        typer.echo(f"tilesearch {__version__}")
        raise typer.Exit


@dataclass(frozen=True)
class OutputOptions:
    """The options that stand before or after any command."""

    format: Annotated[Format | None, typer.Option("--format", help="How to print the answer [default: table].")] = None
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the answer alone: no progress, no notes.")] = False
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_version, help="Print the version and stop.")
    ] = False


def command(function: Callable[..., Reply]) -> Callable[..., Printable]:
    """Make `function` a command.

    A parameter whose type is a dataclass of options becomes one option for each of its fields; one of type
    `Output` gets what the user chose before or after the command.
    """
    return _expanded(function, lambda reply, output: Printable(reply, output))


def group(function: Callable[..., Reply | None]) -> Callable[..., Printable | None]:
    """Make `function` what runs before the commands of a group; its reply, if any, is the answer."""
    return _expanded(function, lambda reply, output: None if reply is None else Printable(reply, output))


def _expanded(function: Callable[..., Any], finish: Callable[[Any, Output], Any]) -> Callable[..., Any]:
    hints = get_type_hints(function, include_extras=True)
    own = signature(function).parameters
    spread = {name: hint for name, hint in hints.items() if _is_group(hint) and name in own}

    def wrapper(context: typer.Context, **given: Any) -> Any:
        output = _remember(context, _take(OutputOptions, given))
        values: dict[str, Any] = {name: _take(kind, given) for name, kind in spread.items()}
        values |= {name: output for name in own if hints[name] is Output}
        values |= {name: context for name in own if hints[name] is typer.Context}
        return finish(function(**values, **given), output)

    options = [p for kind in (*spread.values(), OutputOptions) for p in _parameters(kind)]
    plain = [
        p.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY)
        for name, p in own.items()
        if name not in spread and hints[name] not in (Output, typer.Context)
    ]
    context = Parameter("context", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    parameters = [context, *plain, *options]
    wrapper.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {p.name: p.annotation for p in parameters}
    wrapper.__name__, wrapper.__doc__ = function.__name__, function.__doc__
    return wrapper


def _is_group(hint: Any) -> bool:
    return isinstance(hint, type) and is_dataclass(hint) and hint is not Output


def _parameters(kind: Any) -> Iterator[Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    for field in fields(kind):
        yield Parameter(field.name, Parameter.KEYWORD_ONLY, default=_default(field), annotation=hints[field.name])


def _default(field: Field[Any]) -> Any:
    return Parameter.empty if field.default is MISSING else field.default


def _take(kind: Any, given: dict[str, Any]) -> Any:
    return kind(**{field.name: given.pop(field.name) for field in fields(kind)})


def _remember(context: typer.Context, options: OutputOptions) -> Output:
    """The output options given so far, those of this level over those that stood before it."""
    before = context.obj if isinstance(context.obj, Output) else Output()
    output = replace(before, format=options.format or before.format, quiet=options.quiet or before.quiet)
    context.obj = output
    return output


Translation = Mapping[str, str]
"""Dotted key of a problem file to the option that set it."""
