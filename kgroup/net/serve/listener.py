"""A listening socket, and the connections that come in by it."""

import asyncio
import socket
from collections.abc import Callable
from errno import EADDRINUSE
from typing import Final

from kgroup.errors import SourceError

_ACCEPT_AGAIN_S: Final = 1.0
_BACKLOG: Final = 2048


class Listener:
    """Hands each connection to a protocol of its own, made by `new_connection`; can be opened again.

    `warn` is told when the system is out of file descriptors. Not asyncio's own server: closed at the wrong
    moment, that leaves a connection open and unattended.
    """

    def __init__(
        self,
        host: str,
        port: int,
        new_connection: Callable[[], asyncio.Protocol],
        warn: Callable[[str], None],
    ) -> None:
        self.host = host
        self.port = port
        self._new_connection = new_connection
        self._warn = warn
        self._socket: socket.socket | None = None
        self._accepting: set[asyncio.Task[None]] = set()

    @property
    def is_open(self) -> bool:
        """Connections are taken."""
        return self._socket is not None

    def open(self) -> None:
        """Listen, in the event loop that runs; a port of 0 becomes the one that the system chose.

        Raises SourceError if the address cannot be had.
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
        while self._socket is not None:
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
            self._accepting.add(task := loop.create_task(self._welcome(accepted)))
            task.add_done_callback(self._accepting.discard)

    async def _welcome(self, accepted: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        await loop.connect_accepted_socket(self._new_connection, accepted)

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
