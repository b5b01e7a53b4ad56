"""Partition folders: names, segments, and where the log begins and ends."""

import json
import shutil
from pathlib import Path

import pytest

from kgroup.errors import SourceError
from kgroup.log.files.checkpoints import read_offset_checkpoint
from kgroup.log.files.log_dir import (
    PartitionFolder,
    parse_folder_name,
    parse_segment_name,
    read_partition_folder,
)
from tests.log.truth import CAPTURES, FIXTURES, name_of

FOLDERS = sorted(
    folder for capture in CAPTURES for folder in capture.glob("*-*") if any(folder.glob("*.log"))
)
DATA_FOLDERS = [folder for folder in FOLDERS if not folder.name.startswith("__")]
COMPACTED = FIXTURES / "3.9.1/compacted"
SEGMENT = "00000000000000000000"


def read(path: Path) -> PartitionFolder:
    folder = read_partition_folder(path)
    assert folder is not None
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of a partition of three segments."""
    return Path(shutil.copytree(COMPACTED / "__consumer_offsets-11", tmp_path / "__consumer_offsets-11"))


@pytest.mark.parametrize(
    ("name", "topic", "partition"),
    [
        ("orders-0", "orders", 0),
        ("__consumer_offsets-49", "__consumer_offsets", 49),
        ("clicks.web-1", "clicks.web", 1),
        ("sensor-readings-11", "sensor-readings", 11),
        ("a-b.c_d-2-3", "a-b.c_d-2", 3),
        ("orders-delete-0", "orders-delete", 0),
    ],
)
def test_the_partition_is_behind_the_last_dash(name: str, topic: str, partition: int) -> None:
    assert parse_folder_name(name) == (topic, partition, None)


@pytest.mark.parametrize("suffix", ["delete", "future", "stray"])
def test_folders_on_their_way_out_or_in_say_why(suffix: str) -> None:
    name = f"clicks.web-1.0123456789abcdef0123456789abcdef-{suffix}"
    topic, partition, retired = parse_folder_name(name)
    assert (topic, partition) == ("clicks.web", 1)
    assert retired


@pytest.mark.parametrize("name", ["orders", "orders-", "-3", "orders-x", "orders 2-1", "orders-1.bak", ""])
def test_other_names_are_no_partition(name: str) -> None:
    assert parse_folder_name(name) == (None, -1, None)


@pytest.mark.parametrize(
    ("name", "base_offset"),
    [
        ("00000000000000000000.log", 0),
        ("00000000000000001114.log", 1114),
        ("00000000000000001114.index", None),
        ("00000000000000001114.log.deleted", None),
        ("00000000000000001114.log.swap", None),
        ("1114.log", None),
    ],
)
def test_a_segment_is_named_after_its_base_offset(name: str, base_offset: int | None) -> None:
    assert parse_segment_name(name) == base_offset


@pytest.mark.parametrize("path", FOLDERS, ids=name_of)
def test_a_log_ends_where_the_broker_checkpointed_its_high_watermark(path: Path) -> None:
    """Each broker of a capture was alone and stopped cleanly, so that both are the same."""
    folder = read(path)
    if folder.topic == "__cluster_metadata":
        pytest.skip("the controller's log has no checkpoint here")
    watermarks = read_offset_checkpoint(path.parent / "replication-offset-checkpoint")
    assert folder.log_end_offset() == watermarks[folder.topic, folder.partition]


@pytest.mark.parametrize("path", DATA_FOLDERS, ids=name_of)
def test_a_data_topics_log_begins_and_ends_where_the_broker_answered(path: Path) -> None:
    folder = read(path)
    topics = json.loads((path.parent / "topics.json").read_text())["topics"]
    answered = topics[folder.topic]["partitions"][str(folder.partition)]
    assert folder.log_end_offset() == answered["logEnd"]
    assert folder.log_start_offset() == answered["logStart"]


def test_segments_are_in_the_order_of_their_offsets(folder: Path) -> None:
    assert [segment.base_offset for segment in read(folder).segments] == [0, 1114, 1388]


def test_files_that_the_cleaner_left_are_no_segments(folder: Path) -> None:
    for name in (f"{SEGMENT}.log.deleted", f"{SEGMENT}.log.cleaned", f"{SEGMENT}.log.swap"):
        (folder / name).write_bytes(b"left")
    assert len(read(folder).segments) == 3


@pytest.mark.parametrize("index", [None, b"", b"\0" * 800, b"\0\0\0\x05\0\0\0\x07", b"\xff" * 16])
def test_a_log_end_needs_no_index(folder: Path, index: bytes | None) -> None:
    path = folder / "00000000000000001388.index"
    path.unlink()
    if index is not None:
        path.write_bytes(index)
    assert read(folder).log_end_offset() == 1578


def test_an_empty_last_segment_is_named_after_the_log_end(folder: Path) -> None:
    (folder / "00000000000000001578.log").touch()
    (folder / "00000000000000001578.index").touch()
    assert read(folder).log_end_offset() == 1578


def test_a_torn_last_batch_does_not_count(folder: Path) -> None:
    last = folder / "00000000000000001388.log"
    last.write_bytes(last.read_bytes()[:-1])
    torn = read(folder).log_end_offset()
    assert torn is not None
    assert 1388 < torn < 1578


def test_a_last_segment_without_a_healthy_batch_ends_where_it_begins(folder: Path) -> None:
    (folder / "00000000000000001388.log").write_bytes(b"noise" * 100)
    assert read(folder).log_end_offset() == 1388


def test_deleted_records_raise_the_log_start(folder: Path) -> None:
    (folder.parent / "log-start-offset-checkpoint").write_text("0\n1\n__consumer_offsets 11 70\n")
    assert read(folder).log_start_offset() == 70


def test_a_folder_without_segments_knows_its_topic_id_and_no_offsets() -> None:
    folder = read(FIXTURES / "3.9.1/lives/audit-0")
    assert folder.topic_id is not None
    assert (folder.log_start_offset(), folder.log_end_offset()) == (None, None)


def test_a_folder_before_topic_ids_has_none() -> None:
    assert read(FIXTURES / "2.4.1/lives/__consumer_offsets-5").topic_id is None


def test_a_folder_of_other_files_is_no_partition(tmp_path: Path) -> None:
    (tmp_path / "orders-0").mkdir()
    (tmp_path / "orders-0" / "notes.txt").touch()
    assert read_partition_folder(tmp_path / "orders-0") is None


def test_a_folder_that_is_not_there_is_a_source_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="No such file"):
        read_partition_folder(tmp_path / "gone-0")
