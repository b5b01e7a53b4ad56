"""Options for the contents of a lag report. No heavy imports."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kgroup.api.names import matches_any
from kgroup.errors import InputError
from kgroup.lag.measures.offset_expiry import RETENTION_MS
from kgroup.lag.measures.time_lag_method import TimeLagMethod
from kgroup.lag.status.rule_set import RuleSet
from kgroup.report.emit import Column
from kgroup.report.lag.columns import report_columns

if TYPE_CHECKING:
    from kgroup.scan.reductions.scanned import ScanPlan

WINDOW_COMMITS: Final = 10  # as many as Burrow keeps by default


@dataclass(frozen=True, slots=True, kw_only=True)
class LagOptions:
    """Options for the contents of each report. `groups` and `topics`: names or shell patterns; None is all.

    `log_ends` is a file of log ends that win over all others. `rules` and `time_lag` are None where no status
    and no time lag is wanted. `hygiene` is for findings: those of hygiene, too.
    """

    groups: Sequence[str] | None = None
    topics: Sequence[str] | None = None
    log_ends: Path | None = None
    rules: RuleSet | None = None
    time_lag: TimeLagMethod | None = None
    findings: bool = False
    hygiene: bool = False
    breakdown: bool = False
    retention_ms: int = RETENTION_MS

    @property
    def judges(self) -> bool:
        """Whether the answer passes judgement on groups, and not only measures them."""
        return self.findings or self.rules is not None

    @property
    def plan(self) -> "ScanPlan":
        """The plan for reading the log: findings and kgroup's own rules also need earlier commits."""
        from kgroup.scan.reductions.scanned import ScanPlan

        last_commits = self.judges or self.time_lag is not None
        return ScanPlan(
            slots=WINDOW_COMMITS if last_commits else None,
            history=self.findings or self.rules is RuleSet.KGROUP,
            findings=self.findings,
        )

    def columns(self, *, is_table: bool, rates: bool = False) -> tuple[Column, ...]:
        """The columns of rows, for people or for programs; rates come with time lags anyway."""
        times = self.time_lag is not None
        return report_columns(
            is_table=is_table,
            times=times,
            rates=rates or times,
            status=self.rules is not None,
            breakdown=self.breakdown,
        )

    def check(self, *, live: bool, repeated: bool) -> None:
        """Raises InputError for a time lag that cannot be found there."""
        if self.time_lag is TimeLagMethod.BISECT and not live:
            raise InputError("time_lag bisect asks brokers: connect to a cluster, or take exact")
        if self.time_lag is TimeLagMethod.INTERPOLATE and live and not repeated:
            raise InputError(
                "time_lag interpolate needs more than one reading from a cluster: use exact or bisect"
            )


def matcher(patterns: Sequence[str] | None) -> Callable[[str], bool]:
    """Whether a name is one of those or matches it as a shell's pattern; without any, every name does."""
    if not patterns:
        return lambda name: True
    return lambda name: matches_any(name, patterns)
