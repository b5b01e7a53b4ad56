"""One client's connection: requests one at a time, answers as fast as the client takes them."""

import asyncio
import socket
import time
from collections.abc import Iterator
from typing import Final, Protocol

from kgroup.broker.cluster import Cluster
from kgroup.broker.node import Answer, BrokerNode
from kgroup.broker.request_queue import RequestQueue
from kgroup.broker.security.login import RECEIVE_MAX_BYTES, ServerLogin
from kgroup.errors import KgroupError
from kgroup.net.serve.clock import Clock
from kgroup.net.serve.doors import PLAIN_DOOR, Door
from kgroup.net.serve.feeder import Feeder
from kgroup.net.serve.intake import Intake
from kgroup.wire.frames import NOBODY_SPECIAL, BadRequestError, Call, Sender

_PAUSE_READING_BYTES: Final = 1 << 20
_HOLD_BACK_BYTES: Final = 1 << 20  # of answers to one connection, before any is sent


class SharedServer(Protocol):
    """State shared by the connections to all nodes."""

    cluster: Cluster
    clock: Clock
    feeder: Feeder
    intake: Intake
    unsent_bytes: int

    @property
    def intercepts(self) -> bool:
        """Whether each request is to be looked at before it is handled."""

    def note(self, text: str) -> None:
        """Say what a client has done."""

    def warn_of_fault(self, error: Exception) -> None:
        """Say that something was raised that nobody counted on."""

    def schedule_flush(self) -> None:
        """Send answers soon."""


class ClientsServer(Protocol):
    """The interface of a node's server for its connections."""

    node: BrokerNode

    @property
    def shared(self) -> SharedServer:
        """The part shared with the other nodes' servers."""

    def admit(self, connection: "ClientConnection") -> str | None:
        """Take note of a connection; why it has to be closed at once, or None."""

    def logged_in(self, connection: "ClientConnection") -> None:
        """Called once the client is known."""

    def gone(self, connection: "ClientConnection") -> None:
        """Forget it."""

    def received(self, connection: "ClientConnection", frame: bytes) -> None:
        """Handle a request. Raises BadRequestError if the connection has to close."""

    def handle(self, call: Call) -> None:
        """Hand it to the node. Raises BadRequestError if the connection has to close."""


class ClientConnection(asyncio.Protocol):
    """One client's connection to one node; requests are handled one after the other (see RequestQueue)."""

    def __init__(self, server: ClientsServer, token: int, door: Door = PLAIN_DOOR) -> None:
        self.server = server
        self.token = token
        self.door = door
        self.login: ServerLogin | None = None
        self._sender = NOBODY_SPECIAL
        self.last_active_s = self.connected_s = time.monotonic()
        self._queue = RequestQueue(server.shared.cluster.settings.request_max_bytes)
        self._out: list[bytes] = []
        self._due = 0  # the number of the request whose answer is sent next
        self._early: dict[int, Answer] = {}
        self._transport: asyncio.Transport | None = None
        self._host = ""
        self._may_write = True
        self._is_muted = False
        self._held_back = False
        self._unsent_bytes = 0
        self._buffered_bytes = 0
        self._counted_bytes = 0
        self._rest: Iterator[bytes | memoryview] | None = None  # of an answer that is sent in pieces
        self._rest_bytes = 0
        self._read_on_s = self.last_active_s

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember the client to answer."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(0)  # what the kernel does not take now is all that waits here
        peer = transport.get_extra_info("peername")
        self._host = f"/{peer[0]}" if peer else "/"  # the way Kafka prints an address without a name
        self._sender = self.door.sender(transport.get_extra_info("ssl_object"))
        if self.door.login is not None:
            self.login = ServerLogin(self.door.login, self.read)
            self._queue.max_frame_bytes = RECEIVE_MAX_BYTES
        why_not = self.server.admit(self)
        connected = transport.get_extra_info("socket")
        if connected is not None:  # a client that is gone without a word is found out, as by Kafka
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if why_not is not None:
            self.server.shared.note(f"{self._host}: {why_not}")
            self.close()
        elif self.server.shared.intake.is_full:
            self.regulate()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the client. What it waited for continues without it."""
        self._transport = None
        self._rest, self._rest_bytes = None, 0
        self._sent()
        self.server.gone(self)
        self._count_waiting(gone=True)

    def data_received(self, data: bytes) -> None:
        """Take in bytes and handle what is whole and may be handled now."""
        self.last_active_s = time.monotonic()
        self._queue.feed(data)
        self.pump()
        self.regulate()

    def regulate(self) -> None:
        """Read on, unless requests lie here that may not be handled now: nobody may send without end."""
        if self._transport is None:
            return
        intake = self.server.shared.intake
        if not (self._queue.waiting_bytes or self._counted_bytes or self._is_muted or intake.is_full):
            return  # nearly always: this is asked twice a request
        self._count_waiting()
        blocked = self._queue.busy or self._held_back or not self._may_write
        allowed_bytes = 0 if intake.has_limit else _PAUSE_READING_BYTES
        too_much = blocked and self._queue.waiting_bytes > allowed_bytes
        too_much = too_much or (intake.is_full and (blocked or not self._queue.waiting_bytes))
        if too_much == self._transport.is_reading() and not self._transport.is_closing():
            self._is_muted = too_much
            if too_much:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()

    def _count_waiting(self, *, gone: bool = False) -> None:
        waiting_bytes = 0 if gone else self._queue.waiting_bytes
        more_bytes, self._counted_bytes = waiting_bytes - self._counted_bytes, waiting_bytes
        if more_bytes:
            self.server.shared.intake.add(more_bytes)

    def pause_writing(self) -> None:
        """The client does not read: stop answering it."""
        self._may_write = False
        self._read_on_s = time.monotonic()
        self._buffered_bytes = self._unsent_bytes

    def resume_writing(self) -> None:
        """Called when the client reads again."""
        self._may_write = True
        if self._rest is not None:
            self.server.shared.feeder.add(self)
            return
        self._sent()
        self.pump()
        self.regulate()

    def _sent(self) -> None:
        """Account for answers that were sent, or never will be."""
        self.server.shared.unsent_bytes -= self._unsent_bytes
        self._unsent_bytes = 0
        self._held_back = False

    def stalled_s(self, now_s: float) -> float:
        """The time for which the client has read nothing of what waits for it; called repeatedly."""
        if self._may_write or self._transport is None:
            return 0.0
        buffered_bytes = self._transport.get_write_buffer_size()
        if buffered_bytes < self._buffered_bytes:
            self._read_on_s = now_s
        self._buffered_bytes = buffered_bytes
        return now_s - self._read_on_s

    @property
    def host(self) -> str:
        """The client's address, as Kafka prints it."""
        return self._host

    @property
    def is_idle(self) -> bool:
        """Whether it waits for nothing."""
        return not self._queue.busy

    def pump(self) -> None:
        """Handle the next request, if there is one and the last has been answered."""
        together = self.login is None and not self.server.shared.intercepts
        try:
            while self._transport is not None and self._may_write:
                if self._unsent_bytes > _HOLD_BACK_BYTES:
                    self._held_back = True  # until they are sent
                    return
                frame = self._queue.next_frame(commits_together=together)
                if frame is None:
                    return
                self.server.received(self, frame)
        except BadRequestError as error:
            self.server.shared.note(f"{self._host}: {error}")
            self.close()
        except Exception as error:  # whatever it is, the other clients are to be served
            self.server.shared.warn_of_fault(error)
            self.close()

    def read(self, frame: bytes) -> Call:
        """The request in a frame."""
        return self.server.node.read(frame, self.token, self._host, self._sender, self._queue.number)

    def log_in(self, login: ServerLogin, frame: bytes) -> bool:
        """Let the login have a frame; whether it is for the node, as none that belongs to a login is."""
        shared = self.server.shared
        step = login.take(frame, shared.clock.now_ms())
        if step.to_node:
            return True
        if step.why is not None:
            shared.note(f"{self._host}: {step.why}")
            delay_s = self.door.failed_delay_s
            asyncio.get_running_loop().call_later(delay_s, self._send_off, step.answer)
            return False
        if login.principal is not None:
            self._sender = Sender(principal=login.principal, listener=self.door.plan.name)
            self._queue.max_frame_bytes = shared.cluster.settings.request_max_bytes
            self.server.logged_in(self)
            self.login = None if login.is_over else login
        self.server.node.answers.append(Answer(self.token, step.answer, number=self._queue.number))
        shared.schedule_flush()
        return False

    def _send_off(self, answer: bytes | None) -> None:
        """The last words to a client that could not log in."""
        if self._transport is not None:
            if answer is not None:
                self._transport.write(answer)
            self._transport.close()

    def answered(self, answer: Answer) -> None:
        """Take the answer to a request in hand; the next `send` sends it, behind those to earlier ones."""
        if answer.number != self._due:
            self._early[answer.number] = answer
            return
        self._take(answer)
        while self._early and (later := self._early.pop(self._due, None)) is not None:
            self._take(later)

    def _take(self, answer: Answer) -> None:
        """Take the next answer.

        Of a long one, whose size is known, nothing more is read than the client takes: until all of it is
        handed over, no other request is looked at.
        """
        self._due += 1
        if answer.frame is not None:
            self._out.append(answer.frame)
            self._unsent_bytes += answer.held_bytes
            self.server.shared.unsent_bytes += answer.held_bytes
        if answer.rest:
            self._rest, self._rest_bytes = answer.pieces(), answer.rest_bytes
        else:
            self._queue.answered()

    def feed(self) -> int:
        """Hand over the next piece of a long answer; its size."""
        if self._transport is None or self._rest is None or not self._may_write:
            return 0
        try:
            piece = next(self._rest)
        except (KgroupError, OSError) as error:  # its client has been told to expect it
            self.server.shared.note(f"{self._host}: {error}")
            self.close()
            return 0
        except Exception as error:
            self.server.shared.warn_of_fault(error)
            self.close()
            return 0
        self._rest_bytes -= len(piece)
        is_last = not self._rest_bytes
        if is_last:
            self._rest = None
            self._queue.answered()
        self._transport.write(piece)
        if self._may_write:
            if is_last:
                self._sent()
                self.pump()
            else:
                self.server.shared.feeder.add(self)
        self.regulate()
        return len(piece)

    def send(self) -> None:
        """Send what has been answered."""
        if self._transport is None or not self._out:
            self._out.clear()
            self._sent()
            return
        self._transport.write(b"".join(self._out))
        self._out.clear()
        if self._rest is not None:
            self.server.shared.feeder.add(self)
        elif self._may_write:
            held_back = self._held_back
            self._sent()
            if held_back:
                self.pump()
        self.regulate()

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.abort()
