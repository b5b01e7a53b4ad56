"""An OAuth provider's token endpoint, as RFC 6749 describes one, on loopback."""

import base64
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

CLIENT, SECRET = "lag", "wonder:land="


class TokenServer(ThreadingHTTPServer):
    """Gives `answer` with `status` to whoever knows CLIENT and SECRET; `asked` has what each asked for."""

    daemon_threads = True

    def __init__(self, answer: Any, status: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer, self.status = answer, status
        self.asked: list[dict[str, list[str]]] = []

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    server: TokenServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.asked.append(parse_qs(body))
        known = "Basic " + base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if self.headers["Content-Type"] != "application/x-www-form-urlencoded":
            self._say(415, {})
        elif self.headers["Authorization"] != known:
            self._say(401, {"error": "invalid_client", "error_description": "Bad\ncredentials"})
        else:
            self._say(self.server.status, self.server.answer)

    def _say(self, status: int, answer: Any) -> None:
        content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Tests' output is theirs."""


@contextmanager
def token_server(
    answer: Any, *, status: int = 200, certificate: Path | None = None
) -> Iterator[tuple[TokenServer, str]]:
    """A running one, and its URL; with a certificate and key in PEM by https."""
    server = TokenServer(answer, status)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        scheme = "http" if certificate is None else "https"
        yield server, f"{scheme}://127.0.0.1:{server.server_address[1]}/token?realm=a"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
