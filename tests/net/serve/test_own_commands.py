"""kgroup's own live commands with the settings of each way in, and what they say to who is refused."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.structs import OffsetAndMetadata

import kgroup.testing
from tests.net.serve.certificates import Certificates
from tests.net.serve.secured import MODES, PASSWORD, java, kafka_python, listener, secured

PATIENCE_S = 60
Secured = tuple[kgroup.testing.Cluster, Certificates]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """Group billing has committed 1 of 3 records of orders-0."""
    with secured(tmp_path_factory.mktemp("secured")) as running:
        kafka, certificates = running
        given = {"bootstrap_servers": kafka.bootstrap_of("SASL_SSL")} | kafka_python("PLAIN", certificates)
        producer = KafkaProducer(**given)
        for _ in range(3):
            producer.send("orders", b"x", partition=0).get(PATIENCE_S)
        producer.close()
        consumer = KafkaConsumer(group_id="billing", enable_auto_commit=False, **given)
        consumer.commit({TopicPartition("orders", 0): OffsetAndMetadata(1, "", -1)})
        consumer.close()
        yield kafka, certificates


def command(
    cluster: Secured, mode: str, *arguments: str, folder: Path, password: str = PASSWORD
) -> list[str]:
    """A command line with a file of the mode's properties."""
    kafka, certificates = cluster
    settings = java(mode, certificates, password).items()
    config = folder / "client.properties"
    config.write_text("".join(f"{name}={value}\n".replace("\\", "\\\\") for name, value in settings))
    servers = kafka.bootstrap_of(listener(mode))
    return [sys.executable, "-m", "kgroup", *arguments, "-b", servers, "--command-config", str(config)]


def run(line: list[str]) -> tuple[int, str, str]:
    """Exit status, standard output and error."""
    ended = subprocess.run(line, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    return ended.returncode, ended.stdout, ended.stderr


@pytest.mark.parametrize("mode", [*MODES, "OAUTHBEARER"])
def test_lag_report_and_find_coordinator(cluster: Secured, mode: str, tmp_path: Path) -> None:
    status, report, errors = run(command(cluster, mode, "lag-report", "-o", "jsonl", folder=tmp_path))
    assert (status, errors) == (0, "")
    lags = {
        (row["topic"], row["partition"]): row["lag"]
        for row in map(json.loads, report.splitlines())
        if row["group"] == "billing"
    }
    assert lags[("orders", 0)] == 2
    status, found, errors = run(
        command(cluster, mode, "find-coordinator", "billing", "-o", "jsonl", folder=tmp_path)
    )
    assert (status, errors) == (0, "")
    assert json.loads(found)["group"] == "billing"


@pytest.mark.parametrize("mode", [*MODES, "OAUTHBEARER"])
def test_reset_offsets(cluster: Secured, mode: str, tmp_path: Path) -> None:
    """Done and undone, so that the group is where it was."""
    undo = str(tmp_path / "undo")
    line = ["-o", "jsonl", "-q", "--execute"]
    reset = ["reset-offsets", "billing", "--topic", "orders:0", "--to-earliest", "--undo-file", undo, *line]
    status, done, errors = run(command(cluster, mode, *reset, folder=tmp_path))
    assert (status, errors) == (0, f"kgroup: undo file: {undo}\n")
    [row] = map(json.loads, done.splitlines())
    assert (row["old_offset"], row["new_offset"], row["result"]) == (1, 0, "done")
    back = ["reset-offsets", "--undo", undo, "--undo-file", f"{undo}-of-undo", *line]
    status, done, _ = run(command(cluster, mode, *back, folder=tmp_path))
    assert (status, json.loads(done)["new_offset"]) == (0, 1)


@pytest.mark.parametrize("mode", [*MODES, "OAUTHBEARER"])
def test_join(cluster: Secured, mode: str, tmp_path: Path) -> None:
    line = command(
        cluster, mode, "join", "--group", "joined", "--topic", "orders", "-o", "jsonl", folder=tmp_path
    )
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        events = []
        for said in process.stdout:
            events.append(json.loads(said)["event"])
            if events[-1] == "assigned":
                process.terminate()
        errors = process.stderr.read()
    assert (process.returncode, errors, events[-1]) == (0, "", "left")


@pytest.mark.parametrize("mode", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_wrong_password_is_one_line(cluster: Secured, mode: str, tmp_path: Path) -> None:
    status, _, errors = run(
        command(cluster, mode, "join", "--group", "g", "--topic", "orders", folder=tmp_path, password="wrong")
    )
    assert status == 1
    [line] = errors.splitlines()
    assert "Authentication failed" in line and "wrong" not in line


def test_a_token_that_has_expired_is_one_line(cluster: Secured, tmp_path: Path) -> None:
    """Kafka's clients hear no more than invalid_token, either."""
    line = command(cluster, "OAUTHBEARER", "groups", folder=tmp_path)
    config = tmp_path / "client.properties"
    config.write_text(config.read_text().replace("required ", 'required unsecuredLoginLifetimeSeconds="-5" '))
    status, said, errors = run(line)
    assert (status, said) == (1, "")
    [told] = errors.splitlines()
    assert 'OAUTHBEARER login refused: {"status":"invalid_token"}; the token expired 2' in told
    assert told.endswith("Z: see sasl.jaas.config")


@pytest.mark.parametrize("mode", ["MTLS", "SCRAM-SHA-512", "OAUTHBEARER"])
def test_record_comes_in_by_each_way_and_what_it_records_is_read(
    cluster: Secured, mode: str, tmp_path: Path
) -> None:
    recording = tmp_path / "recording"
    line = command(cluster, mode, "record", "--to", str(recording), "--sample", "1s", folder=tmp_path)
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as recorder:
        assert recorder.stdout is not None
        assert recorder.stdout.readline() == f"ready {recording}\n"
        recorder.send_signal(signal.SIGTERM)
        _, errors = recorder.communicate(timeout=PATIENCE_S)
    assert recorder.returncode == 0
    assert re.fullmatch(r"kgroup: recorded [1-9]\d* batch(es)?, \d+ bytes, \d+ samples?\n", errors)
    status, report, errors = run(
        [sys.executable, "-m", "kgroup", "lag-report", str(recording), "-o", "jsonl", "--group", "billing"]
    )
    (row,) = map(json.loads, report.splitlines())
    assert (status, errors) == (0, "")
    assert (row["current_offset"], row["lag"], row["log_end_source"]) == (1, 2, "recorded")


def test_record_with_a_wrong_password_ends_with_one_line(cluster: Secured, tmp_path: Path) -> None:
    recording = tmp_path / "recording"
    line = command(
        cluster, "SCRAM-SHA-512", "record", "--to", str(recording), folder=tmp_path, password="wrong"
    )
    status, output, errors = run(line)
    assert (status, output) == (1, "")
    (said,) = errors.splitlines()
    assert "SCRAM-SHA-512" in said and "wrong" not in said
    assert not list(tmp_path.glob("recording/__consumer_offsets*"))
