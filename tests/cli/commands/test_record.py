"""`kgroup record` as a process, and what the other commands read of its folder."""

import csv
import io
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import kgroup.testing
from kgroup.cli.commands.record import recorded_text
from kgroup.cli.options.record import parse_size
from kgroup.errors import InputError
from kgroup.log.recorder.folder import Tally
from tests.cli.conftest import Kgroup
from tests.kills.requests import commit, produce
from tests.net.wire_client import WireClient

PATIENCE_S = 60
PARTITIONS = {"offsets.topic.num.partitions": "2"}


@contextmanager
def recording(bootstrap: str, folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process, and what it said when it had begun."""
    process = subprocess.Popen(
        [sys.executable, "-m", "kgroup", "record", "-b", bootstrap, "--to", str(folder), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def stopped(process: subprocess.Popen[str], number: signal.Signals) -> tuple[int, str]:
    process.send_signal(number)
    _, errors = process.communicate(timeout=PATIENCE_S)
    return process.returncode, errors


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[kgroup.testing.Cluster]:
    with kgroup.testing.cluster(
        topics={"orders": 2}, properties=PARTITIONS, data_dir=tmp_path / "data"
    ) as running:
        host, port = running.bootstrap.split(":")
        with WireClient((host, int(port))) as client:
            for number in range(5):
                client.ask(produce("orders", 0, ["a", "b", "c"], None, 0))
                client.ask(commit("billing", "orders", {0: number + 1, 1: 0}))
                client.ask(commit("shipping", "orders", {0: number}))
        yield running


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_says_when_it_is_ready_and_stops_cleanly(
    cluster: kgroup.testing.Cluster, tmp_path: Path, number: signal.Signals
) -> None:
    with recording(cluster.bootstrap, tmp_path / "rec") as (process, said):
        assert said == f"ready {tmp_path / 'rec'}"
        status, errors = stopped(process, number)
    assert status == 0
    assert re.fullmatch(r"kgroup: recorded 10 batches, \d+ bytes, \d samples?\n", errors)


@pytest.mark.parametrize(
    ("tally", "said"),
    [
        (Tally(), "recorded 0 batches, 0 bytes, 0 samples"),
        (Tally(batches=1, bytes=1, samples=1, holes=1), "recorded 1 batch, 1 byte, 1 sample, 1 hole"),
        (Tally(batches=2, bytes=2, samples=2, holes=2), "recorded 2 batches, 2 bytes, 2 samples, 2 holes"),
    ],
)
def test_one_is_one(tally: Tally, said: str) -> None:
    assert recorded_text(tally) == said


def test_commands_answer_of_a_recording_as_of_the_brokers_own_files(
    cluster: kgroup.testing.Cluster, tmp_path: Path, kgroup: Kgroup
) -> None:
    rec, data = str(tmp_path / "rec"), str(tmp_path / "data")
    with recording(cluster.bootstrap, tmp_path / "rec", "-q") as (process, _):
        assert stopped(process, signal.SIGTERM) == (0, "")
    cluster.stop()
    # What the topics' own logs prove besides a recording cannot know: its samples take their place.
    sampled = tmp_path / "sampled"
    sampled.mkdir()
    for folder in (*Path(data).glob("__consumer_offsets-*"), *Path(rec).glob("__kgroup_recording-*")):
        shutil.copytree(folder, sampled / folder.name)
    for command in (
        ["decode", "{}"],
        ["decode", "{}", "--latest"],
        ["lag-report", "{}"],
        ["lag-report", "{}", "--stuck"],
        ["lag-report", "{}", "--status", "--now", "2030-01-01"],
        ["lag-report", "{}", "--by", "group", "-o", "csv"],
    ):
        judges = {"--stuck", "--status"} & set(command)
        pair = (rec, str(sampled) if judges else data)
        of_rec, of_data = (kgroup(*[word.format(path) for word in command]) for path in pair)
        assert of_rec == of_data
    report = kgroup("lag-report", rec, "-o", "jsonl")
    assert report.out.count('"recorded"') == 3
    cluster.start()


def test_lag_of_the_past_is_known_by_its_samples(
    cluster: kgroup.testing.Cluster, tmp_path: Path, kgroup: Kgroup
) -> None:
    with recording(cluster.bootstrap, tmp_path / "rec", "-q", "--sample", "1h") as (process, _):
        stopped(process, signal.SIGTERM)
    ended = kgroup("lag-report", str(tmp_path / "rec"), "--windows", "1d", "-o", "csv")
    rows = list(csv.DictReader(io.StringIO(ended.out)))
    assert [(row["group"], row["partition"], row["lag"]) for row in rows] == [
        ("billing", "0", "10"),
        ("billing", "1", "0"),
        ("shipping", "0", "11"),
    ]


def test_it_serves_metrics_of_itself(cluster: kgroup.testing.Cluster, tmp_path: Path) -> None:
    with recording(cluster.bootstrap, tmp_path / "rec", "--serve-metrics", "0") as (process, said):
        url = said.split()[-1]
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
            page = answer.read().decode()
        assert stopped(process, signal.SIGTERM)[0] == 0
    assert "\nkgroup_recorder_up 1\n" in page
    assert "\nkgroup_recorder_batches_total 10\n" in page
    assert "# TYPE kgroup_recorder_batches_total counter\n" in page


def test_two_on_one_folder_are_refused(cluster: kgroup.testing.Cluster, tmp_path: Path) -> None:
    with (
        recording(cluster.bootstrap, tmp_path / "rec"),
        recording(cluster.bootstrap, tmp_path / "rec") as (
            second,
            said,
        ),
    ):
        assert said == ""
        _, errors = second.communicate(timeout=PATIENCE_S)
        assert second.returncode == 1
    assert errors == (
        f"kgroup: {tmp_path / 'rec'}: another process writes there; does a kgroup serve, a recorder or a "
        "broker run on it already?\n"
    )


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("10GB", 10**10),
        ("512MiB", 512 << 20),
        ("2 TB", 2 * 10**12),
        ("1KiB", None),
        ("1000000", 10**6),
        ("1000000B", 10**6),
        ("-5GB", None),
        ("GB", None),
        ("1.5GB", None),
    ],
)
def test_a_size_is_of_thousands_or_of_1024(text: str, size: int | None) -> None:
    if size is None:
        with pytest.raises(InputError, match="--max-size"):
            parse_size(text, "--max-size")
    else:
        assert parse_size(text, "--max-size") == size
