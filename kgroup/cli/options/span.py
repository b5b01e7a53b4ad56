"""`--since`, `--until` and `--at` of commands that show a group's history."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

from kgroup.cli.shell.option_checks import Clash, Rule, check_options
from kgroup.cli.shell.options import Since, Until
from kgroup.cli.shell.section import Section, option
from kgroup.cli.shell.times import parse_time
from kgroup.errors import InputError
from kgroup.history.timeline.span import Span
from kgroup.report.emit import iso_time

_RULES: Final[tuple[Rule, ...]] = (Clash(options={"--at"}, others={"--since", "--until"}),)
_TIME_OF_DAY: Final = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?Z?")
_TO_THE_MINUTE: Final = re.compile(r"\d{4}-\d\d-\d\dT?[ ]?\d\d:\d\d(Z|[+-]\d\d:?\d\d)?")
_SECOND_MS: Final = 1000
_MINUTE_MS: Final = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanOptions:
    """The time options as given. A time of day is the last one in the history that is asked about."""

    since: Since = None
    until: Until = None
    at: Annotated[
        str | None,
        option(
            "--at",
            metavar="TIME",
            help="Only this time: 12:43 means the last one in the log.",
            section=Section.SELECTION,
        ),
    ] = None

    @property
    def given(self) -> bool:
        """Whether there is any."""
        return any(text is not None for text in (self.since, self.until, self.at))

    def check(self, clock_ms: int) -> None:
        """Raises InputError for an invalid time or range, before anything is read."""
        check_options(_RULES, {"--since": self.since, "--until": self.until, "--at": self.at})
        self.span(clock_ms, None)

    def span(self, clock_ms: int, known: tuple[int, int] | None) -> Span:
        """The span; of --at the minute, the second or the millisecond, as far as it was given.

        Durations go back from the clock. A time of day is the last one before the end of what is `known`, the
        first and the last time of a history (epoch ms). Raises InputError if that is before its beginning.
        """
        if self.at is not None:
            start_ms = _time(self.at, "--at", clock_ms, known)
            return Span(since_ms=start_ms, until_ms=start_ms + _length_ms(self.at))
        since_ms = None if self.since is None else _time(self.since, "--since", clock_ms, known)
        until_ms = None if self.until is None else _time(self.until, "--until", clock_ms, known)
        if since_ms is not None and until_ms is not None and since_ms >= until_ms:
            raise InputError(f"--until {self.until}: not after --since {self.since}")
        return Span(since_ms=since_ms, until_ms=until_ms)


def _time(text: str, name: str, clock_ms: int, known: tuple[int, int] | None) -> int:
    matched = _TIME_OF_DAY.fullmatch(text)
    if matched is None:
        return parse_time(text, name, clock_ms)
    first_ms, end_ms = known or (None, clock_ms)
    end = datetime.fromtimestamp(end_ms / 1000, UTC)
    hour, minute, second = (int(part or 0) for part in matched.groups())
    moment = end.replace(hour=hour, minute=minute, second=second, microsecond=0)
    if moment > end:
        moment -= timedelta(days=1)
    moment_ms = int(moment.timestamp() * 1000)
    if first_ms is not None and moment_ms + _MINUTE_MS <= first_ms:
        raise InputError(
            f"{name} {text}: not in this history, from {iso_time(first_ms)} to {iso_time(end_ms)}"
        )
    return moment_ms


def _length_ms(text: str) -> int:
    """A minute, without seconds; a second, without a fraction; else a millisecond."""
    matched = _TIME_OF_DAY.fullmatch(text)
    if matched is not None:
        return _MINUTE_MS if matched[3] is None else _SECOND_MS
    if _TO_THE_MINUTE.fullmatch(text):
        return _MINUTE_MS
    return _SECOND_MS if re.fullmatch(r"[^.,]*T[^.,]*:\d\d:\d\d[^.,]*", text) else 1
