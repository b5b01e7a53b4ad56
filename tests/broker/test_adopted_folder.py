"""The log directory of a real broker: read, gone on with, and refused by name where nobody asked for that."""

import shutil
from pathlib import Path

import pytest
from kafka.protocol.consumer.group import OffsetFetchRequest

from kgroup.broker.storage import FolderStorage
from kgroup.errors import SourceError
from kgroup.log.format.batch import LogRecord, decode_batch, encode_batch
from tests.broker.produced import produce
from tests.broker.world import BrokerWorld

REAL = Path(__file__).parents[2] / "fixtures" / "log_dirs" / "4.3.1"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(REAL, tmp_path / "data"))


def opened(folder: Path, *, adopt: bool = True) -> tuple[BrokerWorld, list[str]]:
    warnings: list[str] = []
    return BrokerWorld(storage=FolderStorage(folder, warnings.append, adopt=adopt)), warnings


def values(world: BrokerWorld, topic: str, index: int) -> list[bytes]:
    partition = world.cluster.topics[topic].partitions[index]
    batches = [decode_batch(raw) for raw in partition.batches()]
    return [record.value or b"" for each in batches if not each.control for record in each.records()]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_without_adopt_it_is_refused_by_that_name_and_nothing_is_touched(folder: Path) -> None:
    before = contents(folder)
    with pytest.raises(
        SourceError, match=r"a Kafka broker's, without kgroup-cluster\.json; --adopt serves it"
    ):
        opened(folder, adopt=False)
    assert contents(folder) == before


def test_topics_configs_records_and_commits_are_those_of_the_broker(folder: Path) -> None:
    world, warnings = opened(folder)
    assert warnings == []
    topics = world.cluster.spec.topics
    assert {name: topic.partitions for name, topic in topics.items()} == {
        "__consumer_offsets": 3,
        "__transaction_state": 2,
        "my-state.x": 1,
        "orders": 2,
    }
    assert topics["orders"].configs == {"retention.ms": "123456789"}
    assert topics["my-state.x"].configs == {"cleanup.policy": "compact"}
    assert world.cluster.spec.cluster_id == "AAAAAAAAQACAAAAAAAAAAA"
    assert values(world, "orders", 1) == [b"v%d" % number for number in range(1, 60, 2)]
    assert values(world, "orders", 0)[-2:] == [b"committed", b"aborted"]
    [aborted] = world.cluster.topics["orders"].partitions[0].producers.aborted
    assert aborted.first_offset == 32
    world.settle()
    answer = world.ask(OffsetFetchRequest(version=5, group_id="billing", topics=None))
    assert [each.committed_offset for each in answer.topics[0].partitions] == [34, 30]


def test_a_producer_gets_no_id_that_the_broker_has_given_or_will_give(folder: Path) -> None:
    world, _ = opened(folder)
    assert world.cluster.spec.next_producer_id > 1 << 40


def test_what_is_written_goes_behind_and_the_broker_finds_its_own_files(folder: Path) -> None:
    before = contents(folder)
    world, _ = opened(folder)
    batch = encode_batch([LogRecord(offset=0, timestamp_ms=1, key=None, value=b"new")])
    assert produce(world.cluster.topics["orders"].partitions[1], batch)[1] == 30
    world.cluster.close()
    after = contents(folder)
    for name in before.keys() - {name for name in before if name.startswith("gone-")}:
        if name.endswith(".log"):
            assert after[name].startswith(before[name])
        elif not name.endswith(("checkpoint", ".kafka_cleanshutdown")):
            # Of the time index a broker writes one more entry when it closes the log.
            assert before[name].startswith(after[name]) or name.endswith(".txnindex"), name
    transactions = "orders-0/00000000000000000000.txnindex"
    assert [len(each[transactions]) for each in (before, after)] == [34, 34]
    assert before[transactions][:26] == after[transactions][:26]  # version, producer and its two offsets
    again, warnings = opened(folder, adopt=False)
    assert (values(again, "orders", 1)[-1], warnings) == (b"new", [])


def test_without_a_metadata_log_configs_are_not_known_and_that_is_told(folder: Path) -> None:
    shutil.rmtree(folder / "__cluster_metadata-0")
    world, warnings = opened(folder)
    assert len(values(world, "orders", 1)) == 30
    assert warnings == [f"{folder}: no __cluster_metadata-0 there: topics have Kafka's default configs"]


def test_partitions_of_one_name_and_several_ids_are_no_topic(folder: Path) -> None:
    shutil.copyfile(
        folder / "my-state.x-0" / "partition.metadata", folder / "orders-1" / "partition.metadata"
    )
    with pytest.raises(
        SourceError, match=r"orders-1/partition\.metadata: topic id .* while other partitions"
    ):
        opened(folder)
    assert not (folder / "kgroup-cluster.json").exists()


def test_a_topic_has_the_partitions_of_the_metadata_log_also_without_their_folders(folder: Path) -> None:
    """They may be on other brokers: with fewer, producers would send keys to other partitions."""
    shutil.rmtree(folder / "orders-1")
    world, warnings = opened(folder)
    assert world.cluster.spec.topics["orders"].partitions == 2
    assert f"{folder}: no folder for orders-1; made anew" in warnings


def test_a_damaged_metadata_log_is_named(folder: Path) -> None:
    path = folder / "__cluster_metadata-0" / "00000000000000000000.log"
    raw = bytearray(path.read_bytes())
    raw[200] ^= 1
    path.write_bytes(raw)
    with pytest.raises(SourceError, match=f"{path} at byte"):
        opened(folder)


def test_a_new_folder_is_new_with_adopt_too(tmp_path: Path) -> None:
    world, warnings = opened(tmp_path / "new")
    assert (world.cluster.spec.topics, warnings) == ({}, [])


def test_a_folder_with_a_metadata_log_and_few_of_its_partitions_opens(tmp_path: Path) -> None:
    """What was left out of the capture is told, and the groups of the partitions that are there are there."""
    capture = REAL.parents[1] / "4.3.1" / "lives"
    world, warnings = opened(Path(shutil.copytree(capture, tmp_path / "data")))
    assert world.cluster.spec.topics["__consumer_offsets"].partitions == 50
    assert any("no folder for __consumer_offsets-" in text for text in warnings)
    assert all("no folder for" in text or "missing" in text for text in warnings), warnings
    world.settle()
    hosted = world.cluster.coordinators.hosted.values()
    assert any(each.coordinator.listing() for each in hosted)
