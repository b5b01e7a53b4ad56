"""What goes wrong around kgroup: listeners that are no brokers, files that are no logs, a Java too old."""

import gzip
import json
import os
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

import kgroup.testing

Handler = Callable[[socket.socket], None]
API_VERSIONS = 18
SPOKEN_BEFORE_A_LOGIN = ((3, 0, 12), (17, 0, 1), (18, 0, 3), (36, 0, 2))


@contextmanager
def everything(folder: Path, logs: Path) -> Iterator[dict[str, str]]:
    """Make all of it; gives the addresses of listeners and paths by the names that the list uses."""
    make_certificate(folder)
    make_files(folder, logs)
    make_javas(folder)
    handlers: dict[str, Handler] = {
        "silent": listen,
        "closing": lambda connection: None,
        "http": lambda connection: answer(
            connection, b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"
        ),
        "ssh": lambda connection: connection.sendall(b"SSH-2.0-OpenSSH_9.2p1\r\n"),
        "garbage": lambda connection: answer(connection, b"\0\0\0\x10" + bytes(range(200, 216))),
        "alert": lambda connection: answer(connection, b"\x15\x03\x03\0\x02\x02\x50"),
        "tls": tls_handler(folder),
        "sasl": want_login,
    }
    with ExitStack() as stack:
        made = {name: stack.enter_context(listener(handler)) for name, handler in handlers.items()}
        unused = stack.enter_context(socket.socket())
        unused.bind(("127.0.0.1", 0))  # and nobody listens
        made |= {"unused": address(unused), "folder": str(folder), "logs": str(logs)}
        kafka = stack.enter_context(kgroup.testing.cluster(topics={"orders": 3}))
        stack.enter_context(member(kafka.bootstrap))
        elsewhere = stack.enter_context(kgroup.testing.cluster())
        yield made | {"real": kafka.bootstrap, "elsewhere": tell_wrong_address(elsewhere)}


@contextmanager
def listener(handler: Handler) -> Iterator[str]:
    """Somebody on a port of this machine, who does `handler` with each connection and closes it."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                try:
                    handler(connection)
                except OSError:
                    continue  # the other side has gone, which is what it should do

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield address(server)
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()


def address(bound: socket.socket) -> str:
    host, port = bound.getsockname()
    return f"{host}:{port}"


def listen(connection: socket.socket) -> None:
    while connection.recv(65_536):
        pass


def answer(connection: socket.socket, sent: bytes) -> None:
    connection.recv(65_536)
    connection.sendall(sent)


def want_login(connection: socket.socket) -> None:
    """Tell the versions; hang up on all else that is no login, as Kafka's SaslServerAuthenticator does."""
    while True:
        head = connection.recv(12, socket.MSG_WAITALL)
        if len(head) < 12:
            return
        length, api, version, correlation_id = struct.unpack(">ihhi", head)
        connection.recv(length - 8, socket.MSG_WAITALL)
        if (api, version) != (API_VERSIONS, 0):
            return
        spoken = b"".join(struct.pack(">hhh", *each) for each in SPOKEN_BEFORE_A_LOGIN)
        body = struct.pack(">ihi", correlation_id, 0, len(SPOKEN_BEFORE_A_LOGIN)) + spoken
        connection.sendall(len(body).to_bytes(4, "big") + body)


def tls_handler(folder: Path) -> Handler:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")

    def speak(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as secured:
            listen(secured)

    return speak


def tell_wrong_address(cluster: kgroup.testing.Cluster) -> str:
    """Have its broker send clients to an address that is right elsewhere only; gives the one that works."""
    assert cluster._server is not None
    bootstrap = cluster.bootstrap
    broker = cluster._server.cluster.nodes[1]
    broker.host, broker.port = "kafka-1.invalid", 9092
    return bootstrap


@contextmanager
def member(bootstrap: str) -> Iterator[None]:
    """A member of group billing with the assignor range, and a commit of its own."""
    command = [
        *(sys.executable, "-m", "kgroup", "join", "-b", bootstrap, "--group", "billing", "--topic", "orders"),
        *("--client-id", "c1", "--assignor", "range", "--from", "earliest", "-o", "jsonl"),
        *("-X", "auto.commit.interval.ms=100"),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert any(json.loads(line)["event"] == "committed" for line in process.stdout)
        try:
            yield
        finally:
            process.terminate()


def make_certificate(folder: Path) -> None:
    """A certificate that nobody has signed, for another host."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl on the PATH (apt-get install openssl)")
    subprocess.run(
        [
            *(openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-keyout", folder / "key.pem", "-out", folder / "certificate.pem"),
            *("-subj", "/CN=other.example", "-days", "30"),
        ],
        check=True,
        capture_output=True,
    )


def make_files(folder: Path, logs: Path) -> None:
    (folder / "loop").symlink_to(folder / "loop again")
    (folder / "loop again").symlink_to(folder / "loop")
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(folder / "socket"))
    [segment] = (logs / "__consumer_offsets-0").glob("*.log")
    (folder / "packed.log").write_bytes(gzip.compress(segment.read_bytes()))
    (folder / "packed.zst").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(100))
    (folder / "empty").mkdir()
    with (folder / "huge").open("wb") as huge:
        huge.truncate(64 * 1024 * 1024 + 1)
    (folder / "__consumer_offsets-3").mkdir()
    (folder / "not-utf-8-\udce9.log").write_bytes(b"x")
    (folder / "bad.pem").write_text("-----BEGIN CERTIFICATE-----\nno\n-----END CERTIFICATE-----\n")
    (folder / "login.properties").write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        'sasl.jaas.config=org.x.PlainLoginModule required username="u" password="p";\n'
    )
    (folder / "misspelt.properties").write_text("# of librdkafka\nsasl.mechanisms=PLAIN\n")
    (folder / "users").write_text("# of serve\nalice SCRAM-SHA-256 Secret1\n")
    (folder / "acls").write_text("allow User:alice READ topic orders\nallow User:alice REED topic orders\n")
    for name in ("users", "bad.pem"):
        (folder / name).chmod(0o600)
    (folder / "value.properties").write_text("security.protocol\n")


def make_javas(folder: Path) -> None:
    for name, script in (
        ("java-8", "echo 'openjdk version \"1.8.0_392\"' >&2"),
        ("java-broken", "echo 'libjvm.so: cannot open shared object file' >&2; exit 127"),
    ):
        program = folder / name / "bin" / "java"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
