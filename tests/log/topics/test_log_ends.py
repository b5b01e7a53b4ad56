"""What log directories say of log ends, against what the broker itself answered at that moment."""

import json
import shutil
from pathlib import Path

import pytest

from kgroup.log.files.sources import read_log_dir
from kgroup.log.topics.log_ends import LogDirEndsReader
from kgroup.protocol.topic_id import topic_id_text

CAPTURES = sorted(path.parent for path in Path("fixtures").glob("*/*/topics.json"))
SEGMENT = "00000000000000000000.log"


def read_log_ends(paths, topics):
    return LogDirEndsReader([read_log_dir(path) for path in paths]).read(topics)


def answered(capture):
    """Log end offset by (topic, partition), of data topics."""
    topics = json.loads((capture / "topics.json").read_text())["topics"]
    return {
        (topic, int(partition)): ends["logEnd"]
        for topic, described in topics.items()
        if not described["internal"]
        for partition, ends in described["partitions"].items()
    }


@pytest.fixture
def log_dir(tmp_path):
    """A copy of a log directory with a data topic's segments and a cluster of one broker."""
    shutil.copytree(Path("fixtures/4.3.1/lives"), tmp_path / "log")
    return tmp_path / "log"


@pytest.mark.parametrize("capture", CAPTURES, ids=str)
def test_high_watermarks_are_the_log_ends_that_the_broker_answered(capture):
    listings = read_log_ends([capture], topics=())
    watermarks = {(log.topic, log.partition): log.log_end_offset for log in listings.checkpoints.logs}
    assert {partition: watermarks[partition] for partition in answered(capture)} == answered(capture)
    assert listings.checkpoints.complete


@pytest.mark.parametrize("capture", [path for path in CAPTURES if path.name == "lives"], ids=str)
def test_segments_end_where_the_broker_answered(capture):
    listings = read_log_ends([capture], topics={"payments"})
    ends = {
        log.partition: (log.log_start_offset, log.log_end_offset)
        for log in listings.segments.logs
        if log.topic == "payments"
    }
    assert ends == {partition: (0, answered(capture)["payments", partition]) for partition in (0, 1, 2)}


@pytest.mark.parametrize("capture", [path for path in CAPTURES if path.parts[1] >= "3"], ids=str)
def test_topic_ids_are_those_of_the_cluster(capture):
    topics = json.loads((capture / "topics.json").read_text())["topics"]
    topic_ids = {
        log.topic: topic_id_text(log.topic_id)
        for log in read_log_ends([capture], topics=()).segments.logs
        if log.topic in topics and log.topic_id is not None
    }
    assert topic_ids
    assert topic_ids == {topic: topics[topic]["topicId"] for topic in topic_ids}


def test_a_log_start_that_retention_moved_is_in_its_checkpoint():
    listings = read_log_ends([Path("fixtures/4.3.1/lives")], topics=())
    starts = {
        (log.topic, log.partition): log.log_start_offset
        for log in listings.checkpoints.logs
        if log.log_start_offset is not None
    }
    assert starts == {
        ("flow-tally-classic-tally-repartition", 2): 288,
        ("flow-tally-tally-repartition", 2): 288,
    }


def test_the_later_of_first_segment_and_checkpoint_is_the_log_start(log_dir):
    (log_dir / "log-start-offset-checkpoint").write_text("0\n2\npayments 0 40\npayments 1 0\n")
    (log_dir / "payments-1" / SEGMENT).rename(log_dir / "payments-1" / "00000000000000000007.log")
    starts = {
        log.partition: log.log_start_offset
        for log in read_log_ends([log_dir], topics={"payments"}).segments.logs
        if log.topic == "payments"
    }
    assert starts == {0: 40, 1: 7, 2: 0}


def payments_0(log_dir):
    reader = LogDirEndsReader([read_log_dir(log_dir)])
    listings = reader.read(topics={"payments"})
    (log,) = (log for log in listings.segments.logs if (log.topic, log.partition) == ("payments", 0))
    return log.log_end_offset, reader.problems


def test_a_log_end_needs_no_index(log_dir):
    (log_dir / "payments-0" / SEGMENT).with_suffix(".index").unlink()
    assert payments_0(log_dir) == (96, [])


def test_an_index_that_points_into_a_batch_is_passed_over(log_dir):
    (log_dir / "payments-0" / SEGMENT).with_suffix(".index").write_bytes(bytes.fromhex("0000000500000105"))
    assert payments_0(log_dir) == (96, [])


def test_the_zeros_behind_an_index_are_no_entries(log_dir):
    index = (log_dir / "payments-0" / SEGMENT).with_suffix(".index")
    index.write_bytes(index.read_bytes() + bytes(8 * 100))
    assert payments_0(log_dir) == (96, [])


def test_an_empty_segment_ends_where_it_begins(log_dir):
    (log_dir / "payments-0" / "00000000000000000096.log").touch()
    assert payments_0(log_dir) == (96, [])


def test_a_torn_last_batch_does_not_count(log_dir):
    segment = log_dir / "payments-0" / SEGMENT
    whole, _ = payments_0(log_dir)
    segment.write_bytes(segment.read_bytes()[:-5])
    torn, _ = payments_0(log_dir)
    assert 0 < torn < whole


def test_a_broken_checkpoint_is_reported_and_the_segments_still_count(log_dir):
    (log_dir / "replication-offset-checkpoint").write_text("0\n1\npayments zero 5\n")
    end, problems = payments_0(log_dir)
    assert end == 96
    (problem,) = problems
    assert "replication-offset-checkpoint:3" in problem


def test_folders_that_are_deleted_or_moved_do_not_count(log_dir):
    segment = log_dir / "payments-0" / SEGMENT
    for name in ("gone-0.0123456789abcdef0123456789abcdef-delete", "gone-0.0123456789abcdef-future"):
        (log_dir / name).mkdir()
        shutil.copy(segment, log_dir / name / SEGMENT)
    assert "gone" not in {log.topic for log in read_log_ends([log_dir], topics={"gone"}).segments.logs}


def test_a_broker_that_holds_a_part_of_a_cluster_cannot_say_what_is_deleted(log_dir):
    checkpoint = log_dir / "replication-offset-checkpoint"
    version, count, *entries = checkpoint.read_text().splitlines()
    kept = [entry for entry in entries if not entry.startswith("orders 0 ")]
    checkpoint.write_text("\n".join([version, str(int(count) - 1), *kept]) + "\n")
    assert not read_log_ends([log_dir], topics=()).checkpoints.complete


def test_nor_can_one_without_the_offsets_topic(log_dir):
    """One of many brokers may well have all partitions of a small topic."""
    checkpoint = log_dir / "replication-offset-checkpoint"
    kept = [entry for entry in checkpoint.read_text().splitlines() if entry.startswith("payments ")]
    assert len(kept) == 3
    checkpoint.write_text("\n".join(["0", "3", *kept]) + "\n")
    assert not read_log_ends([log_dir], topics=()).checkpoints.complete


def test_two_brokers_that_hold_everything_together_can(log_dir, tmp_path):
    checkpoint = log_dir / "replication-offset-checkpoint"
    _, _, *entries = checkpoint.read_text().splitlines()
    other = tmp_path / "other"
    other.mkdir()
    for path, kept in ((log_dir, entries[0::2]), (other, entries[1::2])):
        (path / checkpoint.name).write_text("\n".join(["0", str(len(kept)), *kept]) + "\n")
    assert read_log_ends([log_dir, other], topics=()).checkpoints.complete
    assert not read_log_ends([log_dir], topics=()).checkpoints.complete
