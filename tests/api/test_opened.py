"""One way to open logs: of paths, of standard input, and of a live cluster's copy."""

import io
from pathlib import Path

import pytest

from kgroup.api.live import KeptLog, LiveLogs, connect
from kgroup.api.opened import open_logs
from kgroup.errors import InputError, SourceError
from kgroup.log.files.entries import read_entries
from kgroup.protocol.group_hash import partition_for
from tests.net.broker_with_files import LIVES, BrokerWithFiles

OWN = partition_for("orders-app")


@pytest.fixture
def broker(monkeypatch):
    broker = BrokerWithFiles()
    monkeypatch.setattr("kgroup.api.live.Cluster", lambda connection: broker)
    return broker


def copied(logs: LiveLogs) -> list[int]:
    return sorted(logs.ends)


class TestPaths:
    def test_sources_are_there_without_a_with_block(self):
        logs = open_logs(LIVES)
        assert len(logs.sources) == 28
        assert repr(logs) == f"<OpenedLogs {LIVES}: 28 segments of 28 partitions>"
        assert (logs.cluster, logs.listing, logs.topic_names(), logs.stdin) == (None, None, {}, None)

    def test_replicas_are_one_unless_every_one_is_asked_for(self):
        twice = LIVES / "__consumer_offsets-14"
        logs = open_logs(twice, str(twice))
        assert len(logs.every_replica) == len(logs.sources) == 1

    def test_of_partitions_not_there_are_named(self):
        logs = open_logs(LIVES / "__consumer_offsets-14")
        assert [segment.partition for segment in logs.of_partitions([14, 15])] == [14]
        with pytest.raises(SourceError, match="no segments of partition 15 here, only of 14"):
            logs.of_partitions([15])

    def test_no_path_is_refused(self):
        with pytest.raises(InputError, match="no path given"):
            open_logs()

    def test_a_uri_is_for_spark(self):
        with pytest.raises(SourceError, match="not a local path"):
            open_logs("s3://bucket/cluster-7")

    def test_standard_input_is_a_stream_that_is_handed_in_and_read_as_often_as_asked(self):
        segment = LIVES / "__consumer_offsets-14" / f"{0:020}.log"
        with pytest.raises(InputError, match=r"stdin=sys\.stdin\.buffer"):
            open_logs("-")
        with open_logs("-", stdin=io.BytesIO(segment.read_bytes())) as logs:
            assert logs.stdin is not None
            first = list(read_entries(logs.sources, stdin=logs.stdin.open()))
            assert first == list(read_entries(logs.sources, stdin=logs.stdin.open()))
            assert len(first) > 10


class TestACluster:
    def test_nothing_is_copied_before_it_is_asked_for(self, broker):
        with connect("test:9092") as logs:
            assert isinstance(logs, LiveLogs)
            assert copied(logs) == []

    def test_a_question_about_one_group_copies_its_partition_and_the_next_one_adds_its_own(self, broker):
        with LiveLogs("test:9092") as logs:  # type: ignore[arg-type]
            assert [segment.partition for segment in logs.of_groups(["orders-app"])] == [OWN]
            assert copied(logs) == [OWN]
            assert [segment.partition for segment in logs.of_partitions([14])] == [14]
            assert copied(logs) == sorted([OWN, 14])

    def test_a_pattern_needs_all_and_no_partition_is_copied_twice(self, broker):
        with LiveLogs("test:9092") as logs:  # type: ignore[arg-type]
            sizes = [Path(each.path).stat().st_size for each in logs.of_groups(["orders-app"])]
            every = logs.of_groups(["orders-*"])
            assert len(every) == 28
            assert [Path(each.path).stat().st_size for each in every if each.partition == OWN] == sizes

    def test_log_ends_are_never_older_than_the_commits_that_are_copied(self, broker, monkeypatch):
        listings: list[object] = []
        listed = broker.log_listing()
        really = broker.log_listing

        def log_listing(names=None):
            if names is None:
                listings.append(listed)
                return listed
            return really(names)

        monkeypatch.setattr(broker, "log_listing", log_listing)
        with LiveLogs("test:9092") as logs:  # type: ignore[arg-type]
            assert logs.listing is logs.listing
            assert len(listings) == 1
            logs.of_partitions([14])
            assert logs.listing is listed
            assert len(listings) == 2

    def test_the_end_of_the_block_removes_the_copy(self, broker):
        with LiveLogs("test:9092") as logs:  # type: ignore[arg-type]
            folder = Path(logs.of_partitions([14]).segments[0].path).parent
            assert folder.is_dir()
        assert not folder.exists()

    def test_a_kept_log_is_one_copy_that_grows_until_an_error(self, broker):
        kept = KeptLog("test:9092")  # type: ignore[arg-type]
        with kept.look() as first:
            folder = first.folder
        with kept.look() as second:
            assert second.folder == folder
        with pytest.raises(SourceError), kept.look():
            raise SourceError("lost")
        with kept.look() as third:
            assert third.folder != folder
        kept.close()
