"""The recorder beside brokers that move, go away, refuse and forget."""

import gc
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import kgroup.testing
from kgroup.errors import SourceError
from kgroup.log.files.recording import Hole, Retired, read_notes, read_samples
from kgroup.log.files.sample_changes import states
from kgroup.log.files.sources import open_sources, read_log_dir
from kgroup.log.recorder.folder import RecordingFolder
from kgroup.log.recorder.retention import Retention
from kgroup.net.connect.properties import ConnectionOptions
from kgroup.net.record.cluster_view import Answer
from kgroup.net.record.recorder import Recorder
from kgroup.protocol.error_codes import ErrorCode
from tests.kills.requests import commit
from tests.net.wire_client import WireClient

PARTITIONS = {"offsets.topic.num.partitions": "3"}
FOR_EVER = Retention(retain_ms=None, bytes_max=None)
SAMPLE_MS = 10_000


class Impatient(threading.Event):
    """Does not wait, and knows how long it should have."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append(timeout or 0)
        return self.is_set()


class Beside:
    """A recorder beside a cluster."""

    def __init__(self, cluster: kgroup.testing.Cluster, folder: Path) -> None:
        self.cluster = cluster
        self.path = folder
        self.said: list[str] = []
        self.stop = Impatient()
        self.now_ms = 1_800_000_000_000
        self.recorder = self.again()

    def again(self) -> Recorder:
        self.recorder = Recorder(
            ConnectionOptions(bootstrap_servers=self.cluster.bootstrap),
            RecordingFolder(self.path, FOR_EVER, self.said.append),
            sample_ms=SAMPLE_MS,
            say=self.said.append,
            stop=self.stop,
            wait_ms=1,
            clock=lambda: self.now_ms / 1000,
        )
        return self.recorder

    def turn_until(self, is_done: Callable[[], bool]) -> None:
        for _ in range(200):
            if is_done():
                return
            self.recorder.turn()
        raise AssertionError(f"not done after 200 turns: {self.said}")

    def catch_up(self) -> None:
        """Until all is there that the brokers have."""
        self.turn_until(lambda: self.recorded() == self.there())

    def recorded(self) -> dict[int, bytes]:
        return by_partition(self.path)

    def there(self) -> dict[int, bytes]:
        """By the broker that leads each partition now."""
        running = self.cluster._running
        return self.cluster._call(
            lambda: {
                number: b"".join(partition.log.batches(0))
                for (topic, number), partition in _leading(running.cluster).items()
                if topic == "__consumer_offsets"
            }
        )

    def notes(self, kind: type) -> list[Any]:
        return [note for note in read_notes(read_log_dir(self.path)) if isinstance(note, kind)]


def by_partition(folder: Path) -> dict[int, bytes]:
    return {
        int(each.name.rpartition("-")[2]): b"".join(log.read_bytes() for log in sorted(each.glob("*.log")))
        for each in folder.glob("__consumer_offsets-?")
    }


def _leading(cluster: Any) -> dict[tuple[str, int], Any]:
    return {
        (name, number): partition
        for name, topic in cluster.topics.items()
        for number, partition in enumerate(topic.partitions)
    }


# kafka-python leaves a socket that was refused to the garbage collector, which complains.
drops_sockets = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[Beside]:
    with kgroup.testing.cluster(topics={"orders": 3}, properties=PARTITIONS) as cluster:
        recorder = Beside(cluster, tmp_path / "rec")
        yield recorder
        recorder.recorder._disconnect()
        recorder.recorder.folder.close()


def commit_some(cluster: kgroup.testing.Cluster, groups: int = 4, offset: int = 1) -> None:
    host, port = cluster.bootstrap.split(",")[0].split(":")
    for number in range(groups):
        with WireClient((host, int(port))) as client:
            client.ask(commit(f"group-{number}", "orders", {0: offset, 1: offset}))


def test_batches_are_recorded_byte_for_byte(beside: Beside) -> None:
    commit_some(beside.cluster)
    beside.recorder.start()
    for offset in range(2, 8):
        commit_some(beside.cluster, offset=offset)
    beside.catch_up()
    assert sum(map(len, beside.recorded().values())) > 2000
    assert beside.said == []


def test_started_again_it_goes_on_where_it_was(beside: Beside) -> None:
    commit_some(beside.cluster)
    beside.recorder.start()
    beside.catch_up()
    beside.recorder._disconnect()
    beside.recorder.folder.close()
    commit_some(beside.cluster, offset=2)
    beside.again().start()
    beside.catch_up()
    assert beside.notes(Hole) == []


def test_before_the_first_group_there_is_no_topic_and_it_waits(
    beside: Beside, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("kgroup.net.admin.cluster.Cluster.topics", lambda *_: {})
        patch.setattr(
            "kgroup.net.admin.cluster.Cluster.why_unlisted",
            lambda _, names: dict.fromkeys(names, int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)),
        )
        beside.recorder.start()
        for _ in range(3):
            beside.recorder.turn()
    assert beside.said == [
        f"{beside.cluster.bootstrap}: there is no topic __consumer_offsets yet; waiting for it"
    ]
    commit_some(beside.cluster)
    beside.catch_up()


@drops_sockets
def test_leaders_that_move_are_followed(tmp_path: Path) -> None:
    with kgroup.testing.cluster(nodes=3, topics={"orders": 3}, properties=PARTITIONS) as cluster:
        commit_some(cluster)
        beside = Beside(cluster, tmp_path / "rec")
        beside.recorder.start()
        for node in (1, 2, 3):
            for number in range(4):
                cluster.move_coordinator(f"group-{number}", node)
            commit_some(cluster, offset=10 * node)
            beside.catch_up()
        for offset, node in ((41, 1), (42, 2)):
            cluster.kill_node(node)
            commit_some(cluster, offset=offset)
            beside.catch_up()
            cluster._await(cluster._running.start_node(node))
        assert beside.notes(Hole) == []
        beside.recorder._disconnect()
        beside.recorder.folder.close()
        gc.collect()


@drops_sockets
def test_a_broker_that_is_away_is_told_once_and_waited_for_ever_longer(beside: Beside) -> None:
    commit_some(beside.cluster)
    beside.recorder.start()
    beside.catch_up()
    beside.cluster.kill_node(1)
    beside.stop.waits.clear()
    for _ in range(12):
        beside.recorder.turn()
    told = list(beside.said)
    assert len(told) <= 2, told  # that it broke, and that nobody answers
    assert all(line.endswith("; trying on") for line in told)
    assert [wait for wait in beside.stop.waits if wait >= 0.25][:6] == [0.25, 0.5, 1, 2, 4, 8]
    assert max(beside.stop.waits) == 30
    assert not beside.recorder.health.up
    beside.now_ms += 120_000
    beside.cluster.start_node(1)
    commit_some(beside.cluster, offset=2)
    beside.turn_until(lambda: beside.recorder.health.up)
    assert beside.said[len(told) :] == ["recording again, after 120 s"]
    beside.catch_up()
    gc.collect()


def test_records_deleted_before_they_were_fetched_are_a_hole(beside: Beside) -> None:
    commit_some(beside.cluster)
    beside.recorder.start()
    beside.catch_up()
    commit_some(beside.cluster, offset=2)
    starts = beside.cluster._call(lambda: _delete_all(beside.cluster._running.cluster))
    commit_some(beside.cluster, offset=3)
    beside.turn_until(lambda: all(beside.recorder.folder.position(each) > starts[each] for each in starts))
    holes = beside.notes(Hole)
    assert {hole.partition for hole in holes} == starts.keys()
    assert all(hole.last_offset == starts[hole.partition] - 1 for hole in holes)
    assert all("had been deleted" in hole.why for hole in holes)
    assert any("were not recorded" in each.why for each in open_sources([beside.path]).skipped)


def _delete_all(cluster: Any) -> dict[int, int]:
    """All records of the offsets topic, as DeleteRecords does it; where the logs that had some start."""
    starts = {}
    for partition in cluster.topics["__consumer_offsets"].partitions:
        if partition.log.end_offset:
            partition.log.delete_before(partition.log.end_offset)
            starts[partition.index] = partition.log.end_offset
    return starts


def test_a_topic_made_anew_is_recorded_anew_and_the_old_one_put_aside(beside: Beside) -> None:
    commit_some(beside.cluster)
    beside.recorder.start()
    beside.catch_up()
    old = beside.recorded()
    beside.cluster._call(lambda: _delete_topic(beside.cluster._running.cluster, "__consumer_offsets"))
    commit_some(beside.cluster, offset=7)
    beside.turn_until(lambda: len(beside.notes(Retired)) == 3)
    beside.catch_up()
    assert beside.recorded() != old
    aside = {
        each.partition: b"".join(log.read_bytes() for log in (beside.path / each.folder).glob("*.log"))
        for each in beside.notes(Retired)
    }
    assert aside == old
    assert beside.notes(Hole) == []


def _delete_topic(cluster: Any, name: str) -> None:
    """As an operator does who removes what clients may not."""
    topic = cluster.topics.pop(name)
    del cluster.spec.topics[name], cluster.topic_names[topic.spec.topic_id]
    cluster.coordinators.hosted.clear()


def test_samples_are_at_round_times_and_one_is_the_last_word(beside: Beside) -> None:
    beside.now_ms += 3_456
    commit_some(beside.cluster)
    beside.recorder.start()
    for _ in range(30):
        beside.recorder.turn()
        beside.now_ms += 1_000
    beside.recorder._finish()
    samples = list(states(read_samples(read_log_dir(beside.path))))
    at = [sample.at_ms - 1_800_000_000_000 for sample in samples]
    assert at == [3_456, 10_456, 20_456, 30_456, 33_456]
    last = samples[-1]
    assert last.topics["orders"].ends == {0: 0, 1: 0, 2: 0}
    assert last.topics["orders"].topic_id is not None
    assert last.brokers is not None
    assert list(last.brokers.values()) == [beside.cluster.bootstrap]
    assert last.leaders == {0: 1, 1: 1, 2: 1}


def test_a_disk_that_refuses_is_told_once_and_nothing_is_lost(
    beside: Beside, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_some(beside.cluster)
    beside.recorder.start()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("kgroup.log.store.recorded_log.RecordedLog._write_all", full)
        commit_some(beside.cluster, offset=2)
        for _ in range(5):
            beside.recorder.turn()
    assert len(beside.said) == 1
    assert "No space left on device; trying on" in beside.said[0]
    beside.catch_up()
    assert beside.said[1].startswith("recording again")


def test_on_a_full_disk_a_quiet_cluster_is_told_of_once_too(
    beside: Beside, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_some(beside.cluster)
    beside.recorder.start()
    beside.catch_up()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("kgroup.log.store.recorded_log.RecordedLog._write_all", full)
        for _ in range(40):
            beside.now_ms += 1_000
            beside.recorder.turn()
    assert len(beside.said) == 1
    beside.recorder.turn()
    assert len(beside.said) == 2


def test_what_cannot_be_folded_is_told_once_and_recorded_on(
    beside: Beside, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(*_: object) -> Iterator[None]:
        raise SourceError("0.log: cannot be folded")
        yield

    monkeypatch.setattr("kgroup.log.recorder.folder.RecordingFolder.keep_bounded", damaged)
    beside.recorder.start()
    for _ in range(5):
        beside.now_ms += 20_000
        beside.recorder.turn()
    assert beside.said == ["0.log: cannot be folded"]
    commit_some(beside.cluster)
    beside.catch_up()


def test_no_right_to_read_ends_it_at_the_start(beside: Beside, monkeypatch: pytest.MonkeyPatch) -> None:
    commit_some(beside.cluster)
    refused = int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    _answer_with(monkeypatch, refused)
    with pytest.raises(SourceError, match="partition 0: TOPIC_AUTHORIZATION_FAILED"):
        beside.recorder.start()


def test_no_right_to_read_any_more_is_told_once(beside: Beside, monkeypatch: pytest.MonkeyPatch) -> None:
    commit_some(beside.cluster)
    beside.recorder.start()
    with monkeypatch.context() as patch:
        _answer_with(patch, int(ErrorCode.TOPIC_AUTHORIZATION_FAILED))
        for _ in range(3):
            beside.recorder.turn()
    assert len(beside.said) == 1
    beside.catch_up()


def _answer_with(patch: pytest.MonkeyPatch, error: int) -> None:
    def answers(response: Any, partitions: list[int]) -> dict[int, Answer]:
        return {each: Answer(error=error, records=b"", log_start_offset=-1) for each in partitions}

    patch.setattr("kgroup.net.record.cluster_view._answers", answers)


def test_another_cluster_is_refused(beside: Beside) -> None:
    beside.recorder.start()
    beside.recorder._disconnect()
    beside.recorder.folder.close()
    with kgroup.testing.cluster() as other:
        beside.cluster, mine = other, beside.cluster
        with pytest.raises(SourceError, match="holds a recording of the cluster"):
            beside.again().start()
        beside.recorder._disconnect()
        beside.recorder.folder.close()
        beside.cluster = mine
        beside.again()


def test_it_runs_until_it_is_told_to_stop(beside: Beside) -> None:
    commit_some(beside.cluster)
    ready: list[bool] = []

    def stop() -> None:
        ready.append(True)
        beside.stop.set()

    beside.recorder.run(stop)
    assert ready == [True]
    assert beside.recorded() == beside.there()
    beside.again()
