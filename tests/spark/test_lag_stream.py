"""`kgroup lag-report --spark --stream`: what one look at the cluster says, of brokers that run here."""

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from kafka.protocol.consumer.group import OffsetCommitRequest

import kgroup.testing
from kgroup.cli.shell.app import main
from tests.net.wire_client import WireClient

PARTITIONS = 3
NOW = "2126-11-21T09:00Z"  # what was committed a while ago is as old as that


@pytest.fixture(scope="module")
def cluster() -> "Iterator[kgroup.testing.Cluster]":
    with kgroup.testing.cluster(topics={"orders": PARTITIONS}) as running:
        yield running


def commit(cluster: kgroup.testing.Cluster, group: str, offset: int) -> None:
    """Commit as a group without members does, whose state no timer changes."""
    topic = OffsetCommitRequest.OffsetCommitRequestTopic
    partitions = [
        topic.OffsetCommitRequestPartition(
            version=7, partition_index=number, committed_offset=offset, committed_metadata=""
        )
        for number in range(PARTITIONS)
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


def report(capsys: pytest.CaptureFixture[str], cluster: kgroup.testing.Cluster, *arguments: str) -> list[str]:
    with pytest.raises(SystemExit) as ended:
        main(["lag-report", "-b", cluster.bootstrap, "--status", "--now", NOW, "-q", *arguments])
    written = capsys.readouterr()
    assert (ended.value.code, written.err) == (0, "")
    return written.out.splitlines()


@pytest.mark.spark
@pytest.mark.usefixtures("shared_session")
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
        (["--spark", "--stream", "--checkpoint", "c", "--windows", "1m"], "no --windows, --save-as"),
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
