"""Arguments and options that several commands share, each worded once; those of lag are in `options/lag.py`.

A command uses them as annotations: `def replay(*, source: Source, groups: Groups = None, output: Output)`.
What goes together is a bundle (`bundle.py`). Every option has a metavar, so that help never shows a Python
type, and a section, which says where in the help it stands.
"""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kgroup.cli.shell.bundle import Bundle
from kgroup.cli.shell.clusters import complete_clusters, connection_to
from kgroup.cli.shell.complete_names import complete_groups, complete_topics
from kgroup.cli.shell.option_checks import OneOf, check_options
from kgroup.cli.shell.section import Section, option
from kgroup.cli.shell.source import Given
from kgroup.errors import InputError
from kgroup.report.destination import check_target
from kgroup.report.emit import OutputFormat, OutputOptions

if TYPE_CHECKING:
    from kgroup.net.connect.properties import ConnectionOptions

# A source is given in the same way everywhere: paths, or a cluster.
ONE_SOURCE: Final = (
    OneOf(
        options=("PATH", "--bootstrap-server"),
        none="no PATH given: the log directory of a broker, or __consumer_offsets folders or segments;"
        " or a cluster with --bootstrap-server",
        several="give PATHs or --bootstrap-server, not both",
    ),
)
Paths = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PATH",
        help="Segment files, partition folders, log dirs, or directories of many; - is standard input.",
        show_default=False,
    ),
]
FilePaths = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PATH",
        help="Segment files, partition folders, log dirs, or directories of many.",
        show_default=False,
    ),
]
BootstrapServer = Annotated[
    str | None,
    option(
        "-b",
        "--bootstrap-server",
        metavar="HOST:PORT,...",
        help="Query this cluster instead of reading files.",
        section=Section.SOURCE,
    ),
]
CommandConfig = Annotated[
    Path | None,
    option(
        "--command-config",
        metavar="FILE",
        help="Client properties file, as for Kafka's own tools.",
        section=Section.SOURCE,
    ),
]


def _assignments(given: list[str] | None) -> list[str] | None:
    """Before anything else: of `-X ssl.key.password SECRET` the secret would be a path, and in an error."""
    if given:
        from kgroup.net.connect.properties import require_assignment

        for each in given:
            require_assignment(each)
    return given


ClientProperties = Annotated[
    list[str] | None,
    option(
        "-X",
        metavar="KEY=VALUE",
        callback=_assignments,
        help="A client property; overrides the file. Repeatable.",
        section=Section.SOURCE,
    ),
]


ClusterName = Annotated[
    str | None,
    option(
        "--cluster",
        metavar="NAME",
        autocompletion=complete_clusters,
        help="Query a cluster by its name in kgroup config.",
        section=Section.SOURCE,
    ),
]


def connection_options(
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    client_properties: ClientProperties = None,
    cluster: ClusterName = None,
) -> "ConnectionOptions | None":
    """The cluster that is asked, None for none. Raises InputError for a name that there is not."""
    return connection_to(bootstrap_server, cluster, command_config, client_properties)


Connection = Annotated["ConnectionOptions | None", Bundle(connection_options)]


def given(*, paths: Paths = None, connection: Connection) -> Given:
    """The source. Raises InputError unless there are either paths or a cluster."""
    check_options(ONE_SOURCE, {"PATH": paths, "--bootstrap-server": connection})
    return Given(paths=tuple(paths or ()), connection=connection)


Source = Annotated[Given, Bundle(given)]


def given_files(*, paths: FilePaths = None, connection: Connection) -> Given:
    """The source of a command that needs files, not a stream. Raises InputError as `given` does."""
    return given(paths=paths, connection=connection)


Files = Annotated[Given, Bundle(given_files)]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOfSource:
    """The group that a question is about, and where it is."""

    group: str
    source: Given


def _group_of_source(
    group: Annotated[
        str,
        typer.Argument(metavar="GROUP", help="The group, or a pattern.", autocompletion=complete_groups),
    ],
    *,
    paths: FilePaths = None,
    connection: Connection,
) -> GroupOfSource:
    if not paths and connection is None and Path(group).exists():
        raise InputError(f"{group} is a path: GROUP comes first, PATH after it")
    return GroupOfSource(group=group, source=given(paths=paths, connection=connection))


GroupAndPaths = Annotated[GroupOfSource, Bundle(_group_of_source)]

# What of it is wanted.
Groups = Annotated[
    list[str] | None,
    option(
        "--group",
        metavar="NAME",
        autocompletion=complete_groups,
        help="Only this group or pattern; repeatable.",
        section=Section.SELECTION,
    ),
]


def required_groups(groups: list[str] | None) -> list[str]:
    """The values of --group. Raises InputError if it was not given."""
    if not groups:
        raise InputError("no --group given: the group to replay, or a pattern such as 'billing-*'")
    return groups


Topics = Annotated[
    list[str] | None,
    option(
        "--topic",
        metavar="NAME",
        autocompletion=complete_topics,
        help="Only this topic or pattern; repeatable.",
        section=Section.SELECTION,
    ),
]
TopicPartitions = Annotated[
    list[str] | None,
    option(
        "--topic",
        metavar="NAME[:N,...]",
        autocompletion=complete_topics,
        help="Only commits for this topic or pattern, or for these partitions; repeatable.",
        section=Section.SELECTION,
    ),
]
Since = Annotated[
    str | None,
    option(
        "--since",
        metavar="TIME",
        help="From this time on: an ISO time, epoch ms, or 15m (ago).",
        section=Section.SELECTION,
    ),
]
Until = Annotated[
    str | None, option("--until", metavar="TIME", help="Before this time.", section=Section.SELECTION)
]
LogEnds = Annotated[
    Path | None,
    option(
        "--log-ends",
        metavar="FILE",
        help="Log ends to use instead of those in the log dirs.",
        section=Section.SOURCE,
    ),
]
Now = Annotated[
    str | None,
    option(
        "--now",
        metavar="TIME",
        help="As of this time; default: now, or idle logs' end.",
        section=Section.SHOWN,
    ),
]


def new_file(given: Path | None) -> Path | None:
    """The callback of options that name a file to write: what cannot be written is refused before the work.

    Raises SourceError.
    """
    if given is not None:
        check_target(given)
    return given


def new_file_or_folder(given: Path | None) -> Path | None:
    """`--stream` writes into a folder; opening it decides whether another may be used."""
    return given if given is not None and given.is_dir() else new_file(given)


# In which form it is shown, and where.
Format = Annotated[
    OutputFormat,
    option(
        "-o",
        "--format",
        metavar="FORMAT",
        help="table (default), json, jsonl, csv or parquet.",
        section=Section.OUTPUT,
    ),
]
OutputFile = Annotated[
    Path | None,
    option(
        "--output",
        metavar="FILE",
        callback=new_file_or_folder,
        help="Write to FILE instead of the screen.",
        section=Section.OUTPUT,
    ),
]
NoHeaders = Annotated[
    bool, option("--no-headers", help="Omit the headings of tables and CSV.", section=Section.OUTPUT)
]


def _output(
    output_format: Format = OutputFormat.TABLE, output: OutputFile = None, no_headers: NoHeaders = False
) -> OutputOptions:
    return OutputOptions(format=output_format, path=output, headers=not no_headers)


Output = Annotated[OutputOptions, Bundle(_output)]


class FormatOrTrace(Enum):
    """The formats of rows, and the one of trace viewers."""

    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"
    TRACE = "trace"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOrTrace:
    """Rows in a format, or with `is_trace` a trace instead, which goes to the same place."""

    rows: OutputOptions
    is_trace: bool


def _output_or_trace(
    output_format: Annotated[
        FormatOrTrace,
        option(
            "-o",
            "--format",
            metavar="FORMAT",
            help="table (default), json, jsonl, csv, parquet, or trace for Perfetto.",
            section=Section.OUTPUT,
        ),
    ] = FormatOrTrace.TABLE,
    output: OutputFile = None,
    no_headers: NoHeaders = False,
) -> OutputOrTrace:
    is_trace = output_format is FormatOrTrace.TRACE
    rows = OutputFormat.JSON if is_trace else OutputFormat(output_format.value)
    return OutputOrTrace(
        rows=OutputOptions(format=rows, path=output, headers=not no_headers), is_trace=is_trace
    )


TraceableOutput = Annotated[OutputOrTrace, Bundle(_output_or_trace)]

# How the command behaves.
Quiet = Annotated[
    bool,
    option(
        "-q", "--quiet", help="Only results and errors: no notes, no progress.", section=Section.BEHAVIOUR
    ),
]
Strict = Annotated[
    bool,
    option(
        "--strict",
        help="Exit with status 3 if anything read was damaged.",
        section=Section.BEHAVIOUR,
    ),
]
