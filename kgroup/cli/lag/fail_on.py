"""`lag-report --fail-on`: the conditions that make the command exit with 3, and which of them were met."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from kgroup.errors import FindingsError, InputError, did_you_mean
from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.model import HYGIENE_KINDS, STUCK_KINDS, Finding, FindingKind
from kgroup.lag.status.model import GroupStatus, PartitionStatus, group_status
from kgroup.report.emit_columns import Columns

_LAG: Final = re.compile(r"lag=([0-9]{1,18})")
_STATUSES: Final = {
    "err": frozenset(status for status in PartitionStatus if group_status([status]) is GroupStatus.ERR),
    **{status.value.lower(): frozenset({status}) for status in PartitionStatus if status != "OK"},
}
_KINDS: Final = {"stuck": STUCK_KINDS, **{kind.value: frozenset({kind}) for kind in FindingKind}}
_NAMED: Final = 3


@dataclass(slots=True)
class FailOn:
    """The conditions to fail on, and the groups in which each was seen."""

    findings: dict[str, frozenset[FindingKind]] = field(default_factory=dict)
    statuses: dict[str, frozenset[PartitionStatus]] = field(default_factory=dict)
    lags: dict[str, int] = field(default_factory=dict)
    _of_findings: dict[str, list[str]] = field(default_factory=dict)
    _of_rows: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def parse(cls, wanted: Sequence[str]) -> "FailOn":
        """Raises InputError for anything else."""
        fail_on = cls()
        for name in wanted:
            text = name.lower()
            lag = _LAG.fullmatch(text)
            if lag:
                fail_on.lags[text] = int(lag[1])
            elif text in _STATUSES:
                fail_on.statuses[text.upper()] = _STATUSES[text]
            elif text in _KINDS:
                fail_on.findings[text] = _KINDS[text]
            else:
                near = did_you_mean(text, [*_STATUSES, *_KINDS])
                every = near or f", like {FindingKind.STOPPED_GROUP}, or status, like STOP: see its help"
                raise InputError(f"--fail-on {name}: not lag=N, stuck, a finding{every}")
        return fail_on

    @property
    def asks_hygiene(self) -> bool:
        """Whether a finding counts that may be one of hygiene."""
        return any(kinds & HYGIENE_KINDS for kinds in self.findings.values())

    def note_findings(self, findings: Iterable[Finding]) -> None:
        """Note what was found; what the log leaves open is not counted."""
        for finding in findings:
            for name, kinds in self.findings.items():
                if finding.kind in kinds and finding.grade is not Grade.UNKNOWN:
                    self._of_findings.setdefault(name, []).append(finding.group)

    def note_rows(self, columns: Columns) -> None:
        """Note rows of a report, be they shown or not."""
        if not (self.lags or self.statuses):
            return
        groups = columns["group"]
        statuses = columns.get("status", [None] * len(groups))
        for group, lag, status in zip(groups, columns["lag"], statuses, strict=True):
            for name, lag_max in self.lags.items():
                if isinstance(lag, int) and lag > lag_max:
                    self._of_rows.setdefault(name, []).append(str(group))
            for name, failing in self.statuses.items():
                if status in failing:
                    self._of_rows.setdefault(name, []).append(str(group))

    def check(self) -> None:
        """Raises FindingsError if anything was found: findings first."""
        seen = {**self._of_findings, **self._of_rows}
        if seen:
            raise FindingsError("; ".join(_seen_in(name, groups) for name, groups in seen.items()))


def _seen_in(name: str, groups: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(groups))
    more = f" and {len(distinct) - _NAMED} more" if len(distinct) > _NAMED else ""
    return f"{name}: {len(groups)} in {', '.join(distinct[:_NAMED])}{more}"
