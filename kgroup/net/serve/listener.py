"""A listening socket and its connections."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from errno import EADDRINUSE
from typing import Final

from kgroup.errors import SourceError
from kgroup.net.connect.error_reason import error_reason

_ACCEPT_AGAIN_S: Final = 1.0
_BACKLOG: Final = 2048
_ACCEPTED_AT_ONCE: Final = 8  # before the loop gets its turn: setting a connection up takes a while
HANDSHAKE_S: Final = 10.0
_HANDSHAKES_MAX: Final = 2000  # at once; the oldest gives way to a new one


class Listener:
    """Hands each connection to a protocol of its own, made by `new_connection`; can be opened again.

    `warn` is called when the system is out of file descriptors, `note` for failed TLS handshakes. Not
    asyncio's own server: closed at the wrong moment, that leaves a connection open and unattended.
    """

    def __init__(
        self,
        host: str,
        port: int,
        new_connection: Callable[[], asyncio.Protocol],
        warn: Callable[[str], None],
        tls: ssl.SSLContext | None = None,
        note: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.host = host
        self.port = port
        self._new_connection = new_connection
        self._warn = warn
        self._tls = tls
        self._note = note
        self._socket: socket.socket | None = None
        self._accepting: dict[asyncio.Task[None], socket.socket] = {}

    @property
    def is_open(self) -> bool:
        """Connections are taken."""
        return self._socket is not None

    def open(self) -> None:
        """Listen, in the event loop that runs; a port of 0 becomes the one that the system chose.

        Raises SourceError if the address is not available.
        """
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        try:
            self._socket = socket.create_server((self.host, self.port), family=family, backlog=_BACKLOG)
        except OSError as error:
            why = _bind_problem(error)
            raise SourceError(f"cannot listen on {self.host}:{self.port}: {why}") from error
        self._socket.setblocking(False)
        self.port = self._socket.getsockname()[1]
        self._watch()

    def _watch(self) -> None:
        if self._socket is not None:
            asyncio.get_running_loop().add_reader(self._socket, self._accept)

    def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(_ACCEPTED_AT_ONCE):
            if self._socket is None:
                return
            try:
                accepted, _ = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                # No file descriptors left: those who wait may have better luck in a moment.
                self._warn(f"cannot accept connections: {error.strerror}")
                loop.remove_reader(self._socket)
                loop.call_later(_ACCEPT_AGAIN_S, self._watch)
                return
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is not None and len(self._accepting) >= _HANDSHAKES_MAX:
                self._give_up(next(iter(self._accepting)))  # who takes longest to shake hands
            task = loop.create_task(self._welcome(accepted))
            self._accepting[task] = accepted
            task.add_done_callback(lambda task: self._accepting.pop(task, None))

    def _give_up(self, task: asyncio.Task[None]) -> None:
        task.cancel()
        self._accepting.pop(task).close()

    async def _welcome(self, accepted: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        if self._tls is None:
            await loop.connect_accepted_socket(self._new_connection, accepted)
            return
        try:
            await loop.connect_accepted_socket(
                self._new_connection, accepted, ssl=self._tls, ssl_handshake_timeout=HANDSHAKE_S
            )
        except OSError as error:  # an ssl.SSLError is one, and a timeout
            self._note(f"{self.host}:{self.port}: TLS handshake failed: {error_reason(error)}")

    def close(self) -> None:
        """Take no more connections; those that are being accepted come through yet."""
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()
            self._socket = None


def _bind_problem(error: OSError) -> str:
    """The reason why listening failed, without the address that create_server adds."""
    why = (error.strerror or str(error)).partition(" (while ")[0].lower()
    return f"{why}; does a serve run already? --listen takes another" if error.errno == EADDRINUSE else why
