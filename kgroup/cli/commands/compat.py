"""`kgroup compat`: kafka-consumer-groups under another name."""

import sys
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from kgroup.cli.compat.checks import check
from kgroup.cli.compat.failure import ToolError, print_failure
from kgroup.cli.compat.given import Given, ToolUsageError, parse
from kgroup.cli.shell.app import CommandHelp
from kgroup.cli.shell.example import Example

EXAMPLES: Final = (
    Example(
        "In place of kafka-consumer-groups --list", "kgroup compat --bootstrap-server localhost:9092 --list"
    ),
    Example(
        "Lag of one group, as scripts expect it",
        "kgroup compat --bootstrap-server localhost:9092 --describe --group billing",
    ),
    Example("A regular expression of a consumer group", "kgroup compat --validate-regex 'orders-.*'"),
)
TOOL_VERSION: Final = "4.3.1"
"""The version of the tool whose output this is."""

_DEFAULT_TIMEOUT_MS: Final = "5000"


class CompatCommand(CommandHelp):
    """Takes every word as it is, but for a call for help: the tool's options are not kgroup's."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Nothing but --help is an option to typer."""
        if args[:1] not in (["--help"], ["-h"]):
            args = ["--", *args]
        return super().parse_args(ctx, args)


COMMAND_CLASS: Final = CompatCommand


def compat(
    *,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="OPTION", help="Options of kafka-consumer-groups, as it takes them."),
    ] = None,
) -> None:
    """Do and print what kafka-consumer-groups does.

    Scripts keep working when you replace kafka-consumer-groups with "kgroup compat": it takes the options
    of the tool of Kafka 4.3 and prints its headings, widths and messages. The exit status is the same too:
    0 even for a group that does not exist. Only the first line of a Java stack trace is printed, and no
    usage text. If the cluster cannot be reached, or refuses the login, kgroup's own line says why, and the
    status is 1.
    """
    try:
        given = parse(arguments or ())
        if given.has("version"):
            print(TOOL_VERSION)
            return
        _run(given)
    except ToolUsageError as error:
        sys.stdout.flush()
        print(error, file=sys.stderr)
        raise typer.Exit(1) from None
    except ToolError as failure:
        print_failure(failure)


def _run(given: Given) -> None:
    action = check(given)
    if action == "validate-regex":
        from kgroup.cli.compat.validate_regex import validate_regex

        print(validate_regex(given.one("validate-regex") or ""))
        return
    from kgroup.cli.compat.actions import run
    from kgroup.net.admin.cluster import Cluster
    from kgroup.net.connect.properties import ConnectionOptions

    timeout = given.one("timeout") or _DEFAULT_TIMEOUT_MS
    if not timeout.isdecimal():
        why = f"Cannot parse argument '{timeout}' of option timeout"
        raise ToolError(why, f"joptsimple.OptionArgumentConversionException: {why}")
    config = given.one("command-config")
    connection = ConnectionOptions(
        bootstrap_servers=given.one("bootstrap-server") or "",
        command_config=None if config is None else Path(config),
        properties=(f"request.timeout.ms={timeout}",),
    )
    with Cluster(connection) as cluster:
        run(action, given, cluster)
