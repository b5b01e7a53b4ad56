"""`kgroup find-coordinator`: the offsets partition of a group, and the broker that leads it."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Final

import typer

from kgroup.cli.example import Example
from kgroup.cli.options import Format, NoHeaders, OutputFile
from kgroup.protocol.group_hash import DEFAULT_PARTITIONS, partition_for
from kgroup.report.emit import Column, Kind, OutputFormat, OutputOptions, Row, emit

EXAMPLES: Final = (
    Example("The offsets partition of a group, without any cluster", "kgroup find-coordinator test-group"),
)

_COLUMNS = (
    Column(name="group"),
    Column(name="partition", kind=Kind.INTEGER),
    Column(name="partitions", kind=Kind.INTEGER),
)


def find_coordinator(
    groups: Annotated[
        list[str], typer.Argument(metavar="GROUP", help="Group ids; - reads them from standard input.")
    ],
    partitions: Annotated[
        int, typer.Option("--partitions", min=1, metavar="N", help="Partitions of the offsets topic.")
    ] = DEFAULT_PARTITIONS,
    output_format: Format = OutputFormat.TABLE,
    output: OutputFile = None,
    no_headers: NoHeaders = False,
) -> None:
    """Say which partition and broker coordinate a group."""
    emit(
        _rows(groups, partitions),
        _COLUMNS,
        OutputOptions(format=output_format, path=output, headers=not no_headers),
    )


def _rows(groups: Sequence[str], partitions: int) -> Iterator[Row]:
    for group in groups:
        yield {"group": group, "partition": partition_for(group, partitions), "partitions": partitions}
