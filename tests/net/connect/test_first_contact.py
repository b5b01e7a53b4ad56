"""Which of several servers is spoken to, and how often a login is tried."""

import asyncio
import gc
import socket
import struct
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

import kgroup.testing
from kgroup.errors import SourceError
from kgroup.net.admin.cluster import Cluster
from kgroup.net.connect.first_contact import require_broker
from kgroup.net.connect.properties import ConnectionOptions, client_config
from tests.net.connect.authorities import Certified
from tests.net.sasl_gate import gate_to

JAAS = 'M required username="alice" password="{}";'
ALL_DAY = "86400000"
ILLEGAL_SASL_STATE = 34
NETWORK_EXCEPTION = 13


@contextmanager
def listener(handler: Callable[[socket.socket], None]) -> Iterator[tuple[str, int]]:
    """Somebody who does `handler` with each connection, and closes it; a thread for each."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve_one(connection: socket.socket) -> None:
        with connection:
            try:
                handler(connection)
            except OSError:
                return  # the other side has gone

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=serve_one, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield server.getsockname()
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()


def listen(connection: socket.socket) -> None:
    while connection.recv(65_536):
        pass


@contextmanager
def kafka() -> Iterator[tuple[str, int]]:
    with kgroup.testing.cluster() as cluster:
        host, _, port = cluster.bootstrap.rpartition(":")
        yield host, int(port)


@contextmanager
def nobody() -> Iterator[tuple[str, int]]:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        yield unused.getsockname()


def silent() -> Iterator[tuple[str, int]]:
    return listener(listen)


def closing() -> Iterator[tuple[str, int]]:
    return listener(lambda connection: None)


@pytest.mark.parametrize("others", [[silent], [nobody], [closing], [silent, nobody, silent, closing, silent]])
@pytest.mark.parametrize("is_first", [False, True])
def test_of_several_servers_one_that_answers_is_enough(others, is_first):
    """However long there is to wait: were a silent one waited for, this test would last a day."""
    with ExitStack() as stack:
        servers = [stack.enter_context(other()) for other in others]
        real = stack.enter_context(kafka())
        servers.insert(0 if is_first else len(servers), real)
        names = ",".join(f"{host}:{port}" for host, port in servers)
        options = ConnectionOptions(bootstrap_servers=names, properties=(f"request.timeout.ms={ALL_DAY}",))
        assert require_broker(servers, client_config(options.read_properties())) == real
        for _ in range(3):
            with Cluster(options) as cluster:
                assert [broker.port for broker in cluster.brokers().values()] == [real[1]]


def test_with_a_silent_server_that_wants_tls(tmp_path: Path):
    authority = Certified.authority("ours")
    server = authority.issue("127.0.0.1").server(tmp_path)

    def speak(connection: socket.socket) -> None:
        with server.wrap_socket(connection, server_side=True) as secured:
            answer_versions(secured, [])
            listen(secured)

    with listener(listen) as first, listener(speak) as second:
        config = client_config(
            {
                "security.protocol": "SSL",
                "ssl.truststore.certificates": authority.pem,
                "request.timeout.ms": ALL_DAY,
            }
        )
        assert require_broker([first, second], config) == second


def test_what_is_wrong_with_each_is_told_in_their_order():
    with closing() as first, nobody() as second, silent() as third, pytest.raises(SourceError) as refusal:
        require_broker([first, second, third], client_config({"request.timeout.ms": "1500"}))
    names = [f"{host}:{port}" for host, port in (first, second, third)]
    assert str(refusal.value).startswith(
        f"no broker answers: {names[0]}: closed the connection; {names[1]}: Connection refused;"
        f" {names[2]}: no answer in 1.5 s; security.protocol is PLAINTEXT"
    )


@pytest.mark.parametrize("other", [closing, silent, nobody])
@pytest.mark.parametrize("tls", [False, True])
def test_no_connection_is_left_to_the_garbage_collector(tmp_path: Path, other, tls):
    authority = Certified.authority("ours")
    server = authority.issue("127.0.0.1").server(tmp_path)

    def speak(connection: socket.socket) -> None:
        with server.wrap_socket(connection, server_side=True) if tls else connection as spoken_with:
            answer_versions(spoken_with, [])
            listen(spoken_with)

    properties = {"ssl.truststore.certificates": authority.pem, "request.timeout.ms": "500"}
    config = client_config(properties | {"security.protocol": "SSL" if tls else "PLAINTEXT"})
    threads = set(threading.enumerate())
    with warnings.catch_warnings(record=True) as warned, other() as stranger, listener(speak) as broker:
        warnings.simplefilter("always", ResourceWarning)
        with pytest.raises(SourceError):
            require_broker([stranger], config)
        assert require_broker([stranger, broker], config | {"request_timeout_ms": int(ALL_DAY)}) == broker
        for thread in set(threading.enumerate()) - threads:
            if thread.name.endswith("(open)"):
                thread.join()
        gc.collect()
    assert [str(each.message) for each in warned if "raddr" in str(each.message)] == []


def answer_versions(connection: socket.socket, spoken: list[tuple[int, int, int]]) -> None:
    """Answer ApiVersions v0."""
    body = struct.pack(">hi", 0, len(spoken)) + b"".join(struct.pack(">hhh", *each) for each in spoken)
    _, correlation_id = next_request(connection)
    send(connection, correlation_id, body)


def next_request(connection: socket.socket) -> tuple[int, int]:
    """Its key and correlation id."""
    head = connection.recv(12)
    if len(head) < 12:
        raise ConnectionResetError
    length, api, _, correlation_id = struct.unpack(">ihhi", head)
    connection.recv(length - 8)
    return api, correlation_id


def send(connection: socket.socket, correlation_id: int, body: bytes) -> None:
    connection.sendall(struct.pack(">ii", 4 + len(body), correlation_id) + body)


class LoginListener:
    """Answers ApiVersions and SaslHandshake, the latter with `error_code`; to a login it does `ending`."""

    def __init__(self, error_code: int, ending: Callable[[socket.socket, int], None]) -> None:
        self.attempts = self.handshakes = 0
        self._error_code = error_code
        self._ending = ending

    def __call__(self, connection: socket.socket) -> None:
        answer_versions(connection, [(3, 0, 12), (17, 0, 1), (18, 0, 3), (36, 0, 2)])
        _, correlation_id = next_request(connection)
        self.handshakes += 1
        mechanism = struct.pack(">h5s", 5, b"PLAIN")
        send(connection, correlation_id, struct.pack(">hi", self._error_code, 1) + mechanism)
        _, correlation_id = next_request(connection)
        self.attempts += 1
        self._ending(connection, correlation_id)


def plain(protocol: str = "SASL_PLAINTEXT", mechanism: str = "PLAIN") -> dict[str, object]:
    return client_config(
        {
            "security.protocol": protocol,
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": JAAS.format("p"),
            "request.timeout.ms": ALL_DAY,
        }
    )


def test_a_listener_of_a_real_broker_that_asks_for_no_login_says_so_at_once():
    """It speaks SaslHandshake all the same, and answers ILLEGAL_SASL_STATE."""
    handler = LoginListener(ILLEGAL_SASL_STATE, lambda *_: None)
    with listener(handler) as (host, port), pytest.raises(SourceError) as refusal:
        require_broker([(host, port), (host, port)], plain())
    assert str(refusal.value) == (
        f"{host}:{port}: this listener asks for no login (ILLEGAL_SASL_STATE);"
        " see sasl.mechanism and security.protocol"
    )
    assert (handler.handshakes, handler.attempts) == (1, 0)


@pytest.mark.parametrize("error_code", [NETWORK_EXCEPTION, 9999])
def test_any_other_refusal_of_the_mechanism_is_named(error_code):
    name = {NETWORK_EXCEPTION: "NETWORK_EXCEPTION", 9999: "error 9999"}[error_code]
    with (
        listener(LoginListener(error_code, lambda *_: None)) as server,
        pytest.raises(SourceError, match=f"SaslHandshake refused: {name}; see sasl.mechanism"),
    ):
        require_broker([server], plain())


def refuse(connection: socket.socket, correlation_id: int) -> None:
    why = b"Authentication failed: Invalid username or password"
    send(connection, correlation_id, struct.pack(f">hh{len(why)}si", 58, len(why), why, 0))


@pytest.mark.parametrize(
    ("ending", "why"),
    [
        (refuse, "PLAIN login refused: Authentication failed: Invalid username or password; see sasl.jaas"),
        (lambda *_: None, "PLAIN login: closed the connection; are sasl.mechanism, user and password right?"),
    ],
)
def test_a_login_that_is_refused_is_tried_once_in_all(ending, why):
    first, second = LoginListener(0, ending), LoginListener(0, ending)
    with listener(first) as one, listener(second) as other, pytest.raises(SourceError) as refusal:
        require_broker([one, other], plain())
    assert str(refusal.value).startswith(f"{one[0]}:{one[1]}: {why}")
    assert (first.attempts, second.attempts) == (1, 0)


COMMANDS = [
    ["lag-report"],
    ["decode"],
    ["replay", "--group", "g"],
    ["find-coordinator", "g"],
    ["assign", "--group", "g"],
    ["what-if", "--group", "g", "--static"],
    ["join", "--group", "g", "--topic", "orders"],
]


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_every_command_tries_a_wrong_password_once_and_gives_the_brokers_reason(mechanism, command):
    async def story() -> None:
        with kgroup.testing.cluster(topics={"orders": 2}) as cluster:
            async with gate_to(cluster, mechanism) as (gate, port):
                process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", "kgroup", *command, "-b", f"127.0.0.1:{port},127.0.0.1:{port}"),
                    *("-X", "security.protocol=SASL_PLAINTEXT", "-X", f"sasl.mechanism={mechanism}"),
                    *("-X", f"sasl.jaas.config={JAAS.format('Secret1')}"),
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                )
                said, errors = await process.communicate()
        assert (gate.attempts, gate.logins, said, process.returncode) == (1, [], b"", 1)
        [line] = errors.decode().splitlines()
        assert line.startswith(f"kgroup: 127.0.0.1:{port}: {mechanism} login refused: Authentication failed")
        assert line.endswith("; see sasl.jaas.config")
        assert "Secret1" not in line

    asyncio.run(story())
