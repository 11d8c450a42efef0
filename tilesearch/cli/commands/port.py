"""`tilesearch port`."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tilesearch.cli.command import Reply, command
from tilesearch.cli.problem import ProblemOptions, language_hints
from tilesearch.errors import InputError, Issue

if TYPE_CHECKING:
    from tilesearch.specs.devices import Device

_STATUS = {"fits": 0, "spills": 0, "infeasible": 1, "unknown": 3}


@command
def port(
    given: ProblemOptions,
    config: Annotated[str, typer.Option("--config", metavar="CONFIG", help="""As JSON: '{"BLOCK_M": 128, …}'.""")],
    origin: Annotated[str, typer.Option("--from", metavar="DEVICE", help="Where the configuration was tuned.")],
    target: Annotated[str, typer.Option("--to", metavar="DEVICE", help="Where it shall run.")],
) -> Reply:
    """Carry a configuration to another device: what breaks, and the best that fits."""
    from tilesearch.api.port import port_problem
    from tilesearch.report.languages import port_report
    from tilesearch.report.words import subject

    devices = _named(origin, "--from"), _named(target, "--to")
    with replace(given, device=given.device or origin).opened() as problem:
        source, moved = (problem.replace(device=device) for device in devices)
        answer = port_problem(config_of(config), source, moved)
        about = subject(problem.op.model_dump(exclude_none=True), moved.device.name, problem.kernel.language)
        hints = language_hints(problem)
    return Reply(port_report(answer, about, hints), _STATUS[answer.target.verdict])


def _named(name: str, option: str) -> Device:
    """The device that an option names. Raises `InputError`, with the option where no file is at fault."""
    from tilesearch.specs.devices import load_device

    try:
        return load_device(name)
    except InputError as error:
        raise InputError([i if i.source else replace(i, where=i.where or option) for i in error.issues]) from None


def config_of(text: str) -> Any:
    """The configuration that an option holds. Raises `InputError` for what is no JSON object."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise InputError(Issue(f"is not JSON: {error}", "--config", hint="""'{"BLOCK_M": 128, …}'""")) from None
    if not isinstance(found, dict):
        raise InputError(Issue("an object of knobs is wanted", "--config", hint="""'{"BLOCK_M": 128, …}'"""))
    return found
