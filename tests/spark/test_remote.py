"""Logs by URI: the same rows as from a disk, and what is said of a file system that cannot be used."""

import shutil
from pathlib import Path

import pytest

from kgroup.cli.shell.app import main
from kgroup.errors import SourceError
from kgroup.scan.reductions.scan import newest, split
from kgroup.spark.reductions import NewestRecords
from kgroup.spark.remote import is_uri, open_remote

FIXTURES = Path(__file__).parents[2] / "fixtures"
LIVES = FIXTURES / "4.3.1" / "lives"
COMPACTED = FIXTURES / "3.9.1" / "compacted"


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, str]:
    now = ("--log-ends", str(LIVES / "topics.json"), "--status", "--now", "2026-11-20T13:00Z")
    with pytest.raises(SystemExit) as ended:
        main(["lag-report", *arguments, *now, "-o", "jsonl"])
    assert ended.value.code == 0
    written = capsys.readouterr()
    return written.out, written.err


@pytest.mark.spark
@pytest.mark.usefixtures("shared_session")
def test_a_report_by_uri_is_the_report_of_the_files(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Of the offsets topic: what the data topics' own logs prove besides is read from files only."""
    for folder in LIVES.glob("__consumer_offsets-*"):
        shutil.copytree(folder, tmp_path / folder.name)
    local = report(capsys, str(tmp_path))
    assert local[0].count("\n") > 100
    assert report(capsys, tmp_path.as_uri(), "--spark") == local


def reduced(*uris: str) -> object:
    with open_remote(uris) as remote:
        slices = [
            part for segment in remote.sources for part in split(segment.path, segment.partition, 1 << 40)
        ]
        return remote.fetching(NewestRecords()).reduce(slices)


def local_of(*folders: Path) -> object:
    paths = [path for folder in folders for path in sorted(folder.glob("*.log"))]
    return newest(
        [part for path in paths for part in split(path, int(path.parent.name.rpartition("-")[2]), 1 << 40)]
    )


@pytest.mark.parametrize("trailing", ["", "/"])
def test_a_partition_folder_and_a_segment_may_be_named(trailing: str) -> None:
    folder = COMPACTED / "__consumer_offsets-11"
    whole = local_of(folder)
    assert reduced(folder.as_uri() + trailing) == whole
    segments = [path.as_uri() for path in sorted(folder.glob("*.log"))]
    assert len(segments) > 1
    assert reduced(*segments) == whole
    assert reduced(*segments, folder.as_uri(), segments[0]) == whole


def test_likenesses_hold_no_records_and_are_gone_afterwards() -> None:
    with open_remote([LIVES.as_uri()]) as remote:
        folder = Path(remote.likenesses[0].folder)
        logs = sorted(folder.rglob("*.log"))
        assert {path.parent.name.rpartition("-")[0] for path in logs} == {"__consumer_offsets"}
        for path in logs:
            assert path.read_bytes() == bytes((LIVES / path.parent.name / path.name).stat().st_size)
        named = remote.named()
        assert {segment.path for segment in named} == {
            f"{LIVES.as_uri()}/{path.parent.name}/{path.name}" for path in logs
        }
    assert not folder.exists()


def test_of_replicas_the_longest_counts_once_and_the_others_are_named(tmp_path: Path) -> None:
    partition = "__consumer_offsets-11"
    for broker in ("a", "b"):
        shutil.copytree(COMPACTED / partition, tmp_path / broker / partition)
    last = max((tmp_path / "a" / partition).glob("*.log"))
    last.write_bytes(last.read_bytes()[:-1])  # a torn tail: the last batch has not come whole
    with open_remote([tmp_path.as_uri()]) as remote:
        named = remote.named()
        assert {Path(segment.path).parent.parent.name for segment in named} == {"b"}
        (skipped,) = named.skipped
    assert skipped.path == f"{tmp_path.as_uri()}/a/{partition}"
    assert skipped.why.startswith(f"replica of {tmp_path.as_uri()}/b/{partition} that ends at ")


def test_damage_is_named_by_its_uri(tmp_path: Path) -> None:
    segment = next((FIXTURES / "damaged" / "bit-flip-in-records").rglob("*.log"))
    newest = reduced(segment.as_uri())
    assert {damage.segment for damage in newest.damage} == {segment.as_uri()}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("uri", "why"),
    [
        ("file:///nowhere/at/all", "file:///nowhere/at/all: there is nothing of that name"),
        ("nosuch://host/path", "nosuch://host/path: no storage that kgroup reads"),
        (f"file://{FIXTURES}/vectors", "no segments of __consumer_offsets here or below"),
    ],
)
def test_what_cannot_be_read_is_one_line_with_its_uri(uri: str, why: str) -> None:
    with pytest.raises(SourceError) as raised, open_remote([uri]):
        pass
    assert why in str(raised.value)
    assert str(raised.value).startswith(uri)
    assert "\n" not in str(raised.value)


def test_hdfs_without_its_cluster_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("JAVA_HOME", "HADOOP_HOME", "HADOOP_CONF_DIR", "CLASSPATH"):
        monkeypatch.delenv(variable, raising=False)
    with (
        pytest.raises(
            SourceError, match=r"^hdfs://127\.0\.0\.1:1/logs: Connection refused.*; .*HADOOP_CONF_DIR"
        ),
        open_remote(["hdfs://127.0.0.1:1/logs"]),
    ):
        pass


def test_a_segment_that_is_gone_when_it_is_fetched_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "__consumer_offsets-11"
    shutil.copytree(COMPACTED / folder.name, folder)
    with open_remote([folder.as_uri()]) as remote:
        parts = [part for segment in remote.sources for part in split(segment.path, 11, 1 << 40)]
        shutil.rmtree(folder)
        with pytest.raises(SourceError, match=rf"^{folder.as_uri()}/0*\d+\.log: "):
            remote.fetching(NewestRecords()).reduce(parts)


@pytest.mark.parametrize(
    ("path", "expected"), [("s3://b/x", True), ("hdfs://n:8020/x", True), ("/a/b", False), ("a:b", False)]
)
def test_uris_are_told_from_paths(path: str, expected: bool) -> None:
    assert is_uri(path) is expected


def test_without_spark_a_uri_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["lag-report", "s3://bucket/logs"])
    assert ended.value.code == 2
    assert (
        capsys.readouterr().err == "kgroup: s3://bucket/logs: a path of this kind is for lag-report --spark\n"
    )
