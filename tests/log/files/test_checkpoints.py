"""The small text files of log directories, against what the broker answered."""

import json
from pathlib import Path

import pytest

from kgroup.errors import SourceError
from kgroup.log.files.checkpoints import (
    EpochStart,
    encode_leader_epochs,
    encode_offset_checkpoint,
    read_cluster_id,
    read_leader_epochs,
    read_offset_checkpoint,
    read_topic_id,
)
from kgroup.protocol.topic_id import topic_id_text
from tests.log.truth import CAPTURES, FIXTURES, name_of

CHECKPOINTS = sorted(path for capture in CAPTURES for path in capture.glob("*-offset-checkpoint"))
LIVES = FIXTURES / "3.9.1/lives"


@pytest.mark.parametrize("capture", CAPTURES, ids=name_of)
def test_high_watermarks_are_the_log_ends_that_the_broker_answered(capture: Path) -> None:
    """Of data topics: groups may have gone on writing to the offsets topic after the broker was asked."""
    watermarks = read_offset_checkpoint(capture / "replication-offset-checkpoint")
    topics = json.loads((capture / "topics.json").read_text())["topics"]
    for topic, described in topics.items():
        for partition, answered in described["partitions"].items():
            watermark = watermarks[topic, int(partition)]
            if described["internal"]:
                assert watermark >= answered["logEnd"]
            else:
                assert watermark == answered["logEnd"]


@pytest.mark.parametrize("path", CHECKPOINTS, ids=name_of)
def test_checkpoints_are_written_as_kafka_writes_them(path: Path) -> None:
    offsets = read_offset_checkpoint(path)
    # Kafka's own order is that of a hash map.
    assert sorted(encode_offset_checkpoint(offsets).splitlines()) == sorted(path.read_text().splitlines())


def test_leader_epochs_are_read_and_written() -> None:
    path = LIVES / "__consumer_offsets-5/leader-epoch-checkpoint"
    assert read_leader_epochs(path) == [EpochStart(leader_epoch=0, start_offset=0)]
    assert encode_leader_epochs(read_leader_epochs(path)) == path.read_text()


@pytest.mark.parametrize("folder", sorted(LIVES.glob("*-0")), ids=name_of)
def test_topic_ids_are_those_of_the_cluster(folder: Path) -> None:
    topics = json.loads((LIVES / "topics.json").read_text())["topics"]
    topic_id = read_topic_id(folder / "partition.metadata")
    assert topic_id is not None
    assert topic_id_text(topic_id) == topics[folder.name.removesuffix("-0")]["topicId"]


def test_the_zero_topic_id_is_none(tmp_path: Path) -> None:
    path = tmp_path / "partition.metadata"
    path.write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA")
    assert read_topic_id(path) is None


def test_the_cluster_id_is_known_where_kafka_wrote_it() -> None:
    assert read_cluster_id(LIVES / "meta.properties") == "a2dyb3VwLWZpeHR1cmVzLQ"
    assert read_cluster_id(FIXTURES / "0.10.1.1/lives/meta.properties") is None


def test_an_empty_checkpoint_is_one_of_a_broker_that_has_not_filled_it_yet() -> None:
    assert read_offset_checkpoint(FIXTURES / "pipeline/4.3.1/cleaner-offset-checkpoint") == {}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("0\n", "1 lines"),
        ("7\n0\n", ":1: version '7'"),
        ("2\n0\n", ":1: version '2'"),
        ("0\n1\norders 0 5\norders 1 5\n", ":2: the count says 1, 2 entries follow"),
        ("0\n2\norders 0 5\n", ":2: the count says 2, 1 entries follow"),
        ("0\n1\norders zero 5\n", ":3: 'orders zero 5'"),
        ("0\n2\norders 0 5\norders 1\n", ":4: 'orders 1'"),
        ("0\nmany\norders 0 5\n", ":2: the count says many"),
        ("0\n1\n\n", ":3: ''"),
    ],
)
def test_a_damaged_checkpoint_is_named_with_its_line(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "replication-offset-checkpoint"
    path.write_text(text)
    with pytest.raises(SourceError) as raised:
        read_offset_checkpoint(path)
    assert f"{path}{why}" in str(raised.value) or f"{path}: {why}" in str(raised.value)


@pytest.mark.parametrize(
    "raw", [b"", b"version: 0", b"version: 0\ntopic_id: short", b"version: 0\ntopic_id: \xff\xff"]
)
def test_a_damaged_topic_id_is_a_source_error(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "partition.metadata"
    path.write_bytes(raw)
    with pytest.raises(SourceError, match=r"partition\.metadata"):
        read_topic_id(path)


def test_a_missing_file_is_a_source_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="No such file"):
        read_offset_checkpoint(tmp_path / "gone")
