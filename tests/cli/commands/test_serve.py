"""`kgroup serve` and `kgroup serve-ctl` as processes."""

import json
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from kgroup.broker.settings import BrokerSettings, from_properties, read_properties, unused
from kgroup.cli.options.serve import Setup
from kgroup.errors import InputError
from tests.net.wire_client import WireClient

KGROUP = (sys.executable, "-m", "kgroup")
PATIENCE_S = 60


class Serve:
    """A running `kgroup serve`."""

    def __init__(self, process: subprocess.Popen[str], addresses: list[str]) -> None:
        self.process = process
        self.addresses = addresses

    @property
    def port(self) -> str:
        return self.addresses[0].rpartition(":")[2]

    def stop(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, errors


@contextmanager
def serving(*options: str, listen: str = "127.0.0.1:0") -> Iterator[Serve]:
    process = subprocess.Popen(
        [*KGROUP, "serve", "--listen", listen, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        word, addresses = process.stdout.readline().split()
        assert word == "ready"
        yield Serve(process, addresses.split(","))
    finally:
        process.kill()
        process.communicate()


def kgroup(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*KGROUP, *arguments], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_when_it_is_ready_and_stops_cleanly(number: signal.Signals) -> None:
    with serving("--nodes", "3") as serve:
        assert len(serve.addresses) == 3
        for address in serve.addresses:
            host, _, port = address.rpartition(":")
            socket.create_connection((host, int(port))).close()
        assert serve.stop(number) == (0, "")


def test_it_serves_metrics_of_its_coordinators() -> None:
    with serving("--serve-metrics", "0") as serve:
        assert serve.process.stdout is not None
        word, url = serve.process.stdout.readline().split()
        assert word == "metrics"
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
            page = answer.read().decode()
        assert serve.stop() == (0, "")
    assert "\nkafka_server_group_coordinator_metrics_group_completed_rebalance_count 0\n" in page
    assert "\nkafka_coordinator_group_GroupMetadataManager_NumGroups 0\n" in page


def test_an_offsets_topic_with_more_replicas_than_nodes_is_told() -> None:
    with serving("--property", "offsets.topic.replication.factor=3") as serve:
        status, errors = serve.stop()
    assert (status, errors.count("\n")) == (0, 1)
    assert "offsets.topic.replication.factor=3: Kafka makes no offsets topic with fewer nodes" in errors


def test_what_it_writes_the_other_commands_read_and_the_next_run_goes_on_from(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    with serving("--data-dir", data, "--topic", "orders:2") as serve:
        producer = KafkaProducer(bootstrap_servers=serve.addresses)
        for number in range(10):
            producer.send("orders", str(number).encode(), partition=number % 2).get(PATIENCE_S)
        producer.close()
        consumer = KafkaConsumer(
            bootstrap_servers=serve.addresses, group_id="billing", enable_auto_commit=False
        )
        consumer.assign([TopicPartition("orders", 0)])
        consumer.seek(TopicPartition("orders", 0), 3)
        consumer.position(TopicPartition("orders", 0))
        consumer.commit()
        consumer.close()
        assert serve.stop() == (0, "")

    report = kgroup("lag-report", data, "-o", "json")
    assert report.returncode == 0, report.stderr
    rows = {row["partition"]: row for row in json.loads(report.stdout) if row["group"] == "billing"}
    assert (rows[0]["current_offset"], rows[0]["log_end_offset"], rows[0]["lag"]) == (3, 5, 2)
    decoded = kgroup("decode", data, "--group", "billing", "-o", "jsonl", "--strict")
    assert decoded.returncode == 0, decoded.stderr
    assert [json.loads(line)["value"]["offset"] for line in decoded.stdout.splitlines()] == [3]

    with serving("--data-dir", data, "--topic", "orders:2") as serve:
        consumer = KafkaConsumer(bootstrap_servers=serve.addresses, group_id="billing")
        assert consumer.committed(TopicPartition("orders", 0)) == 3
        consumer.close()


def test_a_data_dir_is_of_one_serve_at_a_time_and_free_again_after_a_kill(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    with serving("--data-dir", data, "--topic", "orders:2") as serve:
        second = kgroup("serve", "--listen", "127.0.0.1:0", "--data-dir", data)
        assert (second.returncode, second.stdout) == (1, "")
        assert second.stderr.startswith(f"kgroup: {data}: another process writes there; ")
        serve.stop(signal.SIGKILL)
    with serving("--data-dir", data, "--topic", "orders:9") as serve:
        message = "kgroup: topic orders is there already, with 2 partitions and not 9\n"
        assert serve.stop() == (0, message)


def test_serve_ctl_kills_and_starts_nodes_and_moves_coordinators() -> None:
    with serving("--nodes", "3", "--topic", "orders:3") as serve:

        def control(*arguments: str) -> subprocess.CompletedProcess[str]:
            return kgroup("serve-ctl", "--port", serve.port, *arguments)

        killed = json.loads(control("kill-node", "2").stdout)
        assert [(node["node"], node["alive"]) for node in killed["nodes"]] == [
            (1, True),
            (2, False),
            (3, True),
        ]
        assert killed["nodes"][1]["leads"] == 0
        again = control("kill-node", "2")
        assert (again.returncode, again.stderr) == (1, "kgroup: node 2 is dead already\n")
        assert control("kill-node", "9").stderr == "kgroup: there is no node 9; the nodes are 1, 2, 3\n"
        assert control("kill-node").returncode == 2
        started = json.loads(control("start-node", "2").stdout)
        assert all(node["alive"] for node in started["nodes"])
        moved = json.loads(control("move-coordinator", "billing", "3").stdout)
        assert moved["groups"] == []
        assert json.loads(control("state").stdout)["topics"]["orders"] == 3


def test_a_port_in_use_is_one_line_of_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = kgroup("serve", "--listen", f"127.0.0.1:{port}")
    assert ended.returncode == 1
    why = "address already in use; does a serve run already? --listen takes another"
    assert ended.stderr == f"kgroup: cannot listen on 127.0.0.1:{port}: {why}\n"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--listen", "0.0.0.0:9092"], "can be reached by others; pass --insecure"),
        (["--listen", "9092"], "is not HOST:PORT"),
        (["--property", "group.max.size=many"], "group.max.size: 'many' is not a whole number"),
        (["--property", "group.max.size=0"], "0 is not between 1 and 2147483647"),
        (
            ["--property", "nonsense"],
            "--property nonsense: give NAME=VALUE, like --property num.partitions=3",
        ),
        (["--topic", "orders:none"], "is not NAME or NAME:PARTITIONS"),
        (["--topic", "a/b", "--listen", "127.0.0.1:0"], "topic 'a/b': a name has 1 to 249 letters"),
    ],
)
def test_options_that_make_no_sense_are_usage_errors(options: list[str], why: str) -> None:
    ended = kgroup("serve", *options)
    assert ended.returncode == 2
    assert why in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("all I have")
    ended = kgroup("serve", "--listen", "127.0.0.1:0", "--data-dir", str(tmp_path))
    assert ended.returncode == 1
    assert "not empty, and not a folder that kgroup serve made" in ended.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("bound", ["min", "max"])
@pytest.mark.parametrize("name", ["session.timeout.ms", "heartbeat.interval.ms", "assignment.interval.ms"])
def test_a_bound_of_kafkas_is_no_misspelt_setting(name: str, bound: str) -> None:
    given = f"group.consumer.{bound}.{name}"
    assert Setup(settings=[f"{given}=1000"]).properties(print) == {given: "1000"}
    with pytest.raises(InputError, match="no such setting; did you mean"):
        Setup(settings=[f"group.consumer.{name}s=1000"]).properties(print)


def test_properties_are_read_as_java_writes_them() -> None:
    text = "# a comment\n\n group.max.size = 7 \nnum.partitions: 3\nlog.dirs=/data\nlisteners=PLAINTEXT://:9092\n"
    properties = read_properties(text, "server.properties")
    settings = from_properties(properties)
    assert (settings.group.max_size, settings.num_partitions) == (7, 3)
    assert unused(properties) == ["log.dirs"]
    assert from_properties({}) == BrokerSettings()
    assert from_properties({"offsets.retention.minutes": "2"}).group.offsets_retention_ms == 120_000
    with pytest.raises(InputError, match=r"is above group\.max\.session"):
        from_properties({"group.max.session.timeout.ms": "1000"})


def test_passwords_show_nowhere(tmp_path: Path) -> None:
    """Neither where a broker tells what it does, nor where the machine tells what runs."""
    file = tmp_path / "server.properties"
    file.write_text(
        "listeners=SASL_PLAINTEXT://127.0.0.1:0\nconnection.failed.authentication.delay.ms=0\n"
        'plain.sasl.jaas.config=x.PlainLoginModule required user_alice="Secret1";\n'
    )
    process = subprocess.Popen(
        [*KGROUP, "serve", "--properties", str(file), "-v"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    _, address = process.stdout.readline().split()
    with WireClient((address.split(":")[0], int(address.split(":")[1]))) as client:
        client.ask(SaslHandshakeRequest(version=1, mechanism="PLAIN"))
        token = b"\0alice\0Secret1 nearly"
        assert client.ask(SaslAuthenticateRequest(version=2, auth_bytes=token)).error_code
        assert client.is_closed_by_peer()
    command_line = Path(f"/proc/{process.pid}/cmdline")
    shown = command_line.read_text() if command_line.exists() else ""
    process.terminate()
    out, errors = process.communicate(timeout=PATIENCE_S)
    assert "Secret1" not in shown + out + errors
    assert errors.splitlines() == [
        f"kgroup: {file} has secrets, and others may read it; chmod 600 makes it private",
        "kgroup: /127.0.0.1: Authentication failed: Invalid username or password",
    ]


def test_a_user_that_was_made_logs_in(tmp_path: Path) -> None:
    made = subprocess.run(
        [*KGROUP, "serve-ctl", "user-line", "alice b", "scram-sha-256"],
        input="se=same\n",
        capture_output=True,
        text=True,
        check=True,
    )
    users = tmp_path / "users"
    users.touch(mode=0o600)
    users.write_text(made.stdout)
    with serving("--users", str(users), listen="SASL_PLAINTEXT://127.0.0.1:0") as serve:
        consumer = KafkaConsumer(
            bootstrap_servers=serve.addresses,
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="SCRAM-SHA-256",
            sasl_plain_username="alice b",
            sasl_plain_password="se=same",
        )
        assert consumer.topics() == set()
        consumer.close()
        assert serve.stop() == (0, "")
