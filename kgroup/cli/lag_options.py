"""Options of `lag-report` about columns and views. No heavy imports."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from kgroup.cli.section import Section
from kgroup.cli.times import parse_length
from kgroup.errors import InputError
from kgroup.group.time_lag_method import TimeLagMethod
from kgroup.report.emit import OutputFormat, OutputOptions
from kgroup.report.lag_by import By

_SECONDS_MAX: Final = 86_400
_PORT_MAX: Final = 65_535
_LOOPBACK: Final = "127.0.0.1"


TimeLagOption = Annotated[
    TimeLagMethod | None,
    typer.Option(
        "--time-lag",
        metavar="exact|bisect|interpolate",
        help="How long the first unread record has waited, and how the lag changes: exact, by the record's"
        " timestamp; bisect, by asking a cluster for offsets by time; interpolate, by past log ends.",
        show_default=False,
        rich_help_panel=Section.SHOWN,
    ),
]

StuckOption = Annotated[
    bool,
    typer.Option(
        "--stuck",
        help="What is wrong with the groups, instead of their rows: stopped, stalled, dead, slow, in a storm;"
        " since when, by what evidence, and what to try.",
        rich_help_panel=Section.SHOWN,
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
        rich_help_panel=Section.SHOWN,
    ),
]
BreakdownOption = Annotated[
    bool,
    typer.Option(
        "--breakdown",
        help="What the lag is made of: records, aborted and undecided ones, markers of transactions, offsets"
        " without a record, offsets deleted unread; and when the committed offset expires.",
        rich_help_panel=Section.SHOWN,
    ),
]
RetentionOption = Annotated[
    str | None,
    typer.Option(
        "--offsets-retention",
        metavar="DURATION",
        help="The broker's offsets.retention.minutes, for when offsets expire; 7 days by default.",
        show_default=False,
        rich_help_panel=Section.SHOWN,
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
        rich_help_panel=Section.BEHAVIOUR,
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
        rich_help_panel=Section.SHOWN,
    ),
]
SinceOption = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="TIME",
        help="The first of --windows; by default the log's first commit.",
        show_default=False,
        rich_help_panel=Section.SHOWN,
    ),
]

StreamOption = Annotated[
    bool,
    typer.Option(
        "--stream",
        help="With --spark and --bootstrap-server: go on reading, and report again after each micro-batch.",
        rich_help_panel=Section.SPARK,
    ),
]
CheckpointOption = Annotated[
    str | None,
    typer.Option(
        "--checkpoint",
        metavar="DIR",
        help="Where --stream remembers how far it has read, and what came of it.",
        show_default=False,
        rich_help_panel=Section.SPARK,
    ),
]
OnceOption = Annotated[
    bool,
    typer.Option(
        "--once",
        help="Stop --stream when all is read that is there now.",
        rich_help_panel=Section.SPARK,
    ),
]
EveryOption = Annotated[
    str,
    typer.Option(
        "--every",
        metavar="DURATION",
        help="From one micro-batch of --stream to the next.",
        rich_help_panel=Section.SPARK,
    ),
]
MaxOffsetsOption = Annotated[
    int,
    typer.Option(
        "--max-offsets",
        metavar="N",
        min=1,
        help="Records of one micro-batch of --stream, about.",
        rich_help_panel=Section.SPARK,
    ),
]

RemoteOption = Annotated[
    str | None,
    typer.Option(
        "--remote",
        metavar="URL",
        help="Instead of --master: the Spark Connect server to use, sc://HOST or sc://HOST:PORT.",
        show_default=False,
        rich_help_panel=Section.SPARK,
    ),
]
ShipOption = Annotated[
    bool,
    typer.Option(
        "--ship",
        help="Send kgroup's code along to executors, where it is not installed.",
        rich_help_panel=Section.SPARK,
    ),
]


ByOption = Annotated[
    By | None,
    typer.Option(
        "--by",
        metavar="group|topic|member",
        help="A row with sums for each; what is unknown is counted apart.",
        show_default=False,
        rich_help_panel=Section.SHOWN,
    ),
]
WatchOption = Annotated[
    str | None,
    typer.Option(
        "--watch",
        metavar="SECONDS",
        help="Look again and again, and show how fast the lag grows between the looks, until Ctrl-C.",
        show_default=False,
        rich_help_panel=Section.SHOWN,
    ),
]
PrometheusOption = Annotated[
    bool,
    typer.Option(
        "--prometheus",
        help="Print metrics in the text format of Prometheus.",
        rich_help_panel=Section.OUTPUT,
    ),
]
ServeMetricsOption = Annotated[
    str | None,
    typer.Option(
        "--serve-metrics",
        metavar="[HOST:]PORT",
        help="Serve the same metrics at /metrics, of a new look at each scrape; on 127.0.0.1 by default.",
        show_default=False,
        rich_help_panel=Section.OUTPUT,
    ),
]
HtmlOption = Annotated[
    Path | None,
    typer.Option(
        "--html",
        metavar="FILE",
        help="Also write a page for a browser to FILE: the lag of every group over time.",
        show_default=False,
        rich_help_panel=Section.OUTPUT,
    ),
]


def check_time_lag(method: TimeLagMethod, *, live: bool, repeated: bool) -> None:
    """Raises InputError for a method that the source cannot answer by."""
    if method is TimeLagMethod.BISECT and not live:
        raise InputError("--time-lag bisect asks brokers: give --bootstrap-server, or take exact")
    if method is TimeLagMethod.INTERPOLATE and live and not repeated:
        raise InputError(
            "--time-lag interpolate needs more than one look at a cluster: add --watch or --serve-metrics,"
            " or take exact or bisect"
        )


def parse_seconds(text: str) -> float:
    """Seconds of `5`, `90s` or `15m`. Raises InputError for anything else, and for more than a day."""
    seconds = parse_length(f"{text}s" if text.isdecimal() else text, "--watch", least="100ms") / 1000
    if seconds > _SECONDS_MAX:
        raise InputError(f"--watch {text}: more than a day")
    return seconds


def parse_address(text: str) -> tuple[str, int]:
    """Host and port of `9308`, `0.0.0.0:9308` or `[::1]:9308`; loopback without a host. Port 0 is any."""
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > _PORT_MAX or (host and not host.strip("[]")):
        raise InputError(f"--serve-metrics {text}: give PORT or HOST:PORT, like 9308 or 0.0.0.0:9308")
    return host.strip("[]") or _LOOPBACK, int(port)


@dataclass(frozen=True, slots=True, kw_only=True)
class Views:
    """In which ways a report is wanted other than a row for each partition, once."""

    by: By | None = None
    watch: str | None = None
    prometheus: bool = False
    serve_metrics: str | None = None
    html: Path | None = None

    @property
    def repeated(self) -> bool:
        """Whether there is more than one look."""
        return self.watch is not None or self.serve_metrics is not None

    def check(self, output: OutputOptions) -> None:
        """Raises InputError for a number that makes no sense, or a format that has an end."""
        if self.watch is not None and output.format not in (OutputFormat.TABLE, OutputFormat.JSONL):
            raise InputError("--watch has no end: it goes with -o table or jsonl")
        if self.watch is not None:
            parse_seconds(self.watch)
        if self.serve_metrics is not None:
            parse_address(self.serve_metrics)
