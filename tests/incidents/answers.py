"""What kgroup answers on a capture: `lag-report --stuck`, `--status` and `--breakdown`, `replay`, `fsck`.

Of two clusters also `diff --mirror`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import chain
from pathlib import Path
from typing import Any

import kgroup
from kgroup.api.diff import mirror_diff
from kgroup.api.fsck import fsck
from kgroup.api.lag.options import LagOptions
from kgroup.api.lag.reading import AsOf, read_log
from kgroup.api.lag.report import lag_report, report_of
from kgroup.api.opened import open_logs
from kgroup.history.loading.releases import NEWEST
from kgroup.history.timeline.model import CauseKind, Grade, Timeline
from kgroup.lag.findings.mirrored import MirrorFinding
from kgroup.lag.findings.model import Finding, GroupFacts
from kgroup.lag.status.model import PartitionStatus
from kgroup.lag.status.rule_set import RuleSet
from kgroup.report.progress import NO_PROGRESS
from tests.incidents.world import source_of

K = CauseKind
# Comings and goings as they belong to every group's life; named only where they are asked for.
ORDINARY = frozenset(
    str(kind)
    for kind in (
        K.FIRST_JOIN,
        K.JOIN,
        K.LEAVE,
        K.STATIC_RESTART,
        K.SUBSCRIPTION_CHANGED,
        K.TOPIC_GREW,
        K.ASSIGNOR_CHANGED,
        K.COOPERATIVE_FOLLOW_UP,
        K.LEADER_REJOINED,
        K.COORDINATOR_MOVED,
        K.PROTOCOL_MIGRATED,
        K.NO_MEMBERSHIP,
        K.HISTORY_CUT,
        K.UNEXPLAINED,
    )
)
FAULTY_STATUSES = frozenset({PartitionStatus.STOP, PartitionStatus.STALL, PartitionStatus.REWIND})
_HYGIENE: dict[str, Any] = {"hygiene": True} if "hygiene" in {f.name for f in fields(LagOptions)} else {}
BASELINE_LAG = 1000
BASELINE_SILENT_MS = 300_000


@dataclass(frozen=True, slots=True)
class Answer:
    """A finding, a pattern or a cause by its name. `at_ms` is epoch ms, None if unknown."""

    name: str
    grade: Grade
    evidence: str
    at_ms: int | None = None
    to_ms: int | None = None
    alternatives: tuple[str, ...] = ()
    client_ids: tuple[str, ...] = ()
    is_trouble: bool = True


class Look:
    """A capture as of one time."""

    def __init__(self, folder: Path, now_ms: int, kafka: str | None = None) -> None:
        """`kafka` is the version of its brokers, if that is known."""
        self.folder, self.now_ms = folder, now_ms
        self.logs = open_logs(folder)
        options = LagOptions(findings=True, rules=RuleSet.KGROUP, **_HYGIENE)
        scanned = read_log(self.logs, options.plan, NO_PROGRESS, None)
        report = report_of(self.logs, options, scanned, AsOf(now_ms=now_ms, log_ms=now_ms))
        self.facts: dict[str, GroupFacts] = {}
        self.statuses: dict[str, list[PartitionStatus]] = {}
        self.found: dict[str, tuple[Finding, ...]] = {}
        for (facts, verdicts), findings in report.groups():
            group = facts.group.group_id
            self.facts[group], self.found[group] = facts, tuple(findings)
            self.statuses[group] = [verdict.status for verdict in verdicts if verdict is not None]
        self.mirrored: tuple[MirrorFinding, ...] = ()
        if (source := source_of(folder)).is_dir():
            self.mirrored = mirror_diff(open_logs(source), self.logs).findings
        self.checks = fsck(self.logs, kafka_version=kafka or NEWEST)
        self.timelines: dict[str, Timeline] = dict(kgroup.replay(self.logs, ["*"]))

    def groups(self) -> list[str]:
        return sorted({*self.facts, *self.timelines})

    def findings(self, group: str) -> list[Answer]:
        """As `--stuck --hygiene` lists them: what is trouble first."""
        answers = [
            Answer(
                str(finding.kind),
                finding.grade,
                finding.evidence,
                is_trouble=str(getattr(finding, "severity", "trouble")) == "trouble",
            )
            for finding in self.found.get(group, ())
        ]
        return sorted(answers, key=lambda answer: not answer.is_trouble)

    def patterns(self, group: str) -> list[Answer]:
        timeline = self.timelines.get(group)
        patterns = timeline.patterns if timeline else ()
        return [Answer(p.name, Grade.INFERRED, p.evidence, p.from_ms, p.to_ms) for p in patterns]

    def loading(self, group: str) -> list[Answer]:
        """What `fsck` says of the offsets partition that the group is in."""
        return [
            Answer(check.finding, Grade.RECORDED, check.obstacles[0].text if check.obstacles else "")
            for check in self.checks.bad
            if check.finding is not None and group in check.groups
        ]

    def in_mirror(self, group: str) -> list[Answer]:
        """What `diff --mirror` says of the group, where the source's logs are at hand."""
        return [
            Answer(str(finding.kind), Grade.RECORDED, finding.evidence)
            for finding in self.mirrored
            if finding.group == group
        ]

    def causes(self, group: str) -> Iterator[Answer]:
        """In the order of time."""
        timeline = self.timelines.get(group)
        if timeline is None:
            return
        clients: dict[str, str] = {}
        for generation in timeline.generations:
            for member in (*generation.roster.members, *generation.left, *generation.joined):
                clients.setdefault(member.member_id, member.instance_id or member.client_id)
        in_generations = ((g.roster.at_ms, cause) for g in timeline.generations for cause in g.causes)
        outside = ((occurrence.at_ms, occurrence.cause) for occurrence in timeline.occurrences)
        for at_ms, cause in sorted(chain(in_generations, outside), key=lambda pair: pair[0] or 0):
            yield Answer(
                str(cause.kind),
                cause.grade,
                cause.evidence,
                at_ms,
                alternatives=tuple(map(str, cause.alternatives)),
                client_ids=tuple(clients.get(member_id, "") for member_id in cause.member_ids),
            )

    def notes(self, group: str) -> set[str]:
        facts = self.facts.get(group)
        notes = (
            {str(note) for partition in facts.partitions for note in partition.row.notes} if facts else set()
        )
        return notes | ({"transaction-markers"} if self._only_markers(group) else set())

    def _only_markers(self, group: str) -> bool:
        """Whether what a lag is made of are ends of transactions, and no record."""
        if group not in self.facts or not self.lag(group):
            return False
        report = lag_report(self.logs, groups=group, breakdown=True, now_ms=self.now_ms)
        rows = [row for batch in report.batches() for row in batch.to_pylist() if row["lag"]]
        return bool(rows) and all(row["transaction_markers"] == row["lag"] for row in rows)

    def lag(self, group: str) -> int:
        facts = self.facts.get(group)
        return sum(max(0, partition.row.lag or 0) for partition in facts.partitions) if facts else 0

    def log_starts(self, group: str) -> int:
        facts = self.facts.get(group)
        return max((p.row.log_start_offset or 0 for p in facts.partitions), default=0) if facts else 0

    def baseline_rings(self, group: str) -> bool:
        """What most have: an alarm on a lag above 1,000, and on no commit for 5 minutes."""
        facts = self.facts.get(group)
        if facts is None:
            return False
        commits = [p.row.commit_timestamp for p in facts.partitions if p.row.commit_timestamp is not None]
        is_silent = bool(facts.partitions) and self.now_ms - max(commits, default=0) > BASELINE_SILENT_MS
        return is_silent or any((partition.row.lag or 0) > BASELINE_LAG for partition in facts.partitions)
