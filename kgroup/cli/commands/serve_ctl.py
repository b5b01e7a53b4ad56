"""`kgroup serve-ctl`: kill and restart nodes and move coordinators of a running `kgroup serve`."""

import getpass
import json
import secrets
import sys
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any, Final

import typer

from kgroup.broker.security.credentials import user_line
from kgroup.broker.security.scram import SCRAM_HASHES, ScramCredential
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.section import Section, option
from kgroup.errors import InputError, nearest_or_all
from kgroup.net.connect.properties import is_utf_8
from kgroup.net.serve.control import send_command

EXAMPLES: Final = (
    Example("Kill node 2 and see which nodes lead then", "kgroup serve-ctl kill-node 2"),
    Example("Start it again", "kgroup serve-ctl start-node 2"),
    Example("Make node 3 the coordinator of a group", "kgroup serve-ctl move-coordinator orders-app 3"),
    Example("Let alice log in: she types her password", "kgroup serve-ctl user-line alice >>users"),
    Example("Nodes, topics and groups of the serve on port 9192", "kgroup serve-ctl --port 9192 state"),
)


class Action(StrEnum):
    """The actions on a running cluster."""

    KILL_NODE = "kill-node"
    START_NODE = "start-node"
    MOVE_COORDINATOR = "move-coordinator"
    STATE = "state"
    USER_LINE = "user-line"


_ARGUMENTS: Final[dict[Action, tuple[tuple[str, Callable[[str], Any]], ...]]] = {
    Action.KILL_NODE: (("node", int),),
    Action.START_NODE: (("node", int),),
    Action.MOVE_COORDINATOR: (("group", str), ("node", int)),
    Action.STATE: (),
}
_MECHANISM: Final = "SCRAM-SHA-512"
_ITERATIONS: Final = 8192
_SALT_BYTES: Final = 16


def serve_ctl(
    *,
    action: Annotated[
        Action,
        typer.Argument(metavar="ACTION", help="kill-node, start-node, move-coordinator, state or user-line."),
    ],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ARGUMENT",
            help="NODE, or GROUP NODE for move-coordinator, or USER [MECHANISM] for user-line.",
            show_default=False,
        ),
    ] = None,
    port: Annotated[
        int,
        option(
            "--port",
            metavar="PORT",
            help="Port of the first node of the kgroup serve to control.",
            section=Section.SOURCE,
            show_default=True,
        ),
    ] = 9092,
) -> None:
    """Kill nodes and move coordinators in a running serve.

    Prints the cluster's state as JSON once the request has taken effect. user-line prints a line for the
    file of serve --users, and needs no running serve: it reads the password from the terminal or from
    standard input.
    """
    if action is Action.USER_LINE:
        print(_user_line(arguments or []))
        return
    command = {"command": str(action)} | _named(action, arguments or [])
    print(json.dumps(send_command(port, command), indent=2))


def _user_line(given: list[str]) -> str:
    """The line of a user, whose password is read and not kept."""
    if len(given) not in (1, 2) or not given[0]:
        raise InputError("give serve-ctl user-line USER [MECHANISM]")
    mechanism = given[1].upper() if len(given) > 1 else _MECHANISM
    if mechanism not in SCRAM_HASHES:
        known = nearest_or_all(mechanism, SCRAM_HASHES)
        raise InputError(f"serve-ctl user-line: {mechanism!r} is not a mechanism; {known}")
    password = _password(given[0])
    salt = secrets.token_bytes(_SALT_BYTES)
    credential = ScramCredential.of_password(mechanism, password, salt, _ITERATIONS)
    return user_line(given[0], mechanism, credential)


def _password(user: str) -> str:
    """A password that is typed twice without being shown, or the first line of standard input."""
    if sys.stdin.isatty():
        password = getpass.getpass(f"Password of {user}: ")
        if getpass.getpass("Once more: ") != password:
            raise InputError("serve-ctl user-line: those were two passwords")
    else:
        password = sys.stdin.readline().rstrip("\r\n")
    if not password or not is_utf_8(password):
        why = "not UTF-8" if password else "empty"
        raise InputError(f"serve-ctl user-line: the password is {why}")
    return password


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
