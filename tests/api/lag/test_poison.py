"""A record that stops each owner of its partition, in a log directory: from records to the finding."""

from pathlib import Path
from unittest.mock import patch

from kgroup.api.lag.report import lag_report
from kgroup.api.opened import open_logs
from kgroup.history.timeline.replay import replay
from kgroup.log.format.batch import encode_batch
from kgroup.log.format.record import LogRecord
from kgroup.protocol.records.codec import encode_entry
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry
from kgroup.protocol.records.values import MemberMetadata
from tests.history.group_log import GroupLog, member
from tests.log.offsets_log import NAME

POISON = 600
END_S = 420


def crash_loop(log: GroupLog, *, poisoned: bool) -> None:
    """A pod that owns partition 0 is killed by its record 600 every 90 s, and comes back with a new id."""
    owners = ["pod-a", "pod-b", "pod-a", "pod-b"]
    for number, owner in enumerate(owners):
        began = 60 + 90 * number
        others = [other for other in ("pod-a", "pod-b") if other != owner]
        log.generation(began, number + 1, _pod(owner, number, 0), _pod(others[0], 99, 1))
        for at in range(began + 5, began + 85, 5):
            log.commit(at, 1, 10 * at)
            if not poisoned or 10 * at <= POISON + 100:
                log.commit(at, 0, min(10 * at, POISON) if poisoned else 10 * at)


def _pod(name: str, number: int, partition: int) -> MemberMetadata:
    return member(f"{name}-{number}", partition, client=name)


def log_dir(folder: Path, log: GroupLog) -> Path:
    """The group's log, and both partitions of its topic, of ten records a second."""
    raw = b"".join(_batch(entry) for entry in log.entries if isinstance(entry, LoggedEntry))
    records = [
        LogRecord(offset=offset, timestamp_ms=100 * offset, key=None, value=b"v")
        for offset in range(10 * END_S)
    ]
    written = b"".join(
        encode_batch(records[first : first + 10], base_offset=first) for first in range(0, len(records), 10)
    )
    for name, content in (("__consumer_offsets-0", raw), ("t-0", written), ("t-1", written)):
        (folder / name).mkdir(parents=True)
        (folder / name / NAME).write_bytes(content)
    return folder


def _batch(logged: LoggedEntry) -> bytes:
    assert isinstance(logged.entry, OffsetsEntry)
    key, value = encode_entry(logged.entry)
    record = LogRecord(offset=logged.offset, timestamp_ms=logged.timestamp_ms, key=key, value=value)
    return encode_batch([record], base_offset=logged.offset)


def said(folder: Path) -> dict[str, int | None]:
    """Each finding and its partition."""
    report = lag_report(open_logs(folder), findings=True, now_ms=1000 * END_S)
    return {finding.kind.value: finding.partition for finding in report.findings()}


def test_a_record_that_kills_each_pod_that_gets_it(tmp_path: Path) -> None:
    log = GroupLog()
    crash_loop(log, poisoned=True)
    assert said(log_dir(tmp_path, log)) == {"poison-record": 0}


def test_the_same_restarts_without_such_a_record(tmp_path: Path) -> None:
    log = GroupLog()
    crash_loop(log, poisoned=False)
    assert said(log_dir(tmp_path, log)) == {}


def test_the_history_of_a_group_is_played_once(tmp_path: Path) -> None:
    """It takes more than all else that findings are made of."""
    log = GroupLog()
    crash_loop(log, poisoned=True)
    with patch("kgroup.api.lag.facts.replay", wraps=replay) as playing:
        said(log_dir(tmp_path, log))
    assert playing.call_count == 1
