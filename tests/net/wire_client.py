"""A client of raw frames: what is sent, byte by byte, is what the test says."""

import queue
import socket
import ssl
from typing import Any

TIMEOUT_S = 30


class WireClient:
    """One connection. `ask` waits for the answer; `send` and `receive` keep several requests in flight.

    One thread may send while another receives.
    """

    def __init__(
        self, address: tuple[str, int], client_id: str = "wire", tls: ssl.SSLContext | None = None
    ) -> None:
        self._socket = socket.create_connection(address, TIMEOUT_S)
        if tls is not None:
            self._socket = tls.wrap_socket(self._socket, server_hostname=address[0])
        self._answers = self._socket.makefile("rb")
        self._client_id = client_id
        self._requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._correlation_id = 0

    def send(self, *requests: Any) -> None:
        """Several go in one piece, so that they arrive together."""
        frames = []
        for request in requests:
            self._correlation_id += 1
            request.with_header(self._correlation_id, self._client_id)
            self._requests.put(request)
            frames.append(bytes(request.encode(header=True, framed=True)))
        self._socket.sendall(b"".join(frames))

    def receive(self) -> Any:
        """The next answer, decoded. Raises ConnectionError when the other side hangs up."""
        request = self._requests.get(timeout=TIMEOUT_S)  # another thread may still be sending it
        length = self._answers.read(4)
        frame = self._answers.read(int.from_bytes(length, "big")) if len(length) == 4 else b""
        if len(length) < 4 or len(frame) < int.from_bytes(length, "big"):
            raise ConnectionError("closed")
        response = request.header.get_response_class()
        return response.decode(frame, header=True)

    def ask(self, request: Any) -> Any:
        self.send(request)
        return self.receive()

    def send_bytes(self, data: bytes) -> None:
        self._socket.sendall(data)

    def is_closed_by_peer(self) -> bool:
        """Wait until the other side hangs up or says something."""
        try:
            return self._answers.read(1) == b""
        except ConnectionError:
            return True

    def close(self) -> None:
        self._answers.close()
        self._socket.close()

    def __enter__(self) -> "WireClient":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
