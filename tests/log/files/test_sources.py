"""What the paths that a user gives are taken for."""

import os
import shutil
from pathlib import Path

import pytest

from kgroup.errors import SourceError
from kgroup.log.files.sources import Sources, one_replica_each, open_sources
from tests.log.offsets_log import batch, write
from tests.log.truth import CAPTURES, FIXTURES, name_of

LIVES = FIXTURES / "3.9.1/lives"
SEGMENT = "00000000000000000000.log"


def partitions_of(sources: Sources) -> list[int]:
    return [segment.partition for segment in sources]


def names_of(sources: Sources) -> list[str]:
    return [f"{segment.folder.name}/{Path(segment.path).name}" for segment in sources]


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    """A small log directory: two offsets partitions, one data topic."""
    path = tmp_path / "kafka-logs-1"
    for folder in ("__consumer_offsets-5", "__consumer_offsets-14", "payments-0"):
        shutil.copytree(LIVES / folder, path / folder)
    for name in ("meta.properties", "replication-offset-checkpoint"):
        shutil.copy(LIVES / name, path / name)
    return path


@pytest.mark.parametrize("capture", CAPTURES, ids=name_of)
def test_a_log_directory_holds_every_segment_of_the_offsets_topic_in_order(capture: Path) -> None:
    sources = open_sources([capture])
    expected = [
        f"{folder.name}/{segment.name}"
        for folder in sorted(capture.glob("__consumer_offsets-*"), key=lambda path: int(path.name[19:]))
        for segment in sorted(folder.glob("*.log"))
    ]
    assert names_of(sources) == expected
    assert [log_dir.path for log_dir in sources.log_dirs] == [capture]
    assert not sources.skipped


def test_a_partition_folder_is_taken_with_the_log_directory_it_lies_in() -> None:
    sources = open_sources([LIVES / "__consumer_offsets-5"])
    (segment,) = sources
    assert segment.path == str(LIVES / "__consumer_offsets-5" / SEGMENT)
    assert (segment.topic, segment.partition, segment.base_offset) == ("__consumer_offsets", 5, 0)
    (log_dir,) = sources.log_dirs
    assert log_dir.path == LIVES
    assert "payments" in {folder.topic for folder in log_dir.partitions}


def test_a_segment_file_knows_its_partition_from_the_folder() -> None:
    sources = open_sources([LIVES / "__consumer_offsets-5" / SEGMENT])
    assert partitions_of(sources) == [5]
    assert [log_dir.path for log_dir in sources.log_dirs] == [LIVES]


def test_a_path_is_kept_as_it_was_given(log_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(log_dir / "__consumer_offsets-5")
    assert [(file.path, file.partition) for file in open_sources([SEGMENT])] == [(SEGMENT, 5)]
    assert [(file.path, file.partition) for file in open_sources(["."])] == [(SEGMENT, 5)]
    monkeypatch.chdir(log_dir.parent)
    assert [file.path for file in open_sources(["kafka-logs-1"])] == [
        f"kafka-logs-1/__consumer_offsets-5/{SEGMENT}",
        f"kafka-logs-1/__consumer_offsets-14/{SEGMENT}",
    ]


def test_a_directory_of_many_log_directories_is_searched_to_any_depth(log_dir: Path) -> None:
    other = log_dir.parent / "a" / "b" / "kafka-logs-2"
    shutil.copytree(log_dir, other)
    sources = open_sources([log_dir.parent])
    assert partitions_of(sources) == [5, 5, 14, 14]
    assert [log_dir.path for log_dir in sources.log_dirs] == [other, log_dir]


def test_what_is_reached_twice_counts_once(log_dir: Path) -> None:
    folder = log_dir / "__consumer_offsets-5"
    (log_dir.parent / "link").symlink_to(log_dir)
    paths = [folder / SEGMENT, folder, log_dir, log_dir.parent / "link", log_dir.parent]
    assert partitions_of(open_sources(paths)) == [5, 14]


def test_links_in_a_circle_end(log_dir: Path) -> None:
    (log_dir / "loop").symlink_to(log_dir.parent)
    assert partitions_of(open_sources([log_dir.parent])) == [5, 14]


def test_a_very_deep_directory_is_searched(log_dir: Path) -> None:
    deep = log_dir.parent.joinpath(*["d"] * 600)
    deep.mkdir(parents=True)
    shutil.copytree(log_dir / "__consumer_offsets-5", deep / "__consumer_offsets-7")
    assert partitions_of(open_sources([log_dir.parent])) == [5, 7, 14]


def test_standard_input_is_a_segment_of_an_unknown_partition() -> None:
    (segment,) = open_sources(["-"])
    assert (segment.path, segment.partition, segment.base_offset) == ("-", -1, None)


def test_a_copy_of_a_segment_under_another_name_is_taken(tmp_path: Path) -> None:
    copy = tmp_path / "backup-2024" / "evidence.bin"
    copy.parent.mkdir()
    shutil.copy(LIVES / "__consumer_offsets-5" / SEGMENT, copy)
    assert partitions_of(open_sources([copy])) == [-1]


def test_a_folder_of_segments_under_another_name_is_taken_if_it_is_named(log_dir: Path) -> None:
    renamed = (log_dir / "__consumer_offsets-5").rename(log_dir / "evidence")
    assert partitions_of(open_sources([renamed])) == [-1]
    sources = open_sources([log_dir])
    assert partitions_of(sources) == [14]
    (skipped,) = sources.skipped
    assert skipped.path == str(renamed)
    assert "says no partition" in skipped.why


def test_a_segment_in_the_middle_of_a_swap_is_skipped_with_the_reason(log_dir: Path) -> None:
    swap = log_dir / "__consumer_offsets-5" / f"{SEGMENT}.swap"
    shutil.copy(log_dir / "__consumer_offsets-5" / SEGMENT, swap)
    for paths in ([log_dir], [log_dir / "__consumer_offsets-5"]):
        sources = open_sources(paths)
        assert 5 in partitions_of(sources)
        assert [(skipped.path, "swapping" in skipped.why) for skipped in sources.skipped] == [
            (str(swap), True)
        ]


@pytest.mark.parametrize("fate", ["delete", "future", "stray"])
def test_folders_that_kafka_retired_are_skipped_with_the_reason_unless_named(
    log_dir: Path, fate: str
) -> None:
    name = f"__consumer_offsets-5.0123456789abcdef0123456789abcdef-{fate}"
    retired = (log_dir / "__consumer_offsets-5").rename(log_dir / name)
    sources = open_sources([log_dir])
    assert partitions_of(sources) == [14]
    assert [skipped.path for skipped in sources.skipped] == [str(retired)]
    assert partitions_of(open_sources([retired])) == [5]


def test_a_partition_without_segments_is_no_source_and_no_hindrance(log_dir: Path) -> None:
    (log_dir / "__consumer_offsets-5" / SEGMENT).unlink()
    assert partitions_of(open_sources([log_dir])) == [14]
    with pytest.raises(SourceError, match="no segments in it"):
        open_sources([log_dir / "__consumer_offsets-5"])


def test_a_data_topics_folder_is_refused_with_its_topic() -> None:
    with pytest.raises(SourceError, match="a partition of topic payments, not of __consumer_offsets"):
        open_sources([LIVES / "payments-0"])


def test_a_data_topics_segment_is_refused_with_its_topic() -> None:
    with pytest.raises(SourceError, match="a segment of topic payments, not of __consumer_offsets"):
        open_sources([LIVES / "payments-0" / SEGMENT])


def test_a_log_directory_without_the_offsets_topic_is_refused_with_what_it_holds(log_dir: Path) -> None:
    for folder in log_dir.glob("__consumer_offsets-*"):
        shutil.rmtree(folder)
    with pytest.raises(
        SourceError, match=r"no segments of __consumer_offsets here or below, only of payments"
    ):
        open_sources([log_dir])


def test_another_topic_can_be_asked_for() -> None:
    assert [segment.topic for segment in open_sources([LIVES], topic="payments")] == ["payments"] * 3


def test_an_empty_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=f"{tmp_path}: no segments of __consumer_offsets here or below"):
        open_sources([tmp_path])


def test_a_missing_path_is_refused_also_beside_good_ones(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="gone: No such file or directory"):
        open_sources([LIVES, tmp_path / "gone"])


@pytest.mark.parametrize(
    "name", [f"{0:020}.index", f"{0:020}.timeindex", f"{0:020}.txnindex", f"{13:020}.snapshot"]
)
def test_a_file_beside_a_segment_is_refused(name: str) -> None:
    with pytest.raises(SourceError, match=r"give the \.log file next to it"):
        open_sources([LIVES / "__consumer_offsets-48" / name])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_without_permission_is_skipped_with_the_reason(log_dir: Path) -> None:
    closed = log_dir / "__consumer_offsets-5"
    closed.chmod(0)
    try:
        sources = open_sources([log_dir])
        assert partitions_of(sources) == [14]
        assert [("Permission denied" in skipped.why, skipped.failed) for skipped in sources.skipped] == [
            (True, True)
        ]
        with pytest.raises(SourceError, match="Permission denied"):
            open_sources([closed])
    finally:
        closed.chmod(0o755)


def test_of_replicas_the_one_whose_log_ends_last_is_kept(log_dir: Path) -> None:
    behind = log_dir.parent / "kafka-logs-0"
    shutil.copytree(log_dir, behind)
    segment = behind / "__consumer_offsets-5" / SEGMENT
    segment.write_bytes(segment.read_bytes()[:20_000])
    sources = one_replica_each(open_sources([log_dir.parent]))
    assert [(file.folder.parent, file.partition) for file in sources] == [(log_dir, 5), (behind, 14)]
    assert [Path(skipped.path) for skipped in sources.skipped] == [segment.parent]
    assert "that ends at" in sources.skipped[0].why


def test_a_replica_ends_where_it_can_still_be_read(log_dir: Path) -> None:
    behind = log_dir.parent / "kafka-logs-0"
    shutil.copytree(log_dir, behind)
    segment = behind / "__consumer_offsets-5" / SEGMENT
    segment.write_bytes(segment.read_bytes()[:20_000])
    last = log_dir / "__consumer_offsets-5" / "00000000000099999999.log"
    last.symlink_to("on-a-disk-that-is-gone")
    sources = one_replica_each(open_sources([log_dir.parent]))
    kept = [segment for segment in sources if segment.partition == 5]
    assert [Path(segment.path) for segment in kept] == [log_dir / "__consumer_offsets-5" / SEGMENT, last]
    assert [Path(skipped.path) for skipped in sources.skipped] == [segment.parent]


def test_replicas_that_end_where_the_kept_one_does_are_nothing_to_tell(log_dir: Path) -> None:
    copy = log_dir.parent / "copy"
    shutil.copytree(log_dir, copy)
    both, one = (one_replica_each(open_sources([path])) for path in (log_dir.parent, copy))
    assert len(both.segments) == len(one.segments)
    assert both.skipped == one.skipped


def test_replicas_are_all_there_until_one_is_chosen(log_dir: Path) -> None:
    shutil.copytree(log_dir, log_dir.parent / "kafka-logs-0")
    assert partitions_of(open_sources([log_dir.parent])) == [5, 5, 14, 14]


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [("3.9.1/lives", "3.9.1/compacted", "topic id"), ("2.4.1/lives", "2.4.1/ibp-2.1", "cluster id")],
)
def test_the_same_partition_of_two_clusters_is_no_replica(first: str, second: str, kind: str) -> None:
    sources = open_sources([FIXTURES / first, FIXTURES / second])
    with pytest.raises(SourceError, match=f"of different clusters .{kind} .*give one cluster at a time"):
        one_replica_each(sources)


def test_a_file_without_any_batch_is_no_segment(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("what else was in the folder\n" * 100)
    with pytest.raises(SourceError, match=r"notes.txt: not a log segment: no record batch in it"):
        open_sources([notes])


def test_a_segment_of_any_name_is_one_even_if_its_first_batch_is_damaged(tmp_path: Path) -> None:
    damaged = tmp_path / "copy.bin"
    content = bytearray((LIVES / "__consumer_offsets-5" / SEGMENT).read_bytes())
    content[16] = 99  # the magic of the first batch
    damaged.write_bytes(content)
    (segment,) = open_sources([damaged])
    assert segment.base_offset is None


def test_a_segment_s_own_name_is_believed_whatever_is_in_it(tmp_path: Path) -> None:
    ruined = tmp_path / SEGMENT
    ruined.write_bytes(b"\xff" * 1000)
    assert len(open_sources([ruined])) == 1


def test_links_that_lead_back_are_followed_once(tmp_path: Path) -> None:
    """Two of them: each way through both would be another path."""
    path = write(tmp_path, [batch(0, [(b"k", b"v")])])
    for name in ("again", "and-again"):
        (tmp_path / name).symlink_to(tmp_path)
    assert [segment.path for segment in open_sources([tmp_path])] == [str(path)]
