"""Partition folders by topic: of replicas the longest, and nothing that Kafka has put aside."""

import os
from pathlib import Path

import pytest

from kgroup.log.files.sources import read_log_dir
from kgroup.log.topics.topic_logs import DataLogs
from tests.log.offsets_log import batch, write

TOPIC = "__consumer_offsets"
RECORD = (b"k", b"v")
CLEANER = "cleaner-offset-checkpoint"


def logs(*folders: Path) -> DataLogs:
    return DataLogs(read_log_dir(folder) for folder in folders)


@pytest.mark.parametrize("order", [1, -1], ids=["the-longer-first", "the-shorter-first"])
def test_of_replicas_the_longest_is_the_log(tmp_path: Path, order: int) -> None:
    longer, shorter = tmp_path / "a", tmp_path / "b"
    write(longer, [batch(0, [RECORD]), batch(1, [RECORD])])
    write(shorter, [batch(0, [RECORD])])
    found = logs(*[longer, shorter][::order])
    assert found.end(TOPIC, 7) == 2
    folder = found.folder(TOPIC, 7)
    assert folder is not None
    assert folder.path.parent == longer


def test_a_folder_that_kafka_has_put_aside_is_no_replica(tmp_path: Path) -> None:
    write(tmp_path, [batch(0, [RECORD])])
    put_aside = write(tmp_path, [batch(0, [RECORD, RECORD, RECORD])], partition=8).parent
    put_aside.rename(tmp_path / f"{TOPIC}-7.0123456789abcdef0123456789abcdef-delete")
    found = logs(tmp_path)
    assert (found.places(), found.end(TOPIC, 7)) == ([(TOPIC, 7)], 1)


@pytest.mark.parametrize(
    ("cleaned", "size", "records"),
    [(True, 0, 2), (True, 64 * 1024 * 1024 + 1, None), (False, 0, None)],
    ids=["compacted", "too-much-to-read", "never-compacted"],
)
def test_records_are_counted_where_offsets_do_not_tell_and_if_it_is_no_long_work(
    tmp_path: Path, cleaned: bool, size: int, records: int | None
) -> None:
    """Offsets 0 to 4, of which the cleaner has left two."""
    path = write(tmp_path, [batch(0, [RECORD]), batch(4, [RECORD])])
    if size:
        os.truncate(path, size)
    if cleaned:
        (tmp_path / CLEANER).write_text(f"0\n1\n{TOPIC} 7 5\n")
    assert logs(tmp_path).unread_records(TOPIC, 7, 0) == records


def test_a_segment_that_was_just_begun_says_where_the_log_ends(tmp_path: Path) -> None:
    """Offsets 1 to 4 were the cleaner's."""
    write(tmp_path, [batch(0, [RECORD])]).with_name(f"{5:020}.log").touch()
    assert logs(tmp_path).end(TOPIC, 7) == 5


def test_a_log_begins_no_sooner_than_its_first_segment(tmp_path: Path) -> None:
    """A checkpoint is written every minute, and segments that are too old go meanwhile."""
    path = write(tmp_path, [batch(20, [RECORD])])
    path.rename(path.with_name(f"{20:020}.log"))
    (tmp_path / "log-start-offset-checkpoint").write_text(f"0\n1\n{TOPIC} 7 5\n")
    folder = logs(tmp_path).folder(TOPIC, 7)
    assert folder is not None
    assert folder.log_start_offset() == 20
