"""Partitions that nobody owns, and a last record that was committed: by the files of a broker."""

from pathlib import Path

from kgroup.api.lag.report import lag_report
from kgroup.api.opened import open_logs
from kgroup.lag.findings.model import Finding, FindingKind
from kgroup.log.format.batch import encode_batch
from kgroup.log.format.record import LogRecord
from kgroup.protocol.records.codec import encode_entry
from kgroup.protocol.records.entries import OffsetsEntry, RecordType
from kgroup.protocol.records.keys import GroupMetadataKey, OffsetCommitKey
from kgroup.protocol.records.values import GroupMetadataValue, OffsetCommitValue
from tests.history.group_log import member
from tests.log.offsets_log import NAME, marker

NOW_MS = 10_000_000
GROUP, OTHER = "orders", "audit"


def ago(seconds):
    return NOW_MS - seconds * 1000


def settled(seconds, *members, group=GROUP):
    value = GroupMetadataValue(
        protocol_type="consumer",
        generation=3,
        protocol="range",
        leader=members[0].member_id,
        current_state_timestamp=ago(seconds),
        members=members,
    )
    entry = OffsetsEntry(
        type=RecordType.GROUP_METADATA, key=GroupMetadataKey(group=group), value=value, value_version=3
    )
    return ago(seconds), entry


def commit(seconds, partition, offset, *, group=GROUP):
    value = OffsetCommitValue(offset=offset, metadata="", commit_timestamp=ago(seconds))
    key = OffsetCommitKey(group=group, topic="t", partition=partition)
    entry = OffsetsEntry(type=RecordType.OFFSET_COMMIT, key=key, value=value, value_version=3)
    return ago(seconds), entry


def write_offsets(folder: Path, *entries):
    content = b""
    for offset, (at_ms, entry) in enumerate(sorted(entries, key=lambda timed: timed[0])):
        key, value = encode_entry(entry)
        record = LogRecord(offset=offset, timestamp_ms=at_ms, key=key, value=value)
        content += encode_batch([record], base_offset=offset, leader_epoch=0)
    _write(folder / "__consumer_offsets-7", content)


def write_topic(folder: Path, partition: int, *seconds: float, end: bytes = b""):
    content = b"".join(
        encode_batch(
            [LogRecord(offset=offset, timestamp_ms=ago(at), key=None, value=b"v")],
            base_offset=offset,
            leader_epoch=0,
        )
        for offset, at in enumerate(seconds)
    )
    _write(folder / f"t-{partition}", content + end)


def _write(folder: Path, content: bytes):
    folder.mkdir()
    (folder / NAME).write_bytes(content)


def findings(folder: Path, kind: FindingKind, *, hygiene: bool = True) -> list[Finding]:
    report = lag_report(open_logs(folder), findings=True, hygiene=hygiene, now_ms=NOW_MS)
    return [finding for finding in report.findings() if finding.kind is kind]


class TestUnowned:
    """The group owns partitions 0 and 1 of `t`, since an hour ago."""

    def write_group(self, folder, *others):
        own = (commit(seconds, partition, 5) for seconds in (40, 20) for partition in (0, 1))
        write_offsets(folder, settled(3600, member("a", 0, 1)), *own, *others)
        for partition in (0, 1):
            write_topic(folder, partition, *(5_000 + back for back in range(5)))

    def test_by_the_partitions_own_records(self, tmp_path):
        self.write_group(tmp_path)
        write_topic(tmp_path, 2, 1200, 600, 30)
        (finding,) = findings(tmp_path, FindingKind.UNOWNED_PARTITION, hygiene=False)
        assert (finding.topic, finding.partition, finding.since_ms) == ("t", 2, ago(1200))
        assert finding.numbers["unread"] == 3

    def test_by_the_commits_of_others(self, tmp_path):
        self.write_group(tmp_path, *(commit(at, 2, 7_000 - at, group=OTHER) for at in (900, 500, 60)))
        write_topic(tmp_path, 3)
        (finding,) = findings(tmp_path, FindingKind.UNOWNED_PARTITION, hygiene=False)
        assert (finding.partition, finding.since_ms) == (2, ago(900))
        assert finding.numbers["unread"] is None  # its log is elsewhere

    def test_not_one_that_has_just_been_made(self, tmp_path):
        self.write_group(tmp_path, commit(200, 2, 3, group=OTHER))
        write_topic(tmp_path, 2, 250, 100)
        assert not findings(tmp_path, FindingKind.UNOWNED_PARTITION)

    def test_not_one_that_others_committed_before_the_group_met_and_no_more(self, tmp_path):
        self.write_group(tmp_path, commit(8000, 2, 3, group=OTHER), commit(7000, 2, 9, group=OTHER))
        assert not findings(tmp_path, FindingKind.UNOWNED_PARTITION)

    def test_not_one_of_unknown_age(self, tmp_path):
        self.write_group(tmp_path)
        write_topic(tmp_path, 2)
        assert not findings(tmp_path, FindingKind.UNOWNED_PARTITION)

    def test_what_is_chosen_of_the_groups_makes_no_difference(self, tmp_path):
        self.write_group(tmp_path, *(commit(at, 2, 7_000 - at, group=OTHER) for at in (900, 500, 60)))
        report = lag_report(open_logs(tmp_path), groups=GROUP, findings=True, now_ms=NOW_MS)
        assert FindingKind.UNOWNED_PARTITION in {finding.kind for finding in report.findings()}


class TestLastOffset:
    """Six records, the last 401 seconds ago; a second later offset 5 is committed, not 6."""

    RECORDS = (900, 800, 700, 600, 500, 401)

    def write_group(self, folder):
        own = (commit(600 - 50 * step, partition, 1 + step) for step in range(5) for partition in (0, 1))
        write_offsets(folder, settled(3600, member("a", 0, 1)), *own)

    def test_a_lag_of_1_that_was_read(self, tmp_path):
        self.write_group(tmp_path)
        for partition in (0, 1):
            write_topic(tmp_path, partition, *self.RECORDS)
        (finding,) = findings(tmp_path, FindingKind.COMMITS_LAST_OFFSET)
        assert (finding.topic, finding.numbers["partitions"]) == ("t", 2)
        assert findings(tmp_path, FindingKind.STOPPED_GROUP) == []

    def test_not_of_a_record_that_came_after_the_commit(self, tmp_path):
        self.write_group(tmp_path)
        for partition in (0, 1):
            write_topic(tmp_path, partition, *self.RECORDS[:-1], 399)
        assert findings(tmp_path, FindingKind.COMMITS_LAST_OFFSET) == []

    def test_a_marker_at_the_end_makes_it_honest(self, tmp_path):
        self.write_group(tmp_path)
        for partition in (0, 1):
            write_topic(tmp_path, partition, *self.RECORDS[:-1], end=marker(5, 9, committed=True))
        assert findings(tmp_path, FindingKind.COMMITS_LAST_OFFSET) == []


def test_idle_commits_are_counted_from_when_the_offset_was_reached(tmp_path):
    idle = [commit(seconds, 0, 3) for seconds in range(1, 700, 5)]
    write_offsets(tmp_path, settled(3600, member("a", 0)), commit(800, 0, 2), commit(707, 0, 3), *idle)
    write_topic(tmp_path, 0, 900, 850, 800)
    (finding,) = findings(tmp_path, FindingKind.IDLE_COMMITS)
    assert finding.since_ms is not None
    assert (
        ago(707) <= finding.since_ms <= ago(600)
    )  # what is kept of how far anybody got goes back ten minutes
    assert findings(tmp_path, FindingKind.IDLE_COMMITS, hygiene=False) == []


def test_made_up_names_are_told_of_as_one(tmp_path):
    commits = [commit(50, 0, 1, group=f"tail-{10_000 + number}") for number in range(120)]
    write_offsets(tmp_path, *commits)
    with_hygiene = lag_report(open_logs(tmp_path), findings=True, hygiene=True, now_ms=NOW_MS)
    (line,) = [line for line in with_hygiene.remarks if line.startswith("group-census")]
    assert line.startswith("group-census: 120 groups are called tail-*, 120 of them without members")
    without = lag_report(open_logs(tmp_path), findings=True, now_ms=NOW_MS)
    assert not any(line.startswith("group-census") for line in without.remarks)
