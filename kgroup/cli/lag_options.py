"""Options of `lag-report` about columns and views. No heavy imports."""

from enum import Enum
from typing import Annotated

import typer

from kgroup.errors import InputError


class TimeLagChoice(Enum):
    """What `--time-lag` takes."""

    EXACT = "exact"
    BISECT = "bisect"
    INTERPOLATE = "interpolate"


TimeLagOption = Annotated[
    TimeLagChoice | None,
    typer.Option(
        "--time-lag",
        metavar="exact|bisect|interpolate",
        help="How long the first unread record has waited, and how the lag changes: exact, by the record's"
        " timestamp; bisect, by asking a cluster for offsets by time; interpolate, by past log ends.",
        show_default=False,
    ),
]

StuckOption = Annotated[
    bool,
    typer.Option(
        "--stuck",
        help="What is wrong with the groups, instead of their rows: stopped, stalled, dead, slow, in a storm;"
        " since when, by what evidence, and what to try.",
    ),
]
ExplainOption = Annotated[
    str | None,
    typer.Option(
        "--explain",
        metavar="GROUP",
        help="All about one group on a page: state, members, partitions and the rules that decided, what is"
        " wrong and what to try.",
        show_default=False,
    ),
]
BreakdownOption = Annotated[
    bool,
    typer.Option(
        "--breakdown",
        help="What the lag is made of: records, aborted and undecided ones, markers of transactions, offsets"
        " without a record, offsets deleted unread; and when the committed offset expires.",
    ),
]
RetentionOption = Annotated[
    str | None,
    typer.Option(
        "--offsets-retention",
        metavar="DURATION",
        help="The broker's offsets.retention.minutes, for when offsets expire; 7 days by default.",
        show_default=False,
    ),
]
FailOnOption = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-on",
        metavar="WHAT",
        help="Exit 3 if a group is stuck, if a partition's lag is above N (lag=N), or if a partition has this"
        " status (ERR is STOP, STALL or REWIND); or if there is this finding. Repeatable.",
        show_default=False,
    ),
]
WindowsOption = Annotated[
    str | None,
    typer.Option(
        "--windows",
        metavar="DURATION",
        help="The history instead of the present: a row for each window of this length, as it was when the"
        " window ended.",
        show_default=False,
    ),
]
SinceOption = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="TIME",
        help="The first of --windows; by default the log's first commit.",
        show_default=False,
    ),
]

StreamOption = Annotated[
    bool,
    typer.Option(
        "--stream",
        help="With --spark and --bootstrap-server: go on reading, and report again after each micro-batch.",
    ),
]
CheckpointOption = Annotated[
    str | None,
    typer.Option(
        "--checkpoint",
        metavar="DIR",
        help="Where --stream remembers how far it has read, and what came of it.",
        show_default=False,
    ),
]
OnceOption = Annotated[bool, typer.Option("--once", help="Stop --stream when all is read that is there now.")]
EveryOption = Annotated[
    str,
    typer.Option("--every", metavar="DURATION", help="From one micro-batch of --stream to the next."),
]
MaxOffsetsOption = Annotated[
    int,
    typer.Option("--max-offsets", metavar="N", min=1, help="Records of one micro-batch of --stream, about."),
]

RemoteOption = Annotated[
    str | None,
    typer.Option(
        "--remote",
        metavar="URL",
        help="Instead of --master: the Spark Connect server to use, sc://HOST or sc://HOST:PORT.",
        show_default=False,
    ),
]
ShipOption = Annotated[
    bool,
    typer.Option("--ship", help="Send kgroup's code along to executors, where it is not installed."),
]


def check_time_lag(choice: TimeLagChoice, *, live: bool, repeated: bool) -> None:
    """Raises InputError for a method that the source cannot answer by."""
    if choice is TimeLagChoice.BISECT and not live:
        raise InputError("--time-lag bisect asks brokers: give --bootstrap-server, or take exact")
    if choice is TimeLagChoice.INTERPOLATE and live and not repeated:
        raise InputError(
            "--time-lag interpolate needs more than one look at a cluster: add --watch or --serve-metrics,"
            " or take exact or bisect"
        )
