"""A group's position before something went wrong: the offsets that findings name."""

from collections.abc import Mapping, Sequence
from typing import Final

from kgroup.api.lag.report import lag_report
from kgroup.api.live import LiveLogs
from kgroup.errors import InputError, RefusedError, nearest_or_all
from kgroup.lag.findings.model import Finding, FindingKind
from kgroup.net.connect.properties import ConnectionOptions
from kgroup.operations.model import Position
from kgroup.operations.targets import Strategy, ToPositions
from kgroup.protocol.topic_partition import TopicPartition

_OFFSETS: Final[Mapping[FindingKind, str]] = {
    FindingKind.SKIPPED_RECORDS: "from_offset",
    FindingKind.DOUBLED_RECORDS: "from_offset",
    FindingKind.REWOUND: "from_offset",
    FindingKind.POISON_RECORD: "committed_offset",
}
"""Of each kind the number that says where the group was before, or what it stands at."""


def to_before(
    connection: ConnectionOptions, kind_name: str, groups: Sequence[str], now_ms: int
) -> dict[str, Strategy]:
    """Each group's position before findings of a kind, on the partitions that have one.

    For `poison-record`, its position now. Raises InputError for a kind that names no offset, RefusedError for
    a group without such a finding, and the errors of reading a live cluster's offsets topic.
    """
    kinds = {kind.value: kind for kind in _OFFSETS}
    if kind_name not in kinds:
        raise InputError(f"--to-before {kind_name}: {nearest_or_all(kind_name, kinds)}")
    with LiveLogs(connection) as logs:
        found = lag_report(logs, groups=list(groups), findings=True, now_ms=now_ms).findings()
    of_kind = [finding for finding in found if finding.kind is kinds[kind_name]]
    return {group: _strategy(group, kind_name, of_kind) for group in groups}


def _strategy(group: str, kind_name: str, findings: Sequence[Finding]) -> ToPositions:
    positions: dict[TopicPartition, Position] = {}
    for finding in findings:
        offset = finding.numbers.get(_OFFSETS[finding.kind])
        if finding.group != group or finding.topic is None or finding.partition is None:
            continue
        if isinstance(offset, int):
            place = finding.topic, finding.partition
            earliest = min(offset, positions[place].offset) if place in positions else offset
            positions[place] = Position(earliest)
    if not positions:
        raise RefusedError(f"--to-before {kind_name}: kgroup stuck finds no such thing on group {group!r}")
    return ToPositions(positions={**positions}, source=f"--to-before {kind_name}")
