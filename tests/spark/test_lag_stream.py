"""`kgroup lag-report --spark --stream`: what one look at the cluster says, of brokers that run here."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from kafka.protocol.consumer.group import OffsetCommitRequest

import kgroup.testing
from kgroup.cli.shell.app import main
from kgroup.errors import KgroupError
from kgroup.spark import stream_state, tables
from tests.net.wire_client import WireClient

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS = 3
END = 20
NOW = "2126-11-21T09:00Z"  # what was committed a while ago is as old as that


@pytest.fixture(params=["here", "there"])
def where(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A state may be small or large; executors make the rows of a large one."""
    if request.param == "there":
        monkeypatch.setattr(stream_state, "_HERE_BYTES", 0)
    return str(request.param)


@pytest.fixture
def cluster() -> "Iterator[kgroup.testing.Cluster]":
    with kgroup.testing.cluster(topics={"orders": PARTITIONS}) as running:
        yield running


def commit(
    cluster: kgroup.testing.Cluster, group: str, offset: int, numbers: Iterable[int] = range(PARTITIONS)
) -> None:
    """Commit as a group without members does, whose state no timer changes."""
    topic = OffsetCommitRequest.OffsetCommitRequestTopic
    partitions = [
        topic.OffsetCommitRequestPartition(
            version=7, partition_index=number, committed_offset=offset, committed_metadata=""
        )
        for number in numbers
    ]
    host, _, port = cluster.bootstrap.rpartition(":")
    with WireClient((host, int(port))) as client:
        answer = client.ask(
            OffsetCommitRequest(
                version=7,
                group_id=group,
                generation_id_or_member_epoch=-1,
                member_id="",
                topics=[topic(version=7, name="orders", partitions=partitions)],
            )
        )
    assert {partition.error_code for partition in answer.topics[0].partitions} == {0}


def commit_each(cluster: kgroup.testing.Cluster, offset: int) -> None:
    """A group for each partition; another one, at the end of all, proves that there is something to read."""
    commit(cluster, "audit", END)
    for number in range(PARTITIONS):
        commit(cluster, f"g{number}", offset, [number])


def report(capsys: pytest.CaptureFixture[str], cluster: kgroup.testing.Cluster, *arguments: str) -> list[str]:
    with pytest.raises(SystemExit) as ended:
        main(["lag-report", "-b", cluster.bootstrap, "--status", "--now", NOW, "-q", *arguments])
    written = capsys.readouterr()
    assert (ended.value.code, written.err) == (0, "")
    return written.out.splitlines()


@pytest.mark.spark
@pytest.mark.usefixtures("shared_session", "where")
def test_a_stream_that_is_started_again_goes_on_and_says_what_a_look_says(
    cluster: kgroup.testing.Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stream = ("--spark", "--stream", "--once", "--checkpoint", str(tmp_path / "checkpoint"))
    for offset in (5, 7):
        commit(cluster, "billing", offset)
        commit(cluster, "audit", 2 * offset)
    ends = tmp_path / "ends.csv"
    ends.write_text(
        "topic,partition,log_end_offset\n" + "".join(f"orders,{n},20\n" for n in range(PARTITIONS))
    )
    arguments = ("-o", "jsonl", "--log-ends", str(ends))
    look = report(capsys, cluster, *arguments)
    assert len(look) == 2 * PARTITIONS
    # That audit got further proves that there is something to read for billing; of audit nothing is proven.
    assert {(row["group"], row["status"], row["rule"]) for row in map(json.loads, look)} == {
        ("audit", "UNKNOWN", "perhaps-stopped"),
        ("billing", "STOP", "stopped"),
    }
    assert report(capsys, cluster, *arguments, *stream) == look
    for group in ("billing", "shipping"):
        commit(cluster, group, 9)
    later = report(capsys, cluster, "-o", "jsonl")
    assert len(later) == 3 * PARTITIONS
    folder = tmp_path / "out"
    assert report(capsys, cluster, "-o", "parquet", "--output", str(folder), *stream) == []
    assert [path.name for path in folder.iterdir()] == ["batch=1"]
    saved = pq.read_table(folder / "batch=1").to_pylist()
    assert [(row["group"], row["partition"], row["current_offset"]) for row in saved] == [
        (row["group"], row["partition"], row["current_offset"]) for row in map(json.loads, later)
    ]
    assert report(capsys, cluster, "-o", "jsonl", *stream) == []  # nothing is new


def told(
    capsys: pytest.CaptureFixture[str],
    cluster: kgroup.testing.Cluster,
    ends: Path,
    *arguments: str,
    status: int = 0,
) -> list[dict[str, Any]]:
    """The rows of `--stuck` by these log ends."""
    asked = ["lag-report", "-b", cluster.bootstrap, "--stuck", "--now", NOW, "--log-ends", str(ends)]
    with pytest.raises(SystemExit) as ended:
        main([*asked, "-q", *arguments])
    assert ended.value.code == status
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def ends_at(path: Path, *offsets: int) -> Path:
    lines = [f"orders,{partition},{offset}\n" for partition, offset in enumerate(offsets)]
    path.write_text("topic,partition,log_end_offset\n" + "".join(lines))
    return path


def saved_events(folder: Path) -> list[tuple[str, str, int]]:
    paths = sorted(folder.glob("batch=*"), key=lambda path: int(path.name.partition("=")[2]))
    rows = [row for path in paths for row in pq.read_table(path, partitioning=None).to_pylist()]
    return [(row["event"], row["finding"], row["partition"]) for row in rows]


@pytest.mark.spark
@pytest.mark.usefixtures("shared_session", "where")
def test_findings_are_told_when_they_are_opened_and_when_they_are_closed_and_each_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = ("--spark", "--stream", "--once", "--checkpoint", str(tmp_path / "checkpoint"))
    with kgroup.testing.cluster(topics={"orders": PARTITIONS}) as cluster:
        commit_each(cluster, 5)
        ends = ends_at(tmp_path / "ends.csv", 20, 20, 20)
        look = told(capsys, cluster, ends, "-o", "jsonl")
        assert [(row["finding"], row["partition"]) for row in look] == [
            ("stopped-group", partition) for partition in range(PARTITIONS)
        ]
        opened = told(capsys, cluster, ends, "-o", "jsonl", *stream)
        now = 4_950_925_200_000  # NOW, as `date -u -d 2126-11-21T09:00Z +%s` has it
        assert opened == [{"event": "opened", "time": now, **row} for row in look]
        assert told(capsys, cluster, ends, "-o", "jsonl", *stream) == []
        # Nobody has committed anything, and what waited is gone.
        ends_at(ends, 20, 5, 20)
        (closed,) = told(capsys, cluster, ends, "-o", "jsonl", *stream)
        assert closed == {"event": "closed", "time": now, **look[1]}

        # What was decided before the query died is told, though the cluster has gone on since.
        folder = tmp_path / "out"
        to_files = ("-o", "parquet", "--output", str(folder), *stream)

        def gone(*arguments: Any) -> None:
            raise KgroupError("no room")

        ends_at(ends, 5, 5, 20)
        with monkeypatch.context() as broken:
            broken.setattr(tables, "write_parquet", gone)
            assert told(capsys, cluster, ends, *to_files, status=1) == []
        ends_at(ends, 20, 5, 20)
        assert told(capsys, cluster, ends, *to_files) == []
        assert saved_events(folder) == [("closed", "stopped-group", 0), ("opened", "stopped-group", 0)]


@pytest.mark.spark
@pytest.mark.usefixtures("shared_session", "where")
def test_nothing_is_judged_before_all_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with kgroup.testing.cluster(topics={"orders": PARTITIONS}) as cluster:
        commit_each(cluster, 5)
        for number, offset in ((0, END), (1, END), (2, 6)):
            commit(cluster, f"g{number}", offset, [number])
        ends = ends_at(tmp_path / "ends.csv", 20, 20, 20)
        stream = ("--spark", "--stream", "--once", "--checkpoint", str(tmp_path / "checkpoint"))
        folder = tmp_path / "out"
        told(capsys, cluster, ends, "-o", "parquet", "--output", str(folder), "--max-offsets", "1", *stream)
        assert saved_events(folder) == [("opened", "stopped-group", 2)]
        assert [path.name for path in folder.iterdir()] != ["batch=0"]


@pytest.mark.spark
@pytest.mark.usefixtures("shared_session", "where")
def test_a_view_has_the_newest_rows_and_a_table_all_events(
    spark: "SparkSession", tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "check_table", lambda session, name: None)
    spark.sql(f"CREATE DATABASE kgroup_stream LOCATION '{tmp_path / 'warehouse'}'")
    name = "kgroup_stream.lag"

    def rows_of(query: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in spark.sql(query).collect()]

    try:
        with kgroup.testing.cluster(topics={"orders": PARTITIONS}) as cluster:
            ends = ends_at(tmp_path / "ends.csv", 20, 20, 20)
            stream = ["--spark", "--stream", "--once", "--checkpoint", str(tmp_path / "checkpoint")]
            for offset in (5, 20):
                commit_each(cluster, offset)
                assert told(capsys, cluster, ends, "--save-as", name, *stream) == []
                assert rows_of(
                    f"SELECT partition, current_offset, lag FROM {name} WHERE `group` LIKE 'g%' ORDER BY 1"
                ) == [(partition, offset, 20 - offset) for partition in range(PARTITIONS)]
            assert {"status", "rule", "evidence"} <= set(spark.table(name).columns)
            events = f"SELECT event, finding, partition, grade FROM {name}_finding_events ORDER BY batch, 3"
            assert rows_of(events) == [
                (event, "stopped-group", partition, "inferred")
                for event in ("opened", "closed")
                for partition in range(PARTITIONS)
            ]
            assert rows_of(f"SELECT DISTINCT typeof(time), typeof(since) FROM {name}_finding_events") == [
                ("timestamp", "timestamp")
            ]
    finally:
        spark.sql("DROP DATABASE kgroup_stream CASCADE")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--stream"], "--stream is for --spark with --bootstrap-server"),
        (["--spark", "--stream"], "--stream needs --checkpoint DIR"),
        (["--once"], "--checkpoint and --once are for --stream"),
        (["--spark", "--stream", "--checkpoint", "c", "--every", "x"], "--every x: not a duration"),
        (["--spark", "--stream", "--checkpoint", "c", "-o", "json"], "use -o jsonl"),
        (["--spark", "--stream", "--checkpoint", "c", "-o", "parquet"], "into the folder --output DIR"),
        (["--spark", "--stream", "--checkpoint", "c", "--output", "f"], "only as -o parquet"),
        (["--spark", "--stream", "--checkpoint", "c", "--windows", "1m"], "no --windows with it"),
        (
            ["--spark", "--stream", "--checkpoint", "c", "--explain", "g"],
            "--explain and --fail-on are",
        ),
        (["--spark", "--stream", "--checkpoint", "c", "--fail-on", "stuck"], "nor for --stream"),
        (["--spark", "--stream", "--checkpoint", "c", "--save-as", "t", "-o", "csv"], "--save-as is instead"),
        (["--spark", "--stream", "--checkpoint", "c", "--max-offsets", "0"], "--max-offsets"),
    ],
)
def test_what_makes_no_sense_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], why: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["lag-report", "-b", "127.0.0.1:1", *arguments])
    assert ended.value.code == 2
    assert why in capsys.readouterr().err
