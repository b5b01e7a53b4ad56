"""Readers that wait for an open transaction, in a log directory with the partitions' own logs."""

from pathlib import Path

import pytest

from kgroup.api.lag.report import lag_report
from kgroup.api.opened import open_logs
from kgroup.log.format.batch import encode_batch
from kgroup.log.format.record import LogRecord
from kgroup.protocol.records.codec import encode_entry
from kgroup.protocol.records.entries import OffsetsEntry, RecordType
from kgroup.protocol.records.keys import OffsetCommitKey
from kgroup.protocol.records.values import OffsetCommitValue
from tests.log.offsets_log import NAME, marker

BEGIN_MS = 1_700_000_000_000
EVERY_MS = 2_000


def written(first: int, number: int, producer_id: int = -1) -> bytes:
    """Records, one every two seconds."""
    records = [
        LogRecord(offset=offset, timestamp_ms=BEGIN_MS + EVERY_MS * offset, key=None, value=b"v")
        for offset in range(first, first + number)
    ]
    is_transactional = producer_id >= 0
    return encode_batch(
        records,
        base_offset=first,
        producer_id=producer_id,
        producer_epoch=3 if is_transactional else -1,
        transactional=is_transactional,
    )


def commits(group: str, offsets: list[int]) -> list[tuple[bytes, bytes]]:
    """Commits of `group`, each when the record before it was written."""
    encoded = []
    for offset in offsets:
        value = OffsetCommitValue(offset=offset, metadata="", commit_timestamp=BEGIN_MS + EVERY_MS * offset)
        key = OffsetCommitKey(group=group, topic="ledger", partition=0)
        entry = OffsetsEntry(type=RecordType.OFFSET_COMMIT, key=key, value=value, value_version=3)
        raw_key, raw_value = encode_entry(entry)
        assert raw_key is not None and raw_value is not None
        encoded.append((raw_key, raw_value))
    return encoded


def log_dir(folder: Path, ledger: list[bytes], of_groups: dict[str, list[int]]) -> Path:
    """A log directory with the topic `ledger` and the commits of groups without members."""
    pairs = [pair for group, offsets in of_groups.items() for pair in commits(group, offsets)]
    records = [
        LogRecord(offset=offset, timestamp_ms=BEGIN_MS, key=key, value=value)
        for offset, (key, value) in enumerate(pairs)
    ]
    for name, content in (
        ("__consumer_offsets-0", encode_batch(records, base_offset=0)),
        ("ledger-0", b"".join(ledger)),
    ):
        (folder / name).mkdir()
        (folder / name / NAME).write_bytes(content)
    return folder


LEDGER = [written(0, 100), written(100, 1, producer_id=7), written(101, 99)]
GROUPS = {
    "committed": list(range(91, 101)),
    "uncommitted": list(range(191, 201)),
    "hangs": list(range(71, 81)),
}
NOW_MS = BEGIN_MS + EVERY_MS * 201


def said(folder: Path) -> dict[str, tuple[str, str]]:
    """Of each group with a finding its kind, and the rule of its status."""
    report = lag_report(open_logs(folder), findings=True, status=True, now_ms=NOW_MS)
    rules = {row["group"]: row["rule"] for row in report.to_arrow().to_pylist()}
    assert report.problems == ()
    return {finding.group: (finding.kind.value, rules[finding.group]) for finding in report.findings()}


def test_who_stands_at_it_is_blocked_and_who_could_read_is_not(tmp_path: Path) -> None:
    folder = log_dir(tmp_path, LEDGER, GROUPS)
    assert said(folder) == {
        "committed": ("open-transaction", "open-transaction"),
        "hangs": ("stopped-group", "rhythm-broken"),
    }


@pytest.mark.parametrize("committed", [True, False])
def test_a_transaction_that_has_ended_blocks_nobody(tmp_path: Path, committed: bool) -> None:
    ended = [*LEDGER[:2], marker(101, 7, committed=committed), written(102, 98)]
    folder = log_dir(tmp_path, ended, GROUPS)
    assert said(folder) == {
        "committed": ("stopped-group", "rhythm-broken"),
        "hangs": ("stopped-group", "rhythm-broken"),
    }


def test_damage_behind_the_offset_is_told_and_accuses_no_transaction(tmp_path: Path) -> None:
    torn = bytearray(written(102, 98))
    torn[-1] ^= 1
    folder = log_dir(tmp_path, [*LEDGER[:2], bytes(torn), written(200, 10)], GROUPS)
    report = lag_report(open_logs(folder), findings=True, now_ms=NOW_MS)
    kinds = {finding.group: finding.kind.value for finding in report.findings()}
    assert kinds["committed"] == "stopped-group"
    assert any("ledger-0" in problem for problem in report.problems)


def test_a_compacted_log_has_fewer_records_than_offsets(tmp_path: Path) -> None:
    """Of 120 offsets from 80 on the cleaner has left 30 records."""
    compacted = [written(0, 80), written(100, 1), written(150, 20), written(191, 9)]
    folder = log_dir(tmp_path, compacted, {"hangs": GROUPS["hangs"], "ahead": GROUPS["uncommitted"]})
    (finding,) = lag_report(open_logs(folder), findings=True, now_ms=NOW_MS).findings()
    assert "120 unread on 1 partition" in finding.evidence
    (folder / "cleaner-offset-checkpoint").write_text("0\n1\nledger 0 191\n")
    (finding,) = lag_report(open_logs(folder), findings=True, now_ms=NOW_MS).findings()
    assert "120 unread (30 records: compacted) on 1 partition" in finding.evidence


@pytest.mark.parametrize(("committed", "kinds"), [(False, []), (True, ["stopped-group"])])
def test_records_of_aborted_transactions_wait_for_nobody(
    tmp_path: Path, committed: bool, kinds: list[str]
) -> None:
    ledger = [*LEDGER[:2], marker(101, 7, committed=committed)]
    folder = log_dir(tmp_path, ledger, {"committed": GROUPS["committed"]})
    report = lag_report(open_logs(folder), findings=True, now_ms=NOW_MS + 300_000)
    assert [finding.kind.value for finding in report.findings()] == kinds


def test_what_was_deleted_unread_had_waited_before(tmp_path: Path) -> None:
    """The log starts at 150 in the midst of a segment, and the group stands at 80."""
    batches = [written(first, 10) for first in range(0, 200, 10)]
    folder = log_dir(tmp_path, batches, {"hangs": GROUPS["hangs"]})
    (folder / "log-start-offset-checkpoint").write_text("0\n1\nledger 0 150\n")
    (finding,) = lag_report(open_logs(folder), findings=True, now_ms=NOW_MS).findings()
    assert finding.since_ms == BEGIN_MS + EVERY_MS * 89
