"""The live reader on what a real broker has on disk, sent as brokers send it: whole batches, and cut."""

from itertools import islice

import pytest

from kgroup.errors import SourceError
from kgroup.log.files.entries import read_decoded
from kgroup.log.files.segment import read_segment
from kgroup.log.files.sources import open_sources
from kgroup.net.admin import raw_logs as consumer
from kgroup.net.admin.raw_logs import copy_offsets_topic, follow, whole_batches
from tests.net.broker_with_files import LIVES, NOT_LEADER, OFFSET_OUT_OF_RANGE, SEGMENTS, BrokerWithFiles


def records_in(sources):
    return [
        (item.segment.partition, item.record.offset, item.entry)
        for item in read_decoded(sources)
        if item.record
    ]


def on_disk(partitions=tuple(SEGMENTS)):
    return records_in(segment for segment in open_sources([LIVES]) if segment.partition in partitions)


@pytest.mark.parametrize("at_most", [1, 700, 1 << 20])
def test_a_copy_of_the_live_topic_is_the_files_byte_for_byte(tmp_path, at_most):
    ends = copy_offsets_topic(BrokerWithFiles(at_most=at_most), tmp_path)
    for partition, path in SEGMENTS.items():
        copied = tmp_path / f"__consumer_offsets-{partition}" / path.name
        assert copied.read_bytes() == path.read_bytes()
    assert records_in(open_sources([tmp_path])) == on_disk()
    assert ends == {
        partition: list(read_segment(path))[-1].last_offset + 1 for partition, path in SEGMENTS.items()
    }


def test_a_log_whose_last_records_the_cleaner_took_is_copied_to_its_end(tmp_path):
    partition, path = next(iter(SEGMENTS.items()))
    ends = copy_offsets_topic(BrokerWithFiles({partition: path}, cleaned_at_the_end=3), tmp_path)
    assert ends == {partition: list(read_segment(path))[-1].last_offset + 4}
    assert records_in(open_sources([tmp_path])) == on_disk([partition])


def test_only_the_partitions_asked_for_are_copied(tmp_path):
    wanted = sorted(SEGMENTS)[:2]
    copy_offsets_topic(BrokerWithFiles(), tmp_path, wanted)
    assert records_in(open_sources([tmp_path])) == on_disk(wanted)


def test_following_gives_what_comes_after_the_copy(tmp_path):
    partition, path = max(SEGMENTS.items(), key=lambda item: item[1].stat().st_size)
    growing = tmp_path / "growing.log"
    growing.write_bytes(path.read_bytes()[: list(read_segment(path))[2].position])
    broker = BrokerWithFiles({partition: growing})
    ends = copy_offsets_topic(broker, tmp_path / "copy")
    growing.write_bytes(path.read_bytes())
    coming = [record for record in on_disk([partition]) if record[1] >= ends[partition]]
    followed = follow(broker, ends)
    assert [
        (item.segment.partition, item.record.offset, item.entry) for item in islice(followed, len(coming))
    ] == coming


def test_following_from_inside_a_batch_starts_there():
    partition, path = max(SEGMENTS.items(), key=lambda item: item[1].stat().st_size)
    batch = next(batch for batch in read_segment(path) if batch.last_offset > batch.base_offset)
    first = next(follow(BrokerWithFiles({partition: path}), {partition: batch.last_offset}))
    assert first.record.offset == batch.last_offset


def test_a_leader_that_moves_is_asked_again(monkeypatch, tmp_path):
    monkeypatch.setattr(consumer.time, "sleep", lambda seconds: None)
    copy_offsets_topic(BrokerWithFiles(errors=[NOT_LEADER, NOT_LEADER]), tmp_path)
    assert records_in(open_sources([tmp_path])) == on_disk()


def test_a_leader_that_never_answers_is_given_up(monkeypatch, tmp_path):
    monkeypatch.setattr(consumer.time, "sleep", lambda seconds: None)
    with pytest.raises(SourceError, match="its leader sends nothing"):
        copy_offsets_topic(BrokerWithFiles(errors=[NOT_LEADER] * 1000), tmp_path)


def test_a_log_that_is_cut_while_it_is_read_is_an_error(tmp_path):
    with pytest.raises(SourceError, match="OFFSET_OUT_OF_RANGE"):
        copy_offsets_topic(BrokerWithFiles(errors=[OFFSET_OUT_OF_RANGE]), tmp_path)


def test_a_cluster_without_the_topic_and_a_partition_that_is_not_there_are_named(tmp_path):
    with pytest.raises(SourceError, match="there is no topic __consumer_offsets"):
        copy_offsets_topic(BrokerWithFiles({}), tmp_path)
    with pytest.raises(SourceError, match="and no 77"):
        copy_offsets_topic(BrokerWithFiles(), tmp_path, [77])


@pytest.mark.parametrize("capture", ["0.10.1.1/codec-gzip", "1.1.1/format-0.9", "4.3.1/lives"])
def test_whole_batches_are_told_from_cut_ones_in_every_format(capture):
    path = max(
        (LIVES.parents[1] / capture).glob("__consumer_offsets-*/*.log"), key=lambda log: log.stat().st_size
    )
    content = path.read_bytes()
    batches = list(read_segment(path))[:3]
    ends = {batch.position + batch.size: batch.last_offset + 1 for batch in batches}
    expected = (0, 0)
    for size in range(max(ends) + 1):
        if size in ends:
            expected = (size, ends[size])
        assert whole_batches(content[:size]) == expected
