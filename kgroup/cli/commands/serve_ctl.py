"""`kgroup serve-ctl`: kill nodes, start them again and move coordinators in a running `kgroup serve`."""

import json
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any, Final

import typer

from kgroup.cli.shell.example import Example
from kgroup.cli.shell.section import Section, option
from kgroup.errors import InputError
from kgroup.net.serve.control import send_command

EXAMPLES: Final = (
    Example("Kill node 2 and see who leads then", "kgroup serve-ctl kill-node 2"),
    Example("Start it again", "kgroup serve-ctl start-node 2"),
    Example("Make node 3 the coordinator of a group", "kgroup serve-ctl move-coordinator orders-app 3"),
    Example("Nodes, topics and groups of the serve on port 9192", "kgroup serve-ctl --port 9192 state"),
)


class Action(StrEnum):
    """What can be done to a running cluster."""

    KILL_NODE = "kill-node"
    START_NODE = "start-node"
    MOVE_COORDINATOR = "move-coordinator"
    STATE = "state"


_ARGUMENTS: Final[dict[Action, tuple[tuple[str, Callable[[str], Any]], ...]]] = {
    Action.KILL_NODE: (("node", int),),
    Action.START_NODE: (("node", int),),
    Action.MOVE_COORDINATOR: (("group", str), ("node", int)),
    Action.STATE: (),
}


def serve_ctl(
    *,
    action: Annotated[
        Action, typer.Argument(metavar="ACTION", help="kill-node, start-node, move-coordinator or state.")
    ],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ARGUMENT", help="NODE, or GROUP NODE for move-coordinator.", show_default=False
        ),
    ] = None,
    port: Annotated[
        int,
        option(
            "--port",
            metavar="PORT",
            help="Port of the first node of the serve that is meant.",
            section=Section.SOURCE,
            show_default=True,
        ),
    ] = 9092,
) -> None:
    """Kill nodes and move coordinators in a running serve.

    Prints the cluster's state as JSON after what was asked for has happened.
    """
    command = {"command": str(action)} | _named(action, arguments or [])
    print(json.dumps(send_command(port, command), indent=2))


def _named(action: Action, given: list[str]) -> dict[str, Any]:
    expected = _ARGUMENTS[action]
    if len(given) != len(expected):
        usage = " ".join([action, *(name.upper() for name, _ in expected)])
        raise InputError(f"give serve-ctl {usage}")
    named = {}
    for (name, kind), text in zip(expected, given, strict=True):
        try:
            named[name] = kind(text)
        except ValueError:
            raise InputError(f"serve-ctl {action}: {text!r} is not a {name} number") from None
    return named
