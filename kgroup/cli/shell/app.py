"""The command line: finds the command, runs it, and turns the outcome into an exit status.

A command is one module here with one function of the same name and `EXAMPLES`, and one line in `COMMANDS`.
Only the module of the command that runs is imported.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Annotated, Any, Final, NoReturn

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.exceptions import TyperException

from kgroup.cli.shell.bundle import unbundled
from kgroup.cli.shell.completion import answering_a_shell, script_for
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.say import say
from kgroup.cli.shell.section import Section
from kgroup.cli.shell.usage_error import did_you_mean_one, usage_error_line
from kgroup.errors import InputError, KgroupError
from kgroup.version import __version__

COMMANDS: Final = {
    "advise": "Recommend settings for groups.",
    "assign": "Show which member gets which partition.",
    "commits": "Show every commit of a group.",
    "compat": "Do and print what kafka-consumer-groups does.",
    "config": "Name clusters, for --cluster.",
    "copy-offsets": "Copy groups' offsets to other groups.",
    "deadlines": "Predict when lags break bounds and data is deleted unread.",
    "decode": "Show every record of the offsets topic.",
    "delete": "Delete groups with their offsets.",
    "delete-offsets": "Delete groups' offsets for topics.",
    "demo": "Unpack real log files to try kgroup on.",
    "describe": "Show a group's partitions, members or state.",
    "diff": "Show what changed between two moments of a cluster.",
    "explain": "Explain one group on a page.",
    "feeds": "Show which groups write what other groups read.",
    "find-coordinator": "Show which partition and broker coordinate a group.",
    "fsck": "Check whether a broker will load this offsets topic.",
    "groups": "List groups with their state, members and lag.",
    "history": "Show how far groups were behind in the past.",
    "join": "Join a consumer group as a test member.",
    "lag": "Show how far every group is behind.",
    "lag-report": "Show every group's lag.",
    "ledger": "Show what a group skipped, and what it received twice.",
    "metrics": "Print or serve metrics of lag for Prometheus.",
    "offsets-topic": "Show what fills the offsets topic.",
    "record": "Record what groups do, before compaction erases it.",
    "reenact": "Play a group's past again.",
    "remove-members": "Remove members from classic groups.",
    "replay": "Explain a group's rebalances.",
    "report": "Report what happened to groups, with proof.",
    "reset-offsets": "Reset groups' offsets, with a way back.",
    "serve": "Run Kafka brokers that real clients can use.",
    "serve-ctl": "Kill nodes and move coordinators in a running serve.",
    "simulate": "Simulate brokers and members on a virtual clock.",
    "stuck": "Show what is wrong with groups.",
    "top": "Show the groups that are worst off, live.",
    "watch": "Watch how far groups are behind.",
    "what-if": "Show what other settings would have cost a group.",
}
"""Command -> the first sentence of its help, so that `kgroup --help` imports none of them."""

TASKS: Final = {
    "Lag and trouble": (
        "top",
        "lag",
        "stuck",
        "explain",
        "history",
        "watch",
        "metrics",
        "deadlines",
        "lag-report",
    ),
    "What happened, and why": ("replay", "commits", "what-if", "advise", "ledger", "feeds", "report"),
    "Groups as they are": ("groups", "describe", "diff", "compat", "config"),
    "Logs and coordinators": ("find-coordinator", "offsets-topic", "decode", "fsck", "record"),
    "Changes to groups": ("reset-offsets", "copy-offsets", "delete", "delete-offsets", "remove-members"),
    "Try things out": ("demo", "assign", "join", "serve", "serve-ctl", "simulate", "reenact"),
}
"""The headings under which `kgroup --help` lists the commands, in this order."""

_OTHER_TASKS: Final = "More"

EXIT_STATUS: Final = {
    0: "Done. Also if the reader of a pipe, such as head, stopped early.",
    1: "Failed: one line on standard error says what, where, and what to try.",
    2: "Invalid command line or input file.",
    3: "Done, but --strict, --fail-on or a checker of simulate found what you asked it to fail on.",
    130: "Interrupted from the keyboard.",
}
"""What an exit status says, for every command."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run kgroup with `arguments` (by default the process's) and exit."""
    # typer brings pydantic, which would search every installed package for plugins: 15 ms of each start.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    with answering_a_shell():
        build_app()(args=arguments, prog_name="kgroup")
    sys.exit(0)


def build_app() -> Callable[..., object]:
    """The whole command line as one callable; commands are placeholders until they are called."""
    app = typer.Typer(
        cls=CommandGroup,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_kgroup)
    for name, summary in COMMANDS.items():
        app.command(name, help=summary)(_placeholder)
    return typer.main.get_command(app)


def load_command(name: str) -> Any:  # the command class of the click that typer brings is private
    """The real command: its module is imported, and its examples stand under its help."""
    module = import_module("kgroup.cli.commands." + name.replace("-", "_"))
    app = typer.Typer(
        rich_markup_mode=None,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    function = getattr(module, name.replace("-", "_"))
    command_class = getattr(module, "COMMAND_CLASS", CommandHelp)
    app.command(name, cls=command_class, epilog=_examples_text(module.EXAMPLES))(unbundled(function))
    return typer.main.get_command(app)


_NAMES_WIDTH: Final = 24  # longer ones stand on a line of their own, so that most helps fit one line


class CommandHelp(TyperCommand):
    """A command whose help names arguments as its usage line does, without Python types."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """See typer; errors name this command's help, also those that typer raises without saying where."""
        try:
            parsed: list[str] = super().parse_args(ctx, args)
        except TyperException as error:
            if getattr(error, "ctx", ctx) is None:
                vars(error)["ctx"] = ctx
            raise
        return parsed

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The usage line, with dots behind an argument that may be given again and again."""
        repeated = [
            piece
            for param in self.get_params(ctx)
            if isinstance(param, TyperArgument) and param.nargs == -1
            for piece in param.get_usage_pieces(ctx)
        ]
        pieces: list[str] = super().collect_usage_pieces(ctx)
        return [f"{piece.removesuffix('...')}..." if piece in repeated else piece for piece in pieces]

    def argument_records(self, ctx: Any) -> list[tuple[str, str]]:
        """Each argument as it is written in the usage line, and its help."""
        arguments = [param for param in self.get_params(ctx) if isinstance(param, TyperArgument)]
        return [(str(param.metavar), (param.get_help_record(ctx) or ("", ""))[1]) for param in arguments]

    def option_records(self, ctx: Any) -> list[tuple[Section, list[tuple[str, str]]]]:
        """Section by section how each option is written, and what its help says with defaults."""
        by_section: dict[Section, list[tuple[str, str]]] = {section: [] for section in Section}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if isinstance(param, TyperOption) and record is not None:
                # --help has none: it is typer's own.
                section = Section(param.rich_help_panel or Section.BEHAVIOUR)
                by_section[section].append(record)
        return [(section, records) for section, records in by_section.items() if records]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the sections of arguments and options."""
        for title, records in (("Arguments", self.argument_records(ctx)), *self.option_records(ctx)):
            if records:
                with formatter.section(title):
                    formatter.write_dl(records, col_max=_NAMES_WIDTH)


class CommandGroup(TyperGroup):
    """Loads a command when it is called, and says in one line why it failed."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Put the real command in place of the placeholder that typer found (also for shell completion)."""
        if args and args[0] not in COMMANDS and not ctx.resilient_parsing:
            hint = did_you_mean_one(args[0], COMMANDS)
            raise InputError(f"no such command {args[0]!r}{hint} (see kgroup --help)")
        name, _, rest = super().resolve_command(ctx, args)
        return name, load_command(name) if name else None, rest

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands task by task, in columns that stand below each other."""
        widest = max(map(len, COMMANDS))
        others = tuple(name for name in COMMANDS if not any(name in names for names in TASKS.values()))
        for task, names in (*TASKS.items(), (_OTHER_TASKS, others)):
            if names:
                with formatter.section(task):
                    formatter.write_dl([(name.ljust(widest), COMMANDS[name]) for name in names])

    def main(self, *args: Any, **extra: Any) -> Any:
        """Parse and run; whatever goes wrong, in the command line or later, ends in `kgroup: why`."""
        try:
            status = super().main(*args, **extra | {"standalone_mode": False})
        except TyperException as error:
            say(usage_error_line(error))
            status = getattr(error, "exit_code", 2)
        except KgroupError as error:
            status = _failed(str(error), error.exit_code)
        except OSError as error:
            # What names no file was written to standard output, and is written there once more at exit.
            if not error.filename:
                _give_up_output()
            where = error.filename or "standard output"
            status = _failed(f"{where}: {error.strerror or error}", KgroupError.exit_code)
        sys.exit(status or 0)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Show the help if there are no arguments."""
        if not args and not ctx.resilient_parsing:  # which it is for shell completion and the man pages
            print(ctx.get_help(), file=sys.stderr)
            raise typer.Exit(2)
        if args[:1] == ["--show-completion"] and len(args) == 2:  # typer knows only the shell that runs it
            print(script_for(args[1]))
            raise typer.Exit()
        with _quiet_when_nobody_reads():
            parsed: list[str] = super().parse_args(ctx, args)
        return parsed

    def invoke(self, ctx: Any) -> Any:
        """Run the command, and have all that it printed out of the way."""
        with _quiet_when_nobody_reads():
            result = super().invoke(ctx)
            sys.stdout.flush()
        return result


def _failed(why: str, exit_code: int) -> int:
    say(" ".join(why.split()))
    return exit_code


@contextmanager
def _quiet_when_nobody_reads() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        _give_up_output()
        raise typer.Exit(0) from None


def _give_up_output() -> None:
    """The interpreter flushes standard output once more at exit; let that go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _examples_text(examples: Sequence[Example]) -> str:
    # \b keeps click from refilling the paragraph.
    shown = (f"{example.purpose}:\n  $ {example.call}" for example in examples)
    return "\n".join(["\b", "Examples:", *shown])


def _placeholder() -> None:
    raise AssertionError("resolve_command puts the real command in place of this one")


def _version(is_wanted: bool) -> None:
    if is_wanted:
        print(f"kgroup {__version__}")
        raise typer.Exit()


def _kgroup(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Diagnostics and operations for Kafka consumer groups.

    Which groups are stuck or behind, why a group rebalanced, what another assignor would have done, which
    broker coordinates a group, what is in __consumer_offsets: from log files, from a live cluster, and on
    Spark.
    """
