"""Folders as faults leave them, one of each: nothing acknowledged goes without a word, nothing is removed."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from kafka.protocol.consumer.group import OffsetFetchRequest

from kgroup.broker.cluster import OFFSETS_TOPIC
from kgroup.broker.storage import FolderStorage
from kgroup.errors import SourceError
from kgroup.log.files.segment import read_segment
from kgroup.log.format.batch import Batch, LogRecord, decode_batch, encode_batch
from kgroup.log.format.batch_header import read_header
from tests.broker.produced import produce
from tests.broker.world import GROUP, BrokerWorld, commit

RECORDS = 1_000
SEGMENT = "00000000000000000000.log"
SMALL = {"offsets.topic.num.partitions": "2", "transaction.state.log.num.partitions": "2"}


class Opened:
    """A cluster on a folder, and what it told when it opened it."""

    def __init__(self, folder: Path, properties: dict[str, str] | None = None) -> None:
        self.folder = folder
        self.warnings: list[str] = []
        self.storage = FolderStorage(folder, self.warnings.append)
        self.world = BrokerWorld(storage=self.storage, properties=SMALL | (properties or {}))
        self.cluster = self.world.cluster

    def values(self, topic: str = "orders") -> list[str]:
        """The values that a reader of the partition gets."""
        partition = self.cluster.topics[topic].partitions[0]
        records = [record for raw in partition.batches() for record in decode_batch(raw).records()]
        return [(record.value or b"").decode() for record in records]

    def produce(self, value: str, topic: str = "orders") -> int:
        """The offset that it got."""
        error, offset = produce(self.cluster.topics[topic].partitions[0], batch(value))
        assert not error
        return offset

    def committed(self) -> list[int]:
        self.world.settle()  # the log is loaded
        answer = self.world.ask(OffsetFetchRequest(version=5, group_id=GROUP, topics=None))
        assert not answer.error_code
        return [each.committed_offset for topic in answer.topics for each in topic.partitions]


def batch(value: str) -> bytes:
    return encode_batch([LogRecord(offset=0, timestamp_ms=1, key=None, value=value.encode())])


EVERYTHING = [f"value {number}" for number in range(RECORDS)]


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same folder after a kill and after a clean stop."""
    folder, killed = tmp_path_factory.mktemp("log") / "data", tmp_path_factory.mktemp("killed") / "data"
    opened = Opened(folder)
    opened.cluster.create_topic("orders", 1, 1, {}, 0)
    opened.cluster.create_topic("payments", 1, 1, {}, 0)
    for value in EVERYTHING:
        opened.produce(value)
    opened.produce("paid", "payments")
    assert not opened.world.ask(commit(7)).topics[0].partitions[0].error_code
    opened.cluster.checkpoint()
    shutil.copytree(folder, killed)
    opened.cluster.close()
    return killed, folder


@pytest.fixture
def killed(images: tuple[Path, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(images[0], tmp_path / "killed"))


@pytest.fixture
def stopped(images: tuple[Path, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(images[1], tmp_path / "stopped"))


@pytest.fixture(params=["killed", "stopped"])
def folder(request: pytest.FixtureRequest) -> Path:
    """Either of them."""
    return Path(request.getfixturevalue(request.param))


def change(path: Path, changed: Callable[[bytearray], object]) -> None:
    raw = bytearray(path.read_bytes())
    changed(raw)
    path.write_bytes(raw)


def flip(path: Path, position: int, bit: int = 0) -> None:
    def flipped(raw: bytearray) -> None:
        raw[position] ^= 1 << bit

    change(path, flipped)


def batches(path: Path) -> list[Batch]:
    return [each for each in read_segment(path) if isinstance(each, Batch)]


# ---- no fault --------------------------------------------------------------------------------------


def test_a_sound_folder_opens_without_a_word(folder: Path) -> None:
    opened = Opened(folder)
    assert opened.values() == EVERYTHING
    assert opened.values("payments") == ["paid"]
    assert opened.committed() == [7]
    assert opened.warnings == []
    opened.cluster.close()
    again = Opened(folder)
    assert (again.values(), again.warnings) == (EVERYTHING, [])


def test_the_mark_of_a_clean_stop_is_kafkas_and_is_gone_while_it_runs(stopped: Path) -> None:
    marker = stopped / ".kafka_cleanshutdown"
    assert json.loads(marker.read_text()) == {"version": 0, "brokerEpoch": -1}
    opened = Opened(stopped)
    assert not marker.exists()
    opened.cluster.close()
    assert marker.exists()


def test_recovery_points_say_what_is_on_the_disk_and_not_what_was_appended(
    killed: Path, stopped: Path
) -> None:
    assert "orders 0 0\n" in (killed / "recovery-point-offset-checkpoint").read_text()
    assert f"orders 0 {RECORDS}\n" in (killed / "replication-offset-checkpoint").read_text()
    assert f"orders 0 {RECORDS}\n" in (stopped / "recovery-point-offset-checkpoint").read_text()


# ---- damage in a segment ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "bit"),
    [("base offset", 6), ("length", 1), ("epoch", 0), ("magic", 0), ("CRC", 3), ("count", 1), ("records", 2)],
)
@pytest.mark.parametrize("number", [0, 1, 500, RECORDS - 1])
def test_one_flipped_bit_costs_one_record_at_most(folder: Path, field: str, bit: int, number: int) -> None:
    """The record of that batch; what lies behind it stays, and so do its bytes."""
    path = folder / "orders-0" / SEGMENT
    at = {"base offset": 5, "length": 10, "epoch": 15, "magic": 16, "CRC": 19, "count": 60, "records": 70}
    before = path.read_bytes()
    flip(path, batches(path)[number].position + at[field], bit)
    changed = path.read_bytes()
    opened = Opened(folder)
    log = opened.cluster.topics["orders"].partitions[0].log
    assert log.end_offset >= RECORDS - 1
    raws = list(log.batches(0))
    healthy = [raw for raw in raws if raw in before]
    assert len(healthy) >= RECORDS - 1
    kept = [path for path in (folder / "orders-0").iterdir() if ".damaged" in path.name]
    if field in ("CRC", "records"):
        # After a kill every batch behind the recovery point is checked; after a clean stop none, as in Kafka.
        assert len(raws) == RECORDS - (folder.name == "killed")
    if len(raws) < RECORDS:
        assert [each.read_bytes() for each in kept] == [changed]
        [warning] = opened.warnings
        assert str(path) in warning and "at byte" in warning and kept[0].name in warning
    assert opened.produce("next") >= RECORDS - 1
    opened.cluster.close()
    again = Opened(folder)
    assert again.warnings == [] or "are missing" in again.warnings[0]


def test_a_bit_in_a_commit_is_told_and_the_other_commits_stay(folder: Path) -> None:
    log_folders = [each for each in folder.glob(f"{OFFSETS_TOPIC}-*") if (each / SEGMENT).stat().st_size]
    [path] = [each / SEGMENT for each in log_folders]
    opened = Opened(folder)
    opened.world.settle()
    for offset in (8, 9):
        opened.world.ask(commit(offset))
    opened.cluster.close()
    flip(path, batches(path)[-2].position + 70)
    opened = Opened(folder)
    assert opened.committed() == [9]
    assert len(opened.warnings) == 1 and str(path) in opened.warnings[0]
    opened.cluster.close()
    flip(path, path.stat().st_size - 3)  # the newest itself: an older one is served, and that is told
    opened = Opened(folder)
    assert opened.committed() == [7]
    assert "taken out" in opened.warnings[0]


@pytest.mark.parametrize("left", [1, 30, 61, 70])
def test_a_torn_tail_after_a_kill_is_cut_off(killed: Path, left: int) -> None:
    path = killed / "orders-0" / SEGMENT
    path.write_bytes(path.read_bytes() + batch("torn")[:left])
    opened = Opened(killed)
    assert opened.values() == EVERYTHING
    assert opened.warnings == [f"{killed / 'orders-0'}: cut off {left} bytes that are not a whole batch"]


def test_zeros_that_were_to_be_records_are_cut_off(killed: Path) -> None:
    path = killed / "orders-0" / SEGMENT
    path.write_bytes(path.read_bytes() + bytes(5_000))
    opened = Opened(killed)
    assert opened.values() == EVERYTHING
    assert opened.warnings == [f"{killed / 'orders-0'}: cut off 5000 bytes that are not a whole batch"]


def test_after_a_clean_stop_nothing_is_cut_without_a_copy(stopped: Path) -> None:
    path = stopped / "orders-0" / SEGMENT
    with path.open("ab") as file:
        file.write(batch("torn")[:30])
    changed = path.read_bytes()
    opened = Opened(stopped)
    assert opened.values() == EVERYTHING
    assert (path.with_name(path.name + ".damaged")).read_bytes() == changed
    assert len(opened.warnings) == 1


def test_lost_bytes_in_the_middle_cost_the_batch_that_had_them(folder: Path) -> None:
    path = folder / "orders-0" / SEGMENT
    at = batches(path)[500].position + 65

    def cut(raw: bytearray) -> None:
        del raw[at : at + 3]

    change(path, cut)
    opened = Opened(folder)
    assert opened.values() == [value for value in EVERYTHING if value != "value 500"]
    assert "taken out with offset 500; 499 batches behind stay" in opened.warnings[0]


def test_a_log_that_is_shorter_than_it_was_gives_no_offset_twice(stopped: Path) -> None:
    path = stopped / "orders-0" / SEGMENT
    change(path, lambda raw: raw.__delitem__(slice(batches(path)[400].position, None)))
    opened = Opened(stopped)
    assert opened.values() == EVERYTHING[:400]
    assert f"offsets 400 to {RECORDS - 1} are missing at its end" in opened.warnings[0]
    assert opened.produce("next") == RECORDS


# ---- segments and the files beside them -------------------------------------------------------------


def test_what_a_loss_of_power_took_before_it_was_synced_is_not_missed(killed: Path) -> None:
    """The high watermark was written down, the records were not on the disk: offsets are given again."""
    recovery_points = killed / "recovery-point-offset-checkpoint"
    assert "orders 0 0\n" in recovery_points.read_text()
    change(killed / "orders-0" / SEGMENT, lambda raw: raw.clear())
    opened = Opened(killed)
    assert (opened.values(), opened.warnings) == ([], [])
    assert opened.produce("first") == 0


@pytest.fixture
def rolled(tmp_path: Path) -> Path:
    """A folder whose topic has several segments, after a clean stop."""
    opened = Opened(tmp_path / "rolled", {"log.segment.bytes": "10000"})
    opened.cluster.create_topic("orders", 1, 1, {}, 0)
    for value in EVERYTHING:
        opened.produce(value)
    opened.cluster.close()
    return opened.folder


def test_a_missing_segment_is_told(rolled: Path) -> None:
    paths = sorted((rolled / "orders-0").glob("*.log"))
    paths[3].unlink()
    first, last = int(paths[3].stem), int(paths[4].stem) - 1
    opened = Opened(rolled, {"log.segment.bytes": "10000"})
    assert opened.values() == EVERYTHING[:first] + EVERYTHING[last + 1 :]
    assert [f"offsets {first} to {last} are missing" in text for text in opened.warnings] == [True]


def test_a_missing_first_segment_is_told(rolled: Path) -> None:
    paths = sorted((rolled / "orders-0").glob("*.log"))
    paths[0].unlink()
    opened = Opened(rolled, {"log.segment.bytes": "10000"})
    assert opened.values() == EVERYTHING[int(paths[1].stem) :]
    assert f"offsets 0 to {int(paths[1].stem) - 1} are missing" in opened.warnings[0]


def test_a_missing_last_segment_is_told_and_its_offsets_are_not_given_again(rolled: Path) -> None:
    paths = sorted((rolled / "orders-0").glob("*.log"))
    paths[-1].unlink()
    opened = Opened(rolled, {"log.segment.bytes": "10000"})
    assert opened.values() == EVERYTHING[: int(paths[-1].stem)]
    assert f"offsets {int(paths[-1].stem)} to {RECORDS - 1} are missing" in opened.warnings[0]
    assert opened.produce("next") == RECORDS


def test_damage_in_a_closed_segment_leaves_the_others_as_they_are(rolled: Path) -> None:
    paths = sorted((rolled / "orders-0").glob("*.log"))
    flip(paths[2], batches(paths[2])[0].position + 16)
    gone = int(paths[2].stem)
    opened = Opened(rolled, {"log.segment.bytes": "10000"})
    assert opened.values() == EVERYTHING[:gone] + EVERYTHING[gone + 1 :]
    assert len(opened.warnings) == 1


@pytest.mark.parametrize("raw", [b"", b"\0" * 40, b"half", b"\xff" * 800])
@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_an_index_that_is_not_right_is_made_again(folder: Path, raw: bytes, suffix: str) -> None:
    path = (folder / "orders-0" / SEGMENT).with_suffix(suffix)
    whole = path.read_bytes()
    path.write_bytes(raw)
    opened = Opened(folder)
    assert opened.values() == EVERYTHING
    assert path.read_bytes() == whole
    assert opened.warnings == []


@pytest.mark.parametrize("suffix", [".deleted", ".cleaned"])
def test_what_a_cleaning_has_left_is_no_part_of_the_log(folder: Path, suffix: str) -> None:
    path = folder / "orders-0" / (SEGMENT + suffix)
    path.write_bytes(batch("old"))
    opened = Opened(folder)
    assert opened.values() == EVERYTHING
    assert not path.exists()


def test_a_segment_that_was_to_be_swapped_in_is_as_kafka_does_it(folder: Path) -> None:
    """A .swap is whole (Kafka's LogLoader): it takes the place of the segments with its offsets."""
    path = folder / "orders-0" / SEGMENT
    path.rename(path.with_name(SEGMENT + ".swap"))
    opened = Opened(folder)
    assert opened.values() == EVERYTHING
    assert opened.warnings == []


def test_a_segment_that_is_swapped_in_leaves_the_one_behind_it(rolled: Path) -> None:
    """It takes the place of the segments from its base offset up to its end, and not of the one there."""
    path = rolled / "orders-0" / SEGMENT
    path.rename(path.with_name(SEGMENT + ".swap"))
    opened = Opened(rolled, {"log.segment.bytes": "10000"})
    assert opened.values() == EVERYTHING
    assert opened.warnings == []


def test_records_that_were_deleted_stay_deleted(folder: Path) -> None:
    opened = Opened(folder)
    opened.cluster.delete_records(opened.cluster.topics["orders"].partitions[0], 600)
    again = Opened(Path(shutil.copytree(folder, folder.with_name("again"))))
    partition = again.cluster.topics["orders"].partitions[0]
    assert partition.log.start_offset == 600
    assert again.values() == EVERYTHING[600:]


# ---- the small files -------------------------------------------------------------------------------


@pytest.mark.parametrize("raw", [b"", b"\xff\xfe", b"0\n", b"0\n9\norders 0 5\n", b"7\n0\n"])
@pytest.mark.parametrize(
    "name",
    ["recovery-point-offset-checkpoint", "replication-offset-checkpoint", "log-start-offset-checkpoint"],
)
def test_a_checkpoint_that_cannot_be_read_is_made_again(folder: Path, name: str, raw: bytes) -> None:
    (folder / name).write_bytes(raw)
    opened = Opened(folder)
    assert opened.values() == EVERYTHING
    assert len(opened.warnings) == 1 and name in opened.warnings[0]
    opened.cluster.close()
    assert Opened(folder).warnings == []


def test_a_checkpoint_that_cannot_be_read_does_not_keep_the_mark_of_a_clean_stop(stopped: Path) -> None:
    """If this run is killed, the next one would look at nothing that it has written."""
    (stopped / "replication-offset-checkpoint").write_bytes(b"0\n")
    Opened(stopped)
    assert not (stopped / ".kafka_cleanshutdown").exists()


@pytest.mark.parametrize("raw", [b"", b"\xff\xfe", b"0\n", b"0\n3\n0 0\n"])
def test_a_leader_epoch_checkpoint_that_cannot_be_read_is_made_again(folder: Path, raw: bytes) -> None:
    path = folder / "orders-0" / "leader-epoch-checkpoint"
    whole = path.read_bytes()
    path.write_bytes(raw)
    opened = Opened(folder)
    assert opened.values() == EVERYTHING
    assert path.read_bytes() == whole
    assert len(opened.warnings) == 1 and str(path) in opened.warnings[0]


@pytest.mark.parametrize("raw", [b"", b"\xff\xfe\0", b"version: 0\ntopic_id: ?\n", b"version: 0\n"])
def test_partition_metadata_that_says_nothing_is_made_again(folder: Path, raw: bytes) -> None:
    path = folder / "orders-0" / "partition.metadata"
    whole = path.read_bytes()
    path.write_bytes(raw)
    opened = Opened(folder)
    assert opened.values() == EVERYTHING
    assert path.read_bytes() == whole
    assert len(opened.warnings) == 1 and str(path) in opened.warnings[0]


def test_a_folder_with_the_id_of_another_topic_is_kept_as_a_stray(folder: Path) -> None:
    metadata = folder / "orders-0" / "partition.metadata"
    text = metadata.read_text()
    letter = text[-5]
    metadata.write_text(text[:-5] + ("B" if letter == "A" else "A") + text[-4:])
    segment = (folder / "orders-0" / SEGMENT).read_bytes()
    opened = Opened(folder)
    [stray] = folder.glob("orders-0.*-stray")
    assert (stray / SEGMENT).read_bytes() == segment
    assert stray.name in opened.warnings[0]
    # What was there is not given again under the same offsets.
    if (folder.name) == "stopped":
        assert opened.produce("next") == RECORDS


def test_another_id_of_the_offsets_topic_is_no_start(folder: Path) -> None:
    metadata = folder / f"{OFFSETS_TOPIC}-0" / "partition.metadata"
    (folder / "orders-0" / "partition.metadata").replace(metadata)
    names = sorted(path.name for path in folder.iterdir())
    with pytest.raises(
        SourceError, match=f"{metadata}: topic id .* what groups have committed would be lost"
    ):
        Opened(folder)
    assert {path.name for path in folder.iterdir()} >= set(names) - {".kafka_cleanshutdown"}


def facts(folder: Path) -> tuple[Path, dict[str, object]]:
    path = folder / "kgroup-cluster.json"
    Opened(folder).cluster.close()  # so that no journal says anything
    return path, json.loads(path.read_text())


def without_checksum(path: Path, contents: dict[str, object]) -> None:
    """As an older kgroup wrote it."""
    path.write_text(json.dumps({key: contents[key] for key in ("clusterId", "nextProducerId", "topics")}))


def test_a_topic_that_the_cluster_file_misses_is_kept_as_a_stray(folder: Path) -> None:
    path, contents = facts(folder)
    del contents["topics"]["payments"]  # type: ignore[attr-defined]
    without_checksum(path, contents)
    opened = Opened(folder)
    [stray] = folder.glob("payments-0.*-stray")
    assert (stray / SEGMENT).stat().st_size
    assert opened.warnings == [
        f"{folder / 'payments-0'}: no topic that kgroup knows has this partition: kept as {stray.name}"
    ]
    assert opened.values() == EVERYTHING


def test_a_stray_stays_through_every_start(folder: Path) -> None:
    """As with Kafka, whose operator removes it."""
    path, contents = facts(folder)
    del contents["topics"]["payments"]  # type: ignore[attr-defined]
    without_checksum(path, contents)
    Opened(folder).cluster.close()
    [stray] = folder.glob("payments-0.*-stray")
    raw = (stray / SEGMENT).read_bytes()
    again = Opened(folder)
    assert again.warnings == []
    assert (stray / SEGMENT).read_bytes() == raw != b""


def test_a_folder_behind_a_topics_last_partition_is_a_stray(folder: Path) -> None:
    shutil.copytree(folder / "payments-0", folder / "payments-1")
    opened = Opened(folder)
    [stray] = folder.glob("payments-1.*-stray")
    assert opened.warnings == [
        f"{folder / 'payments-1'}: no topic that kgroup knows has this partition: kept as {stray.name}"
    ]


def test_folders_without_records_hide_nothing_however_many_they_are(folder: Path) -> None:
    names = [f"empty-{number}" for number in range(10)]
    for name in names:
        (folder / name).mkdir()
        (folder / name / SEGMENT).touch()
    opened = Opened(folder)
    assert opened.values() == EVERYTHING
    assert len(opened.warnings) == len(names)
    assert len(list(folder.glob("empty-*-stray"))) == len(names)


@pytest.mark.parametrize("topics", [[OFFSETS_TOPIC], ["orders", "payments"]])
def test_a_cluster_file_that_misses_what_counts_is_no_start(folder: Path, topics: list[str]) -> None:
    path, contents = facts(folder)
    known: dict[str, object] = contents["topics"]  # type: ignore[assignment]
    for topic in topics:
        del known[topic]
    if OFFSETS_TOPIC in known:
        known[OFFSETS_TOPIC]["partitions"] = 1  # type: ignore[index]
    without_checksum(path, contents)
    names = {each.name for each in folder.iterdir()} - {".kafka_cleanshutdown"}
    with pytest.raises(SourceError, match=r"kgroup-cluster\.json knows"):
        Opened(folder)
    assert names <= {each.name for each in folder.iterdir()}


def test_a_cluster_file_of_before_opens(folder: Path) -> None:
    path, contents = facts(folder)
    without_checksum(path, contents)
    opened = Opened(folder)
    assert (opened.values(), opened.warnings) == (EVERYTHING, [])


def changed_id(raw: bytearray) -> None:
    at = raw.index(b'"id": "') + 10
    raw[at] = ord("0") if raw[at] != ord("0") else ord("1")


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (changed_id, "its checksum is"),
        (lambda raw: raw.clear(), "Expecting value"),
        (lambda raw: raw.__setitem__(20, 0xFF), "byte 20 is not text"),
        (lambda raw: raw.__delitem__(slice(100, None)), "line"),
        (lambda raw: raw.__setitem__(slice(None), b"[" * 100_000), "nested too deeply"),
        (lambda raw: raw.__setitem__(slice(None), b"[]"), "no JSON object"),
        (lambda raw: raw.__setitem__(slice(None), b'{"version": 9}'), "version 9, while this one knows 1"),
    ],
)
def test_a_cluster_file_that_was_changed_is_no_start(
    folder: Path, changed: Callable[[bytearray], object], why: str
) -> None:
    path, _ = facts(folder)
    change(path, changed)
    before = {each.name for each in folder.iterdir()}
    with pytest.raises(SourceError) as raised:
        Opened(folder)
    assert str(raised.value).startswith(f"{path}: not what kgroup wrote: ")
    assert why in str(raised.value) and "\n" not in str(raised.value)
    assert {each.name for each in folder.iterdir()} == before


@pytest.mark.parametrize("name", ["../../evil", "/evil", "..", "", "a b", "x" * 250])
def test_no_topic_reaches_out_of_the_folder(folder: Path, name: str) -> None:
    path, contents = facts(folder)
    known: dict[str, object] = contents["topics"]  # type: ignore[assignment]
    known[name] = known["payments"]
    without_checksum(path, contents)
    with pytest.raises(SourceError, match="no topic can be called"):
        Opened(folder)
    assert not list(folder.parent.parent.glob("evil*"))


def test_a_journal_that_a_crash_cut_short_has_lost_what_nobody_heard_of(killed: Path) -> None:
    journal = killed / "kgroup-cluster.journal"
    with journal.open("ab") as file:
        file.write(b'12345678 {"nextProd')
    opened = Opened(killed)
    assert (opened.values(), opened.warnings) == (EVERYTHING, [])
    opened.cluster.create_topic("more", 1, 1, {}, 0)
    again = Opened(Path(shutil.copytree(killed, killed.with_name("again"))))
    assert "more" in again.cluster.topics


def test_a_journal_whose_end_a_loss_of_power_garbled_is_told_and_kept(killed: Path) -> None:
    journal = killed / "kgroup-cluster.journal"
    garbled = journal.read_bytes() + b"\xff\x00 noise\nand more\n"
    journal.write_bytes(garbled)
    opened = Opened(killed)
    assert opened.values() == EVERYTHING
    assert opened.warnings == [
        f"{journal}: the last 18 bytes are garbled; the file as it was is kept as {journal.name}.damaged"
    ]
    assert journal.with_name(f"{journal.name}.damaged").read_bytes() == garbled


def test_a_journal_that_was_changed_is_no_start(killed: Path) -> None:
    journal = killed / "kgroup-cluster.journal"
    flip(journal, 30)
    with pytest.raises(SourceError, match=f"{journal}:1: not what kgroup wrote: its checksum is wrong"):
        Opened(killed)


def test_a_partition_whose_folder_is_gone_is_told_and_gives_no_offset_twice(stopped: Path) -> None:
    shutil.rmtree(stopped / "orders-0")
    opened = Opened(stopped)
    assert f"{stopped}: no folder for orders-0; made anew" in opened.warnings
    assert opened.produce("next") == RECORDS


def test_a_deletion_that_a_crash_interrupted_is_ended(folder: Path) -> None:
    left = folder / "old-0.0123456789abcdef0123456789abcdef-delete"
    shutil.copytree(folder / "payments-0", left)
    opened = Opened(folder)
    assert not left.exists()
    assert opened.warnings == []


def test_a_deleted_topic_leaves_nothing_and_its_name_can_be_had_again(folder: Path) -> None:
    opened = Opened(folder)
    opened.cluster.delete_topic("orders", 0)
    assert not list(folder.glob("orders-*"))
    opened.cluster.create_topic("orders", 1, 1, {}, 0)
    assert opened.produce("new") == 0
    opened.cluster.checkpoint()
    again = Opened(Path(shutil.copytree(folder, folder.with_name("again"))))
    assert (again.values(), again.warnings) == (["new"], [])


# ---- that the images are what they are said to be -----------------------------------------------------


def test_a_batch_takes_one_record_here(stopped: Path) -> None:
    raw = (stopped / "orders-0" / SEGMENT).read_bytes()
    assert read_header(raw).records == 1
