"""The statuses of a capture's partitions, held against the findings on their groups.

Neither may contradict the other: whoever reads `lag-report --status` and whoever reads `--stuck`, as of the
same time, must come to the same mind about every partition.
"""

from collections.abc import Iterator, Mapping

from kgroup.lag.findings.model import Finding, FindingKind, GroupFacts, PartitionFacts
from kgroup.lag.status.model import Judged, PartitionStatus
from kgroup.protocol.topic_partition import TopicPartition
from tests.vectors.story_findings import Found

K, S = FindingKind, PartitionStatus
STANDING = {K.STOPPED_GROUP, K.STATIC_MEMBER_SILENT, K.STALLED_MEMBER, K.STALLED_PARTITION}
CEASING = STANDING | {K.DEAD_WITH_LAG, K.POISON_RECORD, K.HANGING_TRANSACTION}
BEHIND = {K.LAG_GROWING, K.HOT_PARTITION, K.SLOW_MEMBER, K.OPEN_TRANSACTION, K.POISON_RECORD}
CEASED = {S.STOP, S.STALL}


def contradictions(answers: Found) -> Iterator[tuple[str, list[str]]]:
    """By group what status and findings say against each other."""
    for group, facts in answers.facts.items():
        judged = answers.judged[group]
        findings = answers.findings[group]
        against = [*_of_statuses(facts, judged, findings), *_of_findings(facts, judged, findings)]
        yield group, against


def _of_statuses(
    facts: GroupFacts, judged: Mapping[TopicPartition, Judged], findings: tuple[Finding, ...]
) -> Iterator[str]:
    """Each partition whose status is a fault has a finding, and none that has one and lags is well."""
    for partition in facts.partitions:
        if partition.topic_partition not in judged:
            continue
        status = judged[partition.topic_partition].status
        kinds = {str(finding.kind) for finding in findings if is_about(finding, partition)}
        contradiction = f"{partition.topic_partition} is {status}, findings are {sorted(kinds)}"
        if status in CEASED and not kinds & CEASING:
            yield contradiction
        if status is S.REWIND and K.REWOUND not in kinds and K.ZOMBIE_COMMITS not in kinds:
            yield contradiction
        if status is S.WARN and not kinds & BEHIND:
            yield contradiction
        if status is S.OK and kinds & (STANDING | {K.DEAD_WITH_LAG}) and (partition.row.lag or 0) > 0:
            yield contradiction


def _of_findings(
    facts: GroupFacts, judged: Mapping[TopicPartition, Judged], findings: tuple[Finding, ...]
) -> Iterator[str]:
    """As many partitions as a finding counts have its status."""
    for finding in findings:
        expected = CEASED if finding.kind in STANDING else {S.WARN}
        if finding.kind not in STANDING | {K.LAG_GROWING, K.OPEN_TRANSACTION}:
            continue
        statuses = [
            judged[partition.topic_partition].status
            for partition in facts.partitions
            if partition.topic_partition in judged and is_about(finding, partition)
        ]
        named = finding.numbers.get("partitions") or 1
        if len([status for status in statuses if status in expected]) != named:
            yield f"{finding.kind} on {named} partitions, statuses are {statuses}"


def is_about(finding: Finding, partition: PartitionFacts) -> bool:
    """Whether what a finding names has a partition in it."""
    row = partition.row
    return (
        finding.topic in (None, row.topic)
        and finding.partition in (None, row.partition)
        and finding.member_id in (None, row.member_id)
    )
