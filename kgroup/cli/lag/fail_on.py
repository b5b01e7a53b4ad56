"""`lag-report --fail-on`: the conditions that make the command exit with 3, and which of them were met.

Nearly every report has none, so what they are made of is imported where there is one.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kgroup.errors import FindingsError, InputError, did_you_mean
from kgroup.report.emit_columns import Columns

if TYPE_CHECKING:
    from kgroup.lag.findings.model import Finding, FindingKind
    from kgroup.lag.status.model import PartitionStatus

_LAG: Final = re.compile(r"lag=([0-9]{1,18})")
_NAMED: Final = 3


@dataclass(slots=True)
class FailOn:
    """The conditions to fail on, and the groups in which each was seen."""

    findings: "dict[str, frozenset[FindingKind]]" = field(default_factory=dict)
    statuses: "dict[str, frozenset[PartitionStatus]]" = field(default_factory=dict)
    lags: dict[str, int] = field(default_factory=dict)
    _of_findings: dict[str, list[str]] = field(default_factory=dict)
    _of_rows: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def parse(cls, wanted: Sequence[str]) -> "FailOn":
        """Raises InputError for anything else."""
        fail_on = cls()
        if not wanted:
            return fail_on
        from kgroup.lag.findings.model import FindingKind

        statuses, kinds = _statuses(), _kinds()
        for name in wanted:
            text = name.lower()
            lag = _LAG.fullmatch(text)
            if lag:
                fail_on.lags[text] = int(lag[1])
            elif text in statuses:
                fail_on.statuses[text.upper()] = statuses[text]
            elif text in kinds:
                fail_on.findings[text] = kinds[text]
            else:
                near = did_you_mean(text, [*statuses, *kinds])
                every = near or f", like {FindingKind.STOPPED_GROUP}, or status, like STOP: see its help"
                raise InputError(f"--fail-on {name}: not lag=N, stuck, a finding{every}")
        return fail_on

    @property
    def asks_hygiene(self) -> bool:
        """Whether a finding counts that may be one of hygiene."""
        if not self.findings:
            return False
        from kgroup.lag.findings.model import HYGIENE_KINDS

        return any(kinds & HYGIENE_KINDS for kinds in self.findings.values())

    def note_findings(self, findings: "Iterable[Finding]") -> None:
        """Note what was found; what the log leaves open is not counted."""
        if not self.findings:
            return
        from kgroup.history.timeline.model import Grade

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


def _statuses() -> "dict[str, frozenset[PartitionStatus]]":
    """Those of partitions by the name of a condition; `err` is whatever makes a group's status ERR."""
    from kgroup.lag.status.model import GroupStatus, PartitionStatus, group_status

    errors = frozenset(status for status in PartitionStatus if group_status([status]) is GroupStatus.ERR)
    of_one = {status.value.lower(): frozenset({status}) for status in PartitionStatus if status != "OK"}
    return {"err": errors, **of_one}


def _kinds() -> "dict[str, frozenset[FindingKind]]":
    from kgroup.lag.findings.model import STUCK_KINDS, FindingKind

    return {"stuck": STUCK_KINDS, **{kind.value: frozenset({kind}) for kind in FindingKind}}


def _seen_in(name: str, groups: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(groups))
    more = f" and {len(distinct) - _NAMED} more" if len(distinct) > _NAMED else ""
    return f"{name}: {len(groups)} in {', '.join(distinct[:_NAMED])}{more}"
