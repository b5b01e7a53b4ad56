"""`lag-report --fail-on`: what makes the command exit with 3, and what of it was found."""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from kgroup.errors import FindingsError, InputError
from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.model import STUCK_KINDS, Finding, FindingKind
from kgroup.lag.status.model import GroupStatus, PartitionStatus, group_status
from kgroup.report.emit import Row

_LAG: Final = re.compile(r"lag=([0-9]{1,18})")
_STATUSES: Final = {
    "err": frozenset(status for status in PartitionStatus if group_status([status]) is GroupStatus.ERR),
    **{status.value.lower(): frozenset({status}) for status in PartitionStatus if status != "OK"},
}
_KINDS: Final = {"stuck": STUCK_KINDS, **{kind.value: frozenset({kind}) for kind in FindingKind}}
_NAMED: Final = 3


@dataclass(slots=True)
class FailOn:
    """What the user wants to fail on, and the groups in which each was seen."""

    findings: dict[str, frozenset[FindingKind]] = field(default_factory=dict)
    statuses: dict[str, frozenset[PartitionStatus]] = field(default_factory=dict)
    lags: dict[str, int] = field(default_factory=dict)
    _seen: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def parse(cls, wanted: Sequence[str]) -> "FailOn":
        """Raises InputError for what is none of them."""
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
                raise InputError(
                    f"--fail-on {name}: not lag=N, nor stuck, nor a finding ({', '.join(FindingKind)}),"
                    f" nor a status ({', '.join(_STATUSES).upper()})"
                )
        return fail_on

    def watched(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """The same findings, noted in passing; what the log leaves open is not counted."""
        for finding in findings:
            for name, kinds in self.findings.items():
                if finding.kind in kinds and finding.grade is not Grade.UNKNOWN:
                    self._seen.setdefault(name, []).append(finding.group)
            yield finding

    @property
    def asks_rows(self) -> bool:
        """Whether it is by rows that this fails, be they shown or not."""
        return bool(self.lags or self.statuses)

    def look_at(self, rows: Iterable[Row]) -> None:
        """Note rows that are not shown."""
        deque(self.watched_rows(rows), maxlen=0)

    def watched_rows(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The same rows of a report, noted in passing."""
        for row in rows:
            group, lag, status = str(row["group"]), row.get("lag"), row.get("status")
            for name, lag_max in self.lags.items():
                if isinstance(lag, int) and lag > lag_max:
                    self._seen.setdefault(name, []).append(group)
            for name, statuses in self.statuses.items():
                if status in statuses:
                    self._seen.setdefault(name, []).append(group)
            yield row

    def check(self) -> None:
        """Raises FindingsError if anything was found."""
        if self._seen:
            raise FindingsError("; ".join(_found(name, groups) for name, groups in self._seen.items()))


def _found(name: str, groups: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(groups))
    more = f" and {len(distinct) - _NAMED} more" if len(distinct) > _NAMED else ""
    return f"{name}: {len(groups)} in {', '.join(distinct[:_NAMED])}{more}"
