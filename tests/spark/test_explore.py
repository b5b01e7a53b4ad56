"""What is asked of a storage, and where replicas' logs end without being read as a whole."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kgroup.log.files.log_dir import read_partition_folder
from kgroup.spark import explore as explore_module
from kgroup.spark.explore import Found, explore, replica_end, side_by_side
from kgroup.spark.remote import open_remote
from kgroup.spark.storage import Storage

FIXTURES = Path(__file__).parents[2] / "fixtures"
LIVES = FIXTURES / "4.3.1" / "lives"
FOLDERS = sorted(
    folder
    for capture in ("4.3.1/lives", "3.9.1/compacted", "2.4.1/lives")
    for folder in (FIXTURES / capture).glob("__consumer_offsets-*")
    if any(path.stat().st_size for path in folder.glob("*.log"))
)


def found(folder: Path) -> Found:
    return Found.of_json(explore(folder.as_uri(), Storage()))


def test_of_a_log_directory_the_offsets_topic_is_listed_and_of_others_a_file_each_is_read() -> None:
    of_lives = found(LIVES)
    listed = {name.partition("/")[0] for name, size in of_lives.sizes.items() if size}
    assert {name.rpartition("-")[0] for name in listed} == {"__consumer_offsets"}
    topics = {path.name.rpartition("-")[0] for path in LIVES.iterdir() if path.is_dir()}
    metadata = [name for name in of_lives.contents if name.endswith("partition.metadata")]
    assert len(metadata) == len(topics) < sum(path.is_dir() for path in LIVES.iterdir())
    assert of_lives.folders == ()


def test_folders_beside_each_other_are_looked_into_even_if_named_like_partitions(tmp_path: Path) -> None:
    for broker in ("broker-1", "broker-2"):
        shutil.copytree(FOLDERS[0], tmp_path / broker / FOLDERS[0].name)
    assert found(tmp_path).folders == ("broker-1", "broker-2")


def test_all_of_a_depth_is_asked_at_once_and_then_the_ends_of_replicas(tmp_path: Path) -> None:
    for number in range(3):
        shutil.copytree(FOLDERS[0], tmp_path / f"broker-{number}" / FOLDERS[0].name)
    rounds: list[int] = []

    def ask(function: Callable[[Any], str], asked: Sequence[Any]) -> list[str]:
        rounds.append(len(asked))
        return side_by_side(function, asked)

    with open_remote([tmp_path.as_uri()], ask=ask) as remote:
        assert len({segment.folder for segment in remote.sources}) == 1
    assert rounds == [1, 3, 3]


def test_a_folder_that_cannot_be_looked_into_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    shutil.copytree(FOLDERS[0], tmp_path / "broker-1" / FOLDERS[0].name)
    (tmp_path / "broker-2").mkdir()

    def ask(function: Callable[[Any], str], asked: Sequence[Any]) -> list[str]:
        broken = Found(sizes={}, contents={}, error=f"{tmp_path.as_uri()}/broker-2: Access denied").as_json()
        return [broken if each[0].endswith("broker-2") else function(each) for each in asked]

    with open_remote([tmp_path.as_uri()], ask=ask) as remote:
        (skipped,) = remote.named().skipped
    assert (skipped.path, skipped.why) == (f"{tmp_path.as_uri()}/broker-2", "Access denied")
    assert skipped.failed


def asked_of(folder: Path) -> tuple[str, list[tuple[int, str, int]]]:
    segments = sorted(folder.glob("*.log"))
    return folder.as_uri(), [(int(path.stem), path.name, path.stat().st_size) for path in segments]


def end_of(folder: Path) -> object:
    return json.loads(replica_end(asked_of(folder), Storage()))["end"]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: f"{folder.parent.parent.name}-{folder.name}")
def test_a_replica_ends_where_its_files_do(folder: Path) -> None:
    local = read_partition_folder(folder)
    assert local is not None
    assert end_of(folder) == local.log_end_offset()


def test_of_a_replica_with_an_index_only_the_tail_is_read(tmp_path: Path) -> None:
    """What is before the last entry of the index may be anything."""
    folder = max(FOLDERS, key=lambda folder: max(path.stat().st_size for path in folder.glob("*.index")))
    copy = tmp_path / folder.name
    shutil.copytree(folder, copy)
    index = max(copy.glob("*.index"), key=lambda path: path.stat().st_size)
    segment = index.with_suffix(".log")
    for other in set(copy.glob("*.log")) - {segment}:
        other.unlink()
    expected = end_of(copy)
    entry = explore_module._last_entry(*Storage().open(index.as_uri()), int(index.stem))
    assert entry is not None
    assert entry.position > 0
    raw = segment.read_bytes()
    segment.write_bytes(b"\xff" * entry.position + raw[entry.position :])
    assert end_of(copy) == expected
    index.write_bytes(index.read_bytes() + bytes(200_000))  # as a broker that still writes has it
    assert end_of(copy) == expected


def test_an_index_that_does_not_fit_is_passed_over(tmp_path: Path) -> None:
    folder = FOLDERS[0]
    copy = tmp_path / folder.name
    shutil.copytree(folder, copy)
    for index in copy.glob("*.index"):
        index.write_bytes((7).to_bytes(4, "big") + (33).to_bytes(4, "big"))
    assert end_of(copy) == end_of(folder)
