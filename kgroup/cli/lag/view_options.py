"""The views of `lag-report` other than one row per partition. No heavy imports."""

from dataclasses import dataclass
from typing import Annotated, Final

from kgroup.cli.options.lag import LagPage, SumsBy
from kgroup.cli.shell.section import Section, option
from kgroup.cli.shell.times import parse_length
from kgroup.errors import InputError
from kgroup.report.emit import OutputFormat, OutputOptions

_SECONDS_MAX: Final = 86_400
_PORT_MAX: Final = 65_535
_LOOPBACK: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Views:
    """The views of a report other than a row for each partition, once."""

    by: SumsBy = None
    watch: Annotated[
        str | None,
        option(
            "--watch",
            metavar="DURATION",
            help="Refresh at this interval, as the command watch.",
            section=Section.SHOWN,
        ),
    ] = None
    prometheus: Annotated[
        bool,
        option("--prometheus", help="Print metrics, as the command metrics.", section=Section.OUTPUT),
    ] = False
    serve_metrics: Annotated[
        str | None,
        option(
            "--serve-metrics",
            metavar="[HOST:]PORT",
            help="Serve these metrics at /metrics.",
            section=Section.OUTPUT,
        ),
    ] = None
    html: LagPage = None

    @property
    def repeated(self) -> bool:
        """Whether there is more than one look."""
        return self.watch is not None or self.serve_metrics is not None

    def check(self, output: OutputOptions) -> None:
        """Raises InputError for a number that makes no sense, or a format that has an end."""
        if self.watch is not None and output.format not in (OutputFormat.TABLE, OutputFormat.JSONL):
            raise InputError(f"-o {output.format.value}: a live view never ends: use -o table or jsonl")
        if self.watch is not None:
            parse_seconds(self.watch)
        if self.serve_metrics is not None:
            parse_address(self.serve_metrics)


def parse_seconds(text: str, option: str = "--watch") -> float:
    """Seconds of `5`, `90s` or `15m`. Raises InputError for anything else, and for more than a day."""
    seconds = parse_length(f"{text}s" if text.isdecimal() else text, option, least="100ms") / 1000
    if seconds > _SECONDS_MAX:
        raise InputError(f"{option} {text}: more than a day")
    return seconds


def parse_address(text: str, option: str = "--serve-metrics") -> tuple[str, int]:
    """Host and port of `9308`, `0.0.0.0:9308` or `[::1]:9308`; loopback without a host. Port 0 is any."""
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > _PORT_MAX or (host and not host.strip("[]")):
        raise InputError(f"{option} {text}: give PORT or HOST:PORT, like 9308 or 0.0.0.0:9308")
    return host.strip("[]") or _LOOPBACK, int(port)
