"""What `lag-report --stuck` finds on a capture, held against its diary.

Conditions about lag, as they are when the capture ends: each must be among the findings, unless the log
cannot show it, which raises `HeldError` with the reason. A finding graded `recorded` or `inferred` must have
something in the diary that made it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgroup.api.lag.options import LagOptions
from kgroup.api.lag.reading import AsOf, read_log
from kgroup.api.lag.report import report_of
from kgroup.api.opened import open_logs
from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.model import Finding, FindingKind, GroupFacts
from kgroup.lag.status.model import Judged
from kgroup.lag.status.rule_set import RuleSet
from kgroup.lag.status.window_evidence import SHORTEST_MS
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.report.progress import NO_PROGRESS
from tests.vectors.story import SLOW_MS, HeldError, Story

K = FindingKind
_STANDING = (K.STOPPED_GROUP, K.STATIC_MEMBER_SILENT, K.STALLED_MEMBER, K.STALLED_PARTITION)


@dataclass(frozen=True, slots=True)
class Found:
    """The facts, findings and statuses of each group when the capture ends."""

    facts: dict[str, GroupFacts]
    judged: dict[str, dict[TopicPartition, Judged]]
    findings: dict[str, tuple[Finding, ...]]

    def of(self, group: str, *kinds: FindingKind) -> list[Finding]:
        return [finding for finding in self.findings.get(group, ()) if finding.kind in kinds]


def find_in(folder: Path, now_ms: int) -> Found:
    """What `lag-report FOLDER --stuck --now now_ms` goes by, and says."""
    return finder(folder)(now_ms)


def finder(folder: Path) -> Callable[[int], Found]:
    """Read a capture once, to be asked as of several times (epoch ms)."""
    logs = open_logs(folder)
    options = LagOptions(findings=True, rules=RuleSet.KGROUP)
    scanned = read_log(logs, options.plan, NO_PROGRESS, None)

    def found_at(now_ms: int) -> Found:
        report = report_of(logs, options, scanned, AsOf(now_ms=now_ms, log_ms=now_ms))
        facts, judged, findings = {}, {}, {}
        for (one, of_partitions), of_group in report.groups():
            group = one.group.group_id
            facts[group], findings[group] = one, tuple(of_group)
            said = zip(one.partitions, of_partitions, strict=True)
            judged[group] = {known.topic_partition: status for known, status in said if status is not None}
        return Found(facts, judged, findings)

    return found_at


def lag_failure(story: Story, condition: dict[str, Any], answers: Found) -> str | None:
    """What is wrong with the findings on a group of which the condition holds when the capture ends."""
    if condition["to_ms"] < story.stopped_ms - SLOW_MS:
        raise HeldError("it was over before the log ends, and findings are of its end")
    facts = answers.facts.get(condition["group"])
    if facts is None or not facts.partitions:
        raise HeldError("nothing of the group is left in the log: expired, deleted or compacted")
    if all(
        partition.row.lag is None and partition.row.current_offset is not None
        for partition in facts.partitions
    ):
        raise HeldError("no file says where the logs of its topics end")
    failure = JUDGES[condition["condition"]](condition, answers)
    if failure is not None:
        raise_if_unknowable(condition, facts)
    return failure


def raise_if_unknowable(condition: dict[str, Any], facts: GroupFacts) -> None:
    """A standstill takes time, and proof that there was something to read meanwhile."""
    if condition["condition"] == "caught-up-idle":
        return
    if condition["to_ms"] - condition["from_ms"] < SHORTEST_MS:
        raise HeldError("it is younger than what kgroup calls a standstill")
    waiting = [partition for partition in facts.partitions if (partition.row.lag or 0) > 0]
    proven = [partition for partition in waiting if partition.unread_by_ms is not None]
    if waiting and not proven and condition["condition"] != "empty-with-lag-growing":
        raise HeldError(
            "no other group read the topic and its own log is not here: when records came is unknown"
        )


def stuck(condition: dict[str, Any], answers: Found) -> str | None:
    hits = answers.of(condition["group"], K.STOPPED_GROUP)
    return _timely(condition, hits) if hits else _said(condition, answers, "no stopped-group")


def stuck_partition(condition: dict[str, Any], answers: Found) -> str | None:
    hits = answers.of(condition["group"], *_STANDING)
    named = {f"{finding.topic}-{finding.partition}" for finding in hits}
    if named != {condition["partition"]}:
        return _said(condition, answers, f"{sorted(named)} named")
    return _timely(condition, hits)


def growing(condition: dict[str, Any], answers: Found) -> str | None:
    if answers.of(condition["group"], *_STANDING):
        return _said(condition, answers, "a standstill named")
    return (
        None if answers.of(condition["group"], K.LAG_GROWING) else _said(condition, answers, "no lag-growing")
    )


def idle(condition: dict[str, Any], answers: Found) -> str | None:
    accused = answers.findings.get(condition["group"], ())
    return _said(condition, answers, "accused") if accused else None


def abandoned(condition: dict[str, Any], answers: Found) -> str | None:
    hits = answers.of(condition["group"], K.DEAD_WITH_LAG)
    return _timely(condition, hits) if hits else _said(condition, answers, "no dead-with-lag")


def hot(condition: dict[str, Any], answers: Found) -> str | None:
    hits = answers.of(condition["group"], K.HOT_PARTITION)
    return None if hits else _said(condition, answers, "no hot-partition")


def uncommitted(condition: dict[str, Any], answers: Found) -> str | None:
    hits = answers.of(condition["group"], K.NEVER_COMMITS, K.STOPPED_GROUP)
    return None if hits else _said(condition, answers, "no never-commits")


JUDGES: dict[str, Callable[[dict[str, Any], Found], str | None]] = {
    "stuck-no-commits": stuck,
    "stuck-one-partition": stuck_partition,
    "lag-growing": growing,
    "caught-up-idle": idle,
    "empty-with-lag-growing": abandoned,
    "never-commits": uncommitted,
    "hot-partition": hot,
}


def _timely(condition: dict[str, Any], hits: list[Finding]) -> str | None:
    """A group's last commit is a little older, or younger, than what the driver did to it."""
    first, last = condition["from_ms"] - SLOW_MS, condition["to_ms"]
    wrong = [
        finding.since_ms
        for finding in hits
        if finding.since_ms is None or not first <= finding.since_ms <= last
    ]
    return f"since {wrong}, not in {first} to {last}" if wrong else None


def _said(condition: dict[str, Any], answers: Found, failure: str) -> str:
    kinds = [str(finding.kind) for finding in answers.findings.get(condition["group"], ())]
    return f"{failure}; findings are {kinds}"


def false_findings(story: Story, answers: Found) -> Iterator[tuple[str, list[Finding]]]:
    """By group the graded findings that nothing in the diary made."""
    for group, findings in answers.findings.items():
        graded = [finding for finding in findings if finding.grade is not Grade.UNKNOWN]
        yield group, [finding for finding in graded if not is_made(story, finding)]


def is_made(story: Story, finding: Finding) -> bool:
    """Whether the diary has something that made what was found."""
    group, of_group = finding.group, {t["condition"] for t in story.truth if t["group"] == finding.group}
    match finding.kind:
        case K.STOPPED_GROUP | K.STATIC_MEMBER_SILENT | K.STALLED_MEMBER | K.STALLED_PARTITION:
            return bool(of_group & {"stuck-no-commits", "stuck-one-partition"}) or any(
                _ceased_to_commit(story, finding)
            )
        case K.NEVER_COMMITS:
            starts = story.of(group, "start-member")
            return "never-commits" in of_group or any(event.get("policy") == "none" for event in starts)
        case K.DEAD_WITH_LAG | K.EMPTY_GROUP:
            return not any(_is_alive(story, event) for event in story.of(group, "start-member"))
        case K.REBALANCE_STORM:
            return "rebalance-storm" in of_group
        case K.MEMBERS_OSCILLATE:
            return "autoscaler-flapping" in of_group
        case K.INSTANCE_ID_DUEL:
            return "one-instance-id-used-twice" in of_group
        case K.REWOUND:
            return any(True for kind in ("do", "raw-commit", "admin") for _ in story.of(group, kind))
        case K.SKIPPED_RECORDS:
            return "retention-deleted-unread" in of_group
        case K.DOUBLED_RECORDS:
            return any(True for kind in ("do", "admin") for _ in story.of(group, kind))
        case K.LAG_GROWING:
            return "lag-growing" in of_group or any(_ceased_to_commit(story, finding))
        case K.HOT_PARTITION:
            return bool(of_group & {"stuck-one-partition", "hot-partition"})
        case K.OFFSETS_EXPIRE:
            return any(True for _ in story.of(group, "raw-commit"))
        case _:
            return False


def _ceased_to_commit(story: Story, finding: Finding) -> Iterator[bool]:
    """Who commits only when told to, or by hand, or was stopped, or failed to commit."""
    group = finding.group
    starts = list(story.of(group, "start-member"))
    yield from (event.get("policy") == "none" for event in starts)
    yield from (True for _ in story.of(group, "raw-commit"))
    partition = f"{finding.topic}-{finding.partition}"
    for event in starts:
        assigned = str(event.get("assign", "")).split(",")
        yield finding.kind is K.STALLED_PARTITION and partition in assigned and not _is_alive(story, event)
    handles = {event["handle"] for event in starts}
    yield from (event.get("handle") in handles for event in story.of(None, "commit-error"))


def _is_alive(story: Story, start: dict[str, Any]) -> bool:
    """Whether the diary tells no end of a member. Clients in other languages end when their time is over."""
    if "client_library" in start:
        return False
    ends = [*story.of(start["group"], "stop-member"), *story.of(start["group"], "kill-member")]
    return all(end["handle"] != start["handle"] or end["t"] < start["t"] for end in ends)
