"""The metrics server over real connections."""

import http.client
import socket
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from kgroup.errors import SourceError
from kgroup.net.serve.metrics_server import MetricsServer

PATIENCE_S = 30


@pytest.fixture
def server() -> Iterator[MetricsServer]:
    pages = iter(range(100))
    with MetricsServer("127.0.0.1", 0, lambda: f"page {next(pages)} \u00fc\n") as serving:
        thread = threading.Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield serving
        serving.shutdown()
        thread.join(PATIENCE_S)


def ask(server: MetricsServer, path: str, method: str = "GET") -> tuple[int, str | None, str]:
    client = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=PATIENCE_S)
    client.request(method, path)
    answer = client.getresponse()
    text = answer.read().decode()
    client.close()
    return answer.status, answer.getheader("Content-Type"), text


def test_every_scrape_has_a_new_page(server: MetricsServer) -> None:
    kind = "text/plain; version=0.0.4; charset=utf-8"
    assert ask(server, "/metrics") == (200, kind, "page 0 \u00fc\n")
    assert ask(server, "/metrics?name=x") == (200, kind, "page 1 \u00fc\n")


def test_a_head_request_has_no_body(server: MetricsServer) -> None:
    assert ask(server, "/metrics", "HEAD")[::2] == (200, "")


def test_other_paths_say_where_the_metrics_are(server: MetricsServer) -> None:
    assert ask(server, "/elsewhere")[::2] == (404, "see /metrics\n")
    assert 'href="/metrics"' in ask(server, "/")[2]


@pytest.mark.parametrize("sent", [b"\r\n\r\n", b"nonsense\r\n\r\n", b"GET /metrics", b""])
def test_a_client_that_talks_nonsense_or_leaves_does_no_harm(server: MetricsServer, sent: bytes) -> None:
    address = server.server_address[:2]
    with socket.create_connection(address, PATIENCE_S) as client:
        client.sendall(sent)
    assert ask(server, "/metrics")[0] == 200


def test_a_port_in_use_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            SourceError, match=f"cannot serve metrics on 127.0.0.1:{port}: Address already in use"
        ):
            MetricsServer("127.0.0.1", port, str)


def test_a_client_that_says_nothing_keeps_nobody_waiting(server: MetricsServer) -> None:
    address = server.server_address[:2]
    with (
        socket.create_connection(address, PATIENCE_S),
        socket.create_connection(address, PATIENCE_S) as other,
    ):
        other.sendall(b"GET /met")
        assert ask(server, "/metrics")[0] == 200


def test_of_too_many_who_say_nothing_the_last_are_sent_away(server: MetricsServer) -> None:
    # For good: a thread may give its place back when the test is over.
    server._clients = threading.BoundedSemaphore(1)
    address = server.server_address[:2]
    with socket.create_connection(address, PATIENCE_S) as silent:
        with socket.create_connection(address, PATIENCE_S) as other:
            assert other.recv(1) == b""
        silent.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        assert silent.recv(12) == b"HTTP/1.0 200"
