"""Google's storage, of an independent server on loopback: what is read there is what lies in the files."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kgroup.errors import SourceError
from kgroup.log.files.sources import open_sources
from kgroup.scan.reductions.scan import newest, split
from kgroup.spark.reductions import NewestRecords
from kgroup.spark.remote import open_remote
from kgroup.spark.storage import Storage
from tests.spark.storages import LoggedStorage, copy_what_counts, google_server

CAPTURE = Path(__file__).parents[2] / "fixtures" / "2.4.1" / "lives"


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_what_counts(CAPTURE, tmp_path_factory.mktemp("copied") / "broker-1")


@pytest.fixture(scope="module")
def google(copied: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoggedStorage]:
    """A copy as tools make it, which has files and no folders, but for one that somebody made."""
    with google_server(tmp_path_factory.mktemp("google")) as storage:
        system, root = Storage(storage.settings).open(storage.uri)
        for path in sorted(copied.rglob("*")):
            if path.is_file():
                with system.open_output_stream(f"{root}/{path.relative_to(copied.parent)}") as stream:
                    stream.write(path.read_bytes())
        system.create_dir(f"{root}/broker-1")
        system.create_dir(f"{root}/empty")
        yield storage


@pytest.mark.parametrize("below", ["", "/broker-1"], ids=["bucket", "broker"])
def test_a_copy_without_objects_for_its_folders_is_read_as_the_files_are(
    below: str, google: LoggedStorage, copied: Path
) -> None:
    with open_remote([google.uri + below], Storage(google.settings)) as remote:
        parts = [part for file in remote.sources for part in split(file.path, file.partition, 1 << 40)]
        there = remote.fetching(NewestRecords()).reduce(parts)
        assert not remote.named().skipped
    here = newest(
        part for file in open_sources([copied]) for part in split(file.path, file.partition, 1 << 40)
    )
    assert there.records == here.records > 1000
    assert there.commits.equals(here.commits)


def test_what_is_not_there_is_one_line_without_advice_on_keys(google: LoggedStorage) -> None:
    uri = f"{google.uri}/broker-2"
    with pytest.raises(SourceError) as raised, open_remote([uri], Storage(google.settings)):
        pass
    assert str(raised.value) == f"{uri}: there is nothing of that name"


def test_a_server_that_is_not_there_is_one_line_with_what_to_set() -> None:
    uri = "gs://anonymous@logs/x?endpoint_override=127.0.0.1:1&scheme=http&retry_limit_seconds=1"
    with pytest.raises(SourceError) as raised, open_remote([uri]):
        pass
    line = str(raised.value)
    assert line.startswith("gs://anonymous@logs/x: UNAVAILABLE: ")
    assert line.endswith("application default credentials: GOOGLE_APPLICATION_CREDENTIALS")
    assert "\n" not in line
    assert "error_info" not in line
