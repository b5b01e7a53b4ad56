"""Whatever is raised on the way to one client's answer, the others are served, now and later."""

import errno
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import kgroup.testing
from kgroup.broker.hosted_coordinator import HostedCoordinator
from kgroup.broker.node import BrokerNode
from kgroup.errors import DecodeError, SourceError
from kgroup.net.serve import server as server_module
from kgroup.net.serve.control import ControlServer
from kgroup.net.serve.server import ClusterServer
from kgroup.testing import ErrorCode
from tests.broker.apis.record_requests import TOPIC, batch, fetch_request, part_of, produce_request
from tests.broker.world import join
from tests.net.serve.test_faults import address, find, heartbeat
from tests.net.wire_client import WireClient

PATIENCE_S = 30


@pytest.fixture
def kafka() -> Iterator[kgroup.testing.Cluster]:
    with kgroup.testing.cluster(topics={TOPIC: 1}) as running:
        yield running


def served(kafka: kgroup.testing.Cluster) -> ClusterServer:
    return kafka._running


def fail(error: BaseException) -> Callable[..., Any]:
    def failing(*arguments: object, **options: object) -> Any:
        raise error

    return failing


def parked_fetch(kafka: kgroup.testing.Cluster, client: WireClient) -> None:
    """The fetch waits once the state that is asked for afterwards shows it."""
    client.send(fetch_request(0, max_wait_ms=60_000))
    waits = served(kafka).nodes[1].node.waits
    while not kafka._call(lambda: bool(waits._waiting)):
        pass


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.EMFILE, "Too many open files"),
        FileNotFoundError(errno.ENOENT, "No such file or directory"),
        DecodeError("batch magic", at=16, why="9 is not 2"),
        SourceError("the disk is gone"),
    ],
    ids=["no file descriptors", "removed", "rotten", "refused"],
)
def test_a_log_that_cannot_be_read_under_a_parked_fetch_is_an_error_of_its_partition(
    kafka: kgroup.testing.Cluster, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    with WireClient(address(kafka)) as reader, WireClient(address(kafka)) as writer:
        parked_fetch(kafka, reader)
        monkeypatch.setattr(served(kafka).cluster.topics[TOPIC].partitions[0].log, "stretch", fail(error))
        writer.ask(produce_request(batch(1)))
        assert part_of(reader.receive()).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert writer.ask(heartbeat()).error_code == ErrorCode.UNKNOWN_MEMBER_ID
        assert part_of(reader.ask(fetch_request(0))).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert kafka.warnings == [f"orders-0: {error}"]
        monkeypatch.undo()
        assert part_of(reader.ask(fetch_request(0))).error_code == ErrorCode.NONE


def test_a_fault_in_one_waiting_answer_closes_its_connection_only(
    kafka: kgroup.testing.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    with WireClient(address(kafka)) as reader, WireClient(address(kafka)) as writer:
        parked_fetch(kafka, reader)
        log = served(kafka).cluster.topics[TOPIC].partitions[0].log
        monkeypatch.setattr(log, "stretch", fail(ZeroDivisionError("by zero\nand more")))
        writer.ask(produce_request(batch(1)))
        assert reader.is_closed_by_peer()
        assert writer.ask(heartbeat()).error_code == ErrorCode.UNKNOWN_MEMBER_ID
        (line,) = kafka.warnings
        assert line.startswith("a fault of kgroup's own, ZeroDivisionError (test_server.py:")
        assert line.endswith("): by zero and more")


def test_a_fault_in_a_handler_closes_the_connection_that_met_it(
    kafka: kgroup.testing.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    with WireClient(address(kafka)) as client, WireClient(address(kafka)) as other:
        monkeypatch.setattr(BrokerNode, "answer", fail(KeyError("x")))
        client.send(find())
        assert client.is_closed_by_peer()
        monkeypatch.undo()
        assert other.ask(find()).error_code == ErrorCode.NONE


def test_bytes_that_make_the_codec_stumble_close_their_connection(
    kafka: kgroup.testing.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    with WireClient(address(kafka)) as client, WireClient(address(kafka)) as other:
        monkeypatch.setattr(BrokerNode, "read", fail(RuntimeError("stumbled")))
        client.send(find())
        assert client.is_closed_by_peer()
        monkeypatch.undo()
        assert other.ask(find()).error_code == ErrorCode.NONE
        assert len(kafka.warnings) == 1


def until_loaded(client: WireClient, ask: Callable[[], Any]) -> Any:
    while (answer := client.ask(ask())).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        pass
    return answer


def test_a_fault_in_a_coordinator_is_answered_and_it_begins_again_from_its_log(
    kafka: kgroup.testing.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgroup.broker.coordinators._LOAD_AGAIN_MS", 0)
    with WireClient(address(kafka)) as client:
        assert until_loaded(client, join).error_code == ErrorCode.NONE
        monkeypatch.setattr(HostedCoordinator, "next_deadline_ms", fail(IndexError("out of range")))
        assert client.ask(heartbeat()).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        monkeypatch.undo()
        answer = until_loaded(client, lambda: join(group="other"))
        assert answer.error_code == ErrorCode.NONE
        assert kafka.warnings
        assert all(line.startswith("__consumer_offsets-") and "IndexError" in line for line in kafka.warnings)


@pytest.mark.parametrize("error", [SourceError("no space"), ValueError("odd")])
def test_deadlines_that_cannot_be_kept_keep_nobody_waiting(
    kafka: kgroup.testing.Cluster, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr(served(kafka).cluster, "next_deadline_ms", lambda: 0)
    monkeypatch.setattr(served(kafka).cluster, "tick", fail(error))
    with WireClient(address(kafka)) as client:
        for _ in range(3):
            assert client.ask(heartbeat()).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert any(str(error) in line for line in kafka.warnings)
    assert len(kafka.warnings) < 10  # a pause after each failure, no busy loop


@pytest.mark.parametrize("error", [OSError(errno.EIO, "Input/output error"), TypeError("odd")])
def test_housekeeping_goes_on_after_a_failure(
    kafka: kgroup.testing.Cluster, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    server = served(kafka)
    tries = 0
    thrice = threading.Event()

    def checkpoint() -> None:
        nonlocal tries
        tries += 1
        if tries == 3:
            thrice.set()
        raise error

    def start_anew() -> None:
        assert server._housekeeping is not None
        server._housekeeping.cancel()
        server._housekeeping = kafka._loop.create_task(server._keep_house())  # type: ignore[union-attr]

    monkeypatch.setattr(server_module, "_CHECKPOINT_S", 0)
    monkeypatch.setattr(server.cluster, "checkpoint", checkpoint)
    kafka._call(start_anew)
    assert thrice.wait(PATIENCE_S)
    monkeypatch.undo()


@pytest.fixture
def control(kafka: kgroup.testing.Cluster, tmp_path: Any) -> Iterator[str]:
    path = tmp_path / "control.sock"
    control = ControlServer(served(kafka), path)
    kafka._await(control.start())
    yield str(path)
    kafka._call(control.stop)


def told_by(path: str, line: bytes) -> Any:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE_S)
        connection.connect(path)
        connection.sendall(line)
        with connection.makefile("rb") as answers:
            return json.loads(answers.readline())


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"[]\n",
        b"null\n",
        b"\xff\n",
        b"[" * 100_000 + b"\n",
        b'{"command": "kill-node", "node": "1"}\n',
    ],
)
def test_a_control_command_that_makes_no_sense_is_answered(control: str, line: bytes) -> None:
    assert set(told_by(control, line)) == {"error"}
    assert "done" in told_by(control, b'{"command": "state"}\n')


def test_a_fault_in_a_control_command_is_answered(
    kafka: kgroup.testing.Cluster, control: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ClusterServer, "kill_node", fail(KeyError(1)))
    assert "KeyError" in told_by(control, b'{"command": "kill-node", "node": 1}\n')["error"]
    assert "done" in told_by(control, b'{"command": "state"}\n')


def test_a_log_file_that_was_cut_short_is_an_error_of_its_partition(tmp_path: Any) -> None:
    with (
        kgroup.testing.cluster(topics={TOPIC: 1}, data_dir=tmp_path) as kafka,
        WireClient(address(kafka)) as reader,
        WireClient(address(kafka)) as writer,
    ):
        writer.ask(produce_request(batch(1)))
        for path in tmp_path.glob(f"{TOPIC}-0/*.log"):
            os.truncate(path, 10)
        assert part_of(reader.ask(fetch_request(0))).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert writer.ask(heartbeat()).error_code == ErrorCode.UNKNOWN_MEMBER_ID
