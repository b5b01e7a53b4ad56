"""Arguments and options that several commands share, each worded once.

A command uses them as annotations: `def decode(paths: Paths = None)`.
Every option has a metavar, so that help never shows a Python type.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgroup.errors import InputError
from kgroup.report.emit import OutputFormat

if TYPE_CHECKING:
    from kgroup.net.properties import ConnectionOptions

# A source is given in the same way everywhere: paths, or a cluster.
Paths = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PATH",
        help="Segment files, partition folders, log dirs, or directories of many; - is standard input.",
        show_default=False,
    ),
]
BootstrapServer = Annotated[
    str | None,
    typer.Option(
        "-b",
        "--bootstrap-server",
        metavar="HOST:PORT,...",
        help="Ask this cluster instead of reading files.",
        show_default=False,
    ),
]
CommandConfig = Annotated[
    Path | None,
    typer.Option(
        "--command-config",
        metavar="FILE",
        help="Java client properties for the connection: security.protocol, sasl.*, ssl.*.",
        show_default=False,
    ),
]
ClientProperties = Annotated[
    list[str] | None,
    typer.Option(
        "-X",
        metavar="KEY=VALUE",
        help="One client property, over what --command-config says; may be repeated.",
        show_default=False,
    ),
]

# What is shown, and where.
Format = Annotated[
    OutputFormat,
    typer.Option("-o", "--format", metavar="FORMAT", help="table, json, jsonl, csv or parquet."),
]
OutputFile = Annotated[
    Path | None,
    typer.Option("--output", metavar="FILE", help="Write to FILE, not to the screen.", show_default=False),
]
NoHeaders = Annotated[bool, typer.Option("--no-headers", help="Leave out the headings of tables and CSV.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Only results and errors: no notes, no progress.")]
Strict = Annotated[
    bool, typer.Option("--strict", help="Exit with status 3 if anything read was damaged or undecodable.")
]


def require_one_source(
    paths: Sequence[str] | None,
    *,
    live: bool,
    files: str = "the log directory of a broker, or __consumer_offsets folders or segments",
) -> None:
    """Raise InputError unless there are either paths, to `files`, or a cluster."""
    if not paths and not live:
        raise InputError(f"no PATH given: {files}; or a cluster with --bootstrap-server")
    if paths and live:
        raise InputError("give PATHs or --bootstrap-server, not both")


def connection_options(
    bootstrap_server: str, command_config: Path | None, client_properties: Sequence[str] | None
) -> "ConnectionOptions":
    """What the three options of a live source say, for `kgroup.net.admin.Cluster`."""
    from kgroup.net.properties import ConnectionOptions

    return ConnectionOptions(
        bootstrap_servers=bootstrap_server,
        command_config=command_config,
        properties=tuple(client_properties or ()),
    )
