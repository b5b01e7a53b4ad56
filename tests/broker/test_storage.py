"""A cluster's facts in a folder: what comes back after a restart, and what is refused to be read."""

import json
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from uuid import UUID

import pytest
from kafka.protocol.producer.transaction import InitProducerIdRequest

from kgroup.broker.storage import ClusterSpec, FolderStorage, TopicSpec
from kgroup.errors import SourceError
from kgroup.log.format.batch import encode_batch
from kgroup.log.format.record import LogRecord
from tests.broker.world import BrokerWorld

SPEC = ClusterSpec(
    cluster_id="abc",
    topics={
        "orders": TopicSpec(
            name="orders",
            topic_id=UUID(int=5),
            partitions=3,
            replication_factor=2,
            configs={"retention.ms": "5"},
        )
    },
    next_producer_id=7,
)


def storage(folder: Path) -> tuple[FolderStorage, list[str]]:
    warnings: list[str] = []
    return FolderStorage(folder, warnings.append), warnings


def test_a_new_folder_is_made_and_knows_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "logs"
    assert storage(folder)[0].load() is None
    assert folder.is_dir()


def test_what_was_saved_comes_back(tmp_path: Path) -> None:
    storage(tmp_path)[0].save(SPEC)
    assert storage(tmp_path)[0].load() == SPEC
    assert "cluster.id=abc" in (tmp_path / "meta.properties").read_text()


def test_many_changes_are_put_together_and_the_last_ones_come_back(tmp_path: Path) -> None:
    first, _ = storage(tmp_path / "data")
    assert first.load() is None
    spec = deepcopy(SPEC)
    first.save(spec)
    for number in range(12):
        spec.topics["orders"].configs["retention.ms"] = str(number) * 200_000
        first.save(spec, ["orders"])
        journal = tmp_path / "data" / "kgroup-cluster.journal"
        assert not journal.exists() or journal.stat().st_size < 2 << 20
    first.close()
    assert storage(tmp_path / "data")[0].load() == spec


def test_half_a_change_that_a_full_disk_left_does_not_spoil_the_next(tmp_path: Path) -> None:
    first, _ = storage(tmp_path / "data")
    assert first.load() is None
    spec = deepcopy(SPEC)
    first.save(spec)
    spec.topics["orders"].partitions = 4
    first.save(spec, ["orders"])
    with (tmp_path / "data" / "kgroup-cluster.journal").open("ab") as journal:
        journal.write(b'12345678 {"nextProd')
    spec.topics["orders"].partitions = 5
    first.save(spec, ["orders"])
    first.close()
    assert storage(tmp_path / "data")[0].load() == spec


def test_a_draft_that_a_crash_left_is_no_reason_to_refuse_the_folder(tmp_path: Path) -> None:
    storage(tmp_path)[0].save(SPEC)
    [facts] = tmp_path.glob("*.json")
    facts.rename(facts.with_name(facts.name + ".tmp"))
    (tmp_path / "meta.properties").unlink()
    assert storage(tmp_path)[0].load() is None


def test_a_folder_that_another_process_has_is_refused_until_that_lets_go(tmp_path: Path) -> None:
    """As a Kafka broker holds its log dirs: the lock goes with the process, and the file stays."""
    other = (
        "import fcntl, sys; file = open(sys.argv[1], 'a'); fcntl.lockf(file, fcntl.LOCK_EX);"
        " print(flush=True); input()"
    )
    storage(tmp_path)[0].save(SPEC)
    with subprocess.Popen(
        [sys.executable, "-c", other, tmp_path / ".lock"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(SourceError, match="another process writes there"):
            storage(tmp_path)[0].load()
        holder.kill()
    assert storage(tmp_path)[0].load() == SPEC


def test_an_open_folder_is_held_until_it_is_closed(tmp_path: Path) -> None:
    opened = storage(tmp_path)[0]
    opened.load()
    other = (
        "import sys; from pathlib import Path; from kgroup.log.store.folder_lock import FolderLock;"
        " FolderLock(Path(sys.argv[1]))"
    )

    def takes_it() -> bool:
        ended = subprocess.run([sys.executable, "-c", other, tmp_path], check=False, capture_output=True)
        return ended.returncode == 0

    assert not takes_it()
    opened.close()
    assert takes_it()


def test_a_start_that_came_to_nothing_leaves_a_folder_that_is_new(tmp_path: Path) -> None:
    first = storage(tmp_path)[0]
    first.load()
    first.close()
    assert storage(tmp_path)[0].load() is None


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SourceError, match="file: not a directory"):
        storage(tmp_path / "file")[0].load()


def test_a_folder_with_something_else_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    with pytest.raises(SourceError, match="not empty, and not a folder that kgroup serve made"):
        storage(tmp_path)[0].load()


@pytest.mark.parametrize(
    "facts",
    [
        "",
        "[]",
        '{"clusterId": "abc"}',
        '{"clusterId": 5, "nextProducerId": 0, "topics": {}}',
        '{"clusterId": "abc", "nextProducerId": 0, "topics": {"t": {"id": "no uuid"}}}',
        '{"clusterId": "abc", "nextProducerId": 0, "topics": {"t": 5}}',
    ],
)
def test_facts_that_kgroup_did_not_write_are_refused(tmp_path: Path, facts: str) -> None:
    storage(tmp_path)[0].save(SPEC)
    [path] = tmp_path.glob("*.json")
    path.write_text(facts)
    with pytest.raises(SourceError, match=f"{path}: not what kgroup wrote"):
        storage(tmp_path)[0].load()


def test_facts_that_cannot_be_read_or_written_name_the_file(tmp_path: Path) -> None:
    storage(tmp_path)[0].save(SPEC)
    [path] = tmp_path.glob("*.json")
    path.unlink()
    path.mkdir()  # a folder where the file should be
    with pytest.raises(SourceError, match=str(path)):
        storage(tmp_path)[0].load()
    with pytest.raises(SourceError, match=str(path)):
        storage(tmp_path)[0].save(SPEC)


def test_a_torn_tail_is_cut_off_with_a_warning(tmp_path: Path) -> None:
    batch = encode_batch([LogRecord(offset=0, timestamp_ms=1, key=None, value=b"v")])
    writer, _ = storage(tmp_path)
    log = writer.open_log(SPEC.topics["orders"], 0, 1 << 20)
    log.append(batch, 0)
    log.sync()
    log.close()
    [segment] = (tmp_path / "orders-0").glob("*.log")
    segment.write_bytes(segment.read_bytes() + batch[:20])
    reader, warnings = storage(tmp_path)
    log = reader.open_log(SPEC.topics["orders"], 0, 1 << 20)
    assert log.end_offset == 1
    assert warnings == [f"{tmp_path / 'orders-0'}: cut off 20 bytes that are not a whole batch"]
    log.close()


def test_checkpoints_tell_other_tools_how_far_the_logs_go(tmp_path: Path) -> None:
    storage(tmp_path)[0].checkpoint({("orders", 0): 12})
    for name in ("replication-offset-checkpoint", "recovery-point-offset-checkpoint"):
        assert (tmp_path / name).read_text() == "0\n1\norders 0 12\n"


def test_checkpoints_forget_the_partitions_of_deleted_topics(tmp_path: Path) -> None:
    world = started(tmp_path)
    for name in ("orders", "payments"):
        world.cluster.create_topic(name, 1, 1, {}, world.now_ms)
    world.cluster.checkpoint()
    world.cluster.delete_topic("orders", world.now_ms)
    world.cluster.checkpoint()
    for name in ("replication-offset-checkpoint", "recovery-point-offset-checkpoint"):
        assert (tmp_path / name).read_text() == "0\n1\npayments 0 0\n"
    world.cluster.close()


def test_the_file_is_json_that_a_reader_can_follow(tmp_path: Path) -> None:
    storage(tmp_path)[0].save(SPEC)
    [path] = tmp_path.glob("*.json")
    assert json.loads(path.read_text())["topics"]["orders"] == {
        "id": str(UUID(int=5)),
        "partitions": 3,
        "replicationFactor": 2,
        "configs": {"retention.ms": "5"},
    }


# ---- a cluster in a folder, stopped and started again ------------------------------------------------


def started(folder: Path) -> BrokerWorld:
    return BrokerWorld(storage=FolderStorage(folder, lambda text: None))


def new_producer(world: BrokerWorld) -> tuple[int, int]:
    answer = world.ask(
        InitProducerIdRequest(version=2, transactional_id="copier", transaction_timeout_ms=1000)
    )
    assert answer.error_code == 0
    return answer.producer_id, answer.producer_epoch


def test_topics_and_producers_are_there_again_after_a_restart(tmp_path: Path) -> None:
    world = started(tmp_path)
    world.cluster.create_topic("orders", 3, 1, {}, world.now_ms)
    producer = new_producer(world)
    world.cluster.close()
    again = started(tmp_path)
    assert again.cluster.spec.cluster_id == world.cluster.spec.cluster_id
    assert len(again.cluster.topics["orders"].partitions) == 3
    assert new_producer(again) == (producer[0], producer[1] + 1)
    again.cluster.close()


def test_a_transaction_record_that_cannot_be_read_is_named_at_the_start(tmp_path: Path) -> None:
    world = started(tmp_path)
    new_producer(world)
    index = world.cluster.transaction_partition("copier")
    partition = world.cluster.topics["__transaction_state"].partitions[index]
    partition.append(encode_batch([LogRecord(offset=0, timestamp_ms=1, key=b"\0\0", value=b"\0\0")]))
    world.cluster.close()
    with pytest.raises(SourceError, match=f"__transaction_state-{index}: TransactionLogKey"):
        started(tmp_path)
