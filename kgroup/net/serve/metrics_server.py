"""An HTTP server for one page of text, as Prometheus scrapes it."""

import socket
import sys
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import urlsplit

from kgroup.errors import SourceError

_METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_CLIENT_TIMEOUT_S: Final = 10.0
_CLIENTS_MAX: Final = 64
_INDEX: Final = '<!DOCTYPE html><title>kgroup</title><a href="/metrics">/metrics</a>\n'


class MetricsServer(ThreadingHTTPServer):
    """Answers GET /metrics with what `page` returns at that moment; it is called once at a time.

    Of clients that say nothing, each waits by itself; more than `_CLIENTS_MAX` at once are sent away.
    Raises SourceError if it cannot listen there. `with` closes it; `serve_forever` serves.
    """

    def __init__(self, host: str, port: int, page: Callable[[], str]) -> None:
        self._page = page
        self._one_page = threading.Lock()
        self._clients = threading.BoundedSemaphore(_CLIENTS_MAX)
        if ":" in host:
            self.address_family = socket.AF_INET6
        try:
            super().__init__((host, port), _Handler)
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or error
            raise SourceError(f"cannot serve metrics on {host}:{port}: {why}") from error

    def page(self) -> str:
        """The text as it is now."""
        with self._one_page:
            return self._page()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a client concurrently with the others."""
        if self._clients.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer it, and make room for another one."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._clients.release()

    @property
    def url(self) -> str:
        """The address of the metrics."""
        host, port = self.server_address[:2]
        shown = host.decode() if isinstance(host, bytes) else host
        return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}/metrics"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away in the middle is not our error; others are raised as they are."""
        if not isinstance(sys.exception(), OSError):
            raise  # noqa: PLE0704  socketserver calls this where an exception is being handled


class _Handler(BaseHTTPRequestHandler):
    timeout = _CLIENT_TIMEOUT_S
    server: MetricsServer

    def version_string(self) -> str:
        """The value of the header Server."""
        return "kgroup"

    def do_GET(self) -> None:
        """Answer /metrics, and / with a link to it."""
        match urlsplit(self.path).path:
            case "/metrics":
                self._answer(HTTPStatus.OK, self.server.page(), _METRICS_TYPE)
            case "/":
                self._answer(HTTPStatus.OK, _INDEX, "text/html; charset=utf-8")
            case _:
                self._answer(HTTPStatus.NOT_FOUND, "see /metrics\n", "text/plain; charset=utf-8")

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        """Requests are not logged: a scrape every few seconds would fill a log with nothing."""

    def _answer(self, status: HTTPStatus, text: str, content_type: str) -> None:
        body = text.encode("utf-8", "backslashreplace")
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
