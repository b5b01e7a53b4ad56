"""Options of `lag-report` on groups and partitions, besides lag itself. No heavy imports."""

from dataclasses import dataclass
from typing import Annotated

from kgroup.cli.options.lag import (
    Breakdown,
    Hygiene,
    OffsetsRetention,
    Rules,
    Status,
    TimeLag,
    Windows,
)
from kgroup.cli.shell.options import Now, Since
from kgroup.cli.shell.section import Section, option
from kgroup.cli.shell.times import parse_length, parse_time
from kgroup.errors import InputError
from kgroup.lag.measures.time_lag_method import TimeLagMethod
from kgroup.lag.status.rule_set import RuleSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The requested view, as the options of `lag-report` or of a command for one question gave it."""

    status: Status = False
    rules: Rules = None
    now: Now = None
    stuck: Annotated[
        bool,
        option("--stuck", help="Findings instead of rows, as the command stuck.", section=Section.SHOWN),
    ] = False
    hygiene: Hygiene = False
    explain: Annotated[
        str | None,
        option(
            "--explain",
            metavar="GROUP",
            help="All about one group, as the command explain.",
            section=Section.SHOWN,
        ),
    ] = None
    time_lag: TimeLag = None
    breakdown: Breakdown = False
    offsets_retention: OffsetsRetention = None
    windows: Windows = None
    since: Since = None

    @property
    def rule_set(self) -> RuleSet:
        """The rules that judge."""
        return self.rules or RuleSet.KGROUP

    @property
    def retention_ms(self) -> int:
        """The time a broker keeps offsets of an empty group. Raises InputError for an invalid duration."""
        from kgroup.lag.measures.offset_expiry import RETENTION_MS

        if self.offsets_retention is None:
            return RETENTION_MS
        return parse_length(self.offsets_retention, "--offsets-retention")

    def now_ms(self, clock_ms: int) -> int | None:
        """The time of --now, epoch ms, None without it. Raises InputError for an invalid time."""
        return None if self.now is None else parse_time(self.now, "--now", clock_ms)

    def since_ms(self, now_ms: int) -> int | None:
        """The time of --since, epoch ms, None without it. Raises InputError for an invalid time."""
        return None if self.since is None else parse_time(self.since, "--since", now_ms)

    def check_time_lag(self, *, live: bool, repeated: bool) -> None:
        """Raises InputError for a method that the source cannot answer by."""
        if self.time_lag is TimeLagMethod.BISECT and not live:
            raise InputError("--time-lag bisect asks brokers: give --bootstrap-server, or use exact")
        if self.time_lag is TimeLagMethod.INTERPOLATE and live and not repeated:
            raise InputError(
                "--time-lag interpolate needs more than one reading from a cluster: add --watch or"
                " --serve-metrics, or use exact or bisect"
            )
