"""Options of `lag-report` about columns and views. No heavy imports."""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Final

import typer

from kgroup.cli.times import parse_duration
from kgroup.errors import InputError
from kgroup.report.emit import OutputFormat, OutputOptions
from kgroup.report.lag_by import By

_SECONDS_MIN, _SECONDS_MAX = 0.1, 86_400
_PORT_MAX: Final = 65_535
_LOOPBACK: Final = "127.0.0.1"


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


ByOption = Annotated[
    By | None,
    typer.Option(
        "--by",
        metavar="group|topic|member",
        help="A row with sums for each; what is unknown is counted apart.",
        show_default=False,
    ),
]
WatchOption = Annotated[
    str | None,
    typer.Option(
        "--watch",
        metavar="SECONDS",
        help="Look again and again, and show how fast the lag grows between the looks, until Ctrl-C.",
        show_default=False,
    ),
]
PrometheusOption = Annotated[
    bool, typer.Option("--prometheus", help="Print metrics in the text format of Prometheus.")
]
ServeMetricsOption = Annotated[
    str | None,
    typer.Option(
        "--serve-metrics",
        metavar="[HOST:]PORT",
        help="Serve the same metrics at /metrics, of a new look at each scrape; on 127.0.0.1 by default.",
        show_default=False,
    ),
]
HtmlOption = Annotated[
    Path | None,
    typer.Option(
        "--html",
        metavar="FILE",
        help="Also write a page for a browser to FILE: the lag of every group over time.",
        show_default=False,
    ),
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


def parse_seconds(text: str) -> float:
    """Seconds of `5`, `0.5`, `90s` or `15m`. Raises InputError for anything else, and for no time at all."""
    duration_ms = parse_duration(text)
    try:
        seconds = float(text) if duration_ms is None else duration_ms / 1000
    except ValueError:
        seconds = 0.0
    if not _SECONDS_MIN <= seconds <= _SECONDS_MAX:
        raise InputError(f"--watch {text}: give the seconds between looks, 0.1 or more, like 5 or 90s")
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

    def check(self, output: OutputOptions, *, spark: bool, now: bool, strict: bool) -> None:
        """Raises InputError for views that contradict each other or the rest of the command line."""
        is_table = output.format is OutputFormat.TABLE
        refused: list[tuple[str, object, str, object]] = [
            ("--watch", self.watch, "--serve-metrics", self.serve_metrics),
            ("--prometheus", self.prometheus, "--by", self.by),
            ("--prometheus", self.prometheus, "--format", not is_table),
            ("--serve-metrics", self.serve_metrics, "--prometheus, which it serves", self.prometheus),
            ("--serve-metrics", self.serve_metrics, "--by", self.by),
            ("--serve-metrics", self.serve_metrics, "--format", not is_table),
            ("--watch", self.watch, "--prometheus; see --serve-metrics", self.prometheus),
            ("--html", self.html, "--spark", spark),
        ]
        for option in ("--watch", "--serve-metrics"):
            given = self.watch if option == "--watch" else self.serve_metrics
            refused += [
                (option, given, "--html", self.html),
                (option, given, "--spark", spark),
                (option, given, "--now, as it goes by the clock", now),
                (option, given, "--output", output.path),
                (option, given, "--strict", strict),
            ]
        for option, first, other, second in refused:
            if first and second:
                raise InputError(f"{option} does not go with {other}")
        if self.watch is not None and output.format not in (OutputFormat.TABLE, OutputFormat.JSONL):
            raise InputError("--watch has no end: it goes with -o table or jsonl")
        if self.watch is not None:
            parse_seconds(self.watch)
        if self.serve_metrics is not None:
            parse_address(self.serve_metrics)
