"""Command lines that kafka-consumer-groups 4.3 refuses, in its order and its words."""

import sys
from collections.abc import Iterable
from typing import Final

from kgroup.cli.compat.given import Given, ToolUsageError

ACTIONS: Final = ("list", "describe", "delete", "reset-offsets", "delete-offsets", "validate-regex")
_SCENARIOS: Final = (
    "to-offset",
    "to-datetime",
    "by-duration",
    "to-earliest",
    "to-latest",
    "to-current",
    "shift-by",
    "from-file",
)
_WHAT_IT_IS: Final = (
    "This tool helps to list all consumer groups, describe a consumer group, delete consumer group info, or"
    " reset consumer group offsets."
)
_NEITHER_EXECUTE_NOR_DRY_RUN: Final = (
    "WARN: No action will be performed as the --execute option is missing. In version 5.0, this command will"
    " require either --dry-run or --execute to be specified. You should add the --dry-run option explicitly"
    " if you are scripting this command and want to keep the current default behavior without prompting."
)


def check(given: Given) -> str:
    """The one action that was given. Raises ToolUsageError for what the tool refuses.

    As the tool does, warns on standard error of a reset that says neither --execute nor --dry-run, and that
    before it looks at the rest.
    """
    if given.has("help") or not given.options:
        raise ToolUsageError(_WHAT_IT_IS)
    if not given.has("bootstrap-server") and not given.has("validate-regex"):
        raise ToolUsageError('Missing required argument "[bootstrap-server]"')
    _check_describe(given)
    _check_delete(given)
    if given.has("delete-offsets") and not (given.has("group") and given.has("topic")):
        raise ToolUsageError("Option [delete-offsets] takes the following options: [topic], [group]")
    _check_reset(given)
    _refuse(given, "group", ["all-groups", "list"])
    _refuse(given, "topic", ["list", "describe"])
    actions = [name for name in ACTIONS if given.has(name)]
    if len(actions) != 1:
        named = ", ".join(f"--{name}" for name in ACTIONS)
        raise ToolUsageError(f"Command must include exactly one action: {named}")
    return actions[0]


def _check_describe(given: Given) -> None:
    if not given.has("describe"):
        return
    _need_groups(given, "describe")
    if sum(given.has(name) for name in ("members", "offsets", "state")) > 1:
        raise ToolUsageError(
            "Option [describe] takes at most one of these options: [members], [offsets], [state]"
        )
    if given.one("state") is not None:
        raise ToolUsageError("Option [describe] does not take a value for [state]")


def _check_delete(given: Given) -> None:
    if not given.has("delete"):
        return
    _need_groups(given, "delete")
    if given.has("topic"):
        raise ToolUsageError(
            "The consumer does not support topic-specific offset deletion from a consumer group."
        )


def _check_reset(given: Given) -> None:
    if not given.has("reset-offsets"):
        return
    if given.has("dry-run") and given.has("execute"):
        raise ToolUsageError("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
    if not given.has("dry-run") and not given.has("execute"):
        print(_NEITHER_EXECUTE_NOR_DRY_RUN, file=sys.stderr)
    _need_groups(given, "reset-offsets")
    for scenario in _SCENARIOS:
        _refuse(given, scenario, [name for name in _SCENARIOS if name != scenario])


def _need_groups(given: Given, action: str) -> None:
    if not given.has("group") and not given.has("all-groups"):
        raise ToolUsageError(f"Option [{action}] takes one of these options: [all-groups], [group]")


def _refuse(given: Given, name: str, others: Iterable[str]) -> None:
    for other in others:
        if given.has(name) and given.has(other):
            raise ToolUsageError(f'Option "[{name}]" can\'t be used with option "[{other}]"')
