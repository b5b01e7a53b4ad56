"""Faults on request: drop, delay, hold or refuse selected requests on their way to a node."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypedDict, Unpack

from kgroup.errors import InputError
from kgroup.net.serve.connection import ClientConnection
from kgroup.net.serve.server import ClusterServer
from kgroup.protocol.error_codes import ErrorCode
from kgroup.wire.apis import APIS
from kgroup.wire.frames import BadRequestError, Call

_KEYS: Final = {api.name: key for key, api in APIS.items()}
_WITHOUT_COORDINATOR: Final = frozenset(
    {
        "Produce",
        "Fetch",
        "ListOffsets",
        "Metadata",
        "FindCoordinator",
        "ApiVersions",
        "CreateTopics",
        "DeleteTopics",
    }
)


class Which(TypedDict, total=False):
    """The requests a fault is for, besides their api: the next `times` (1; None: all) of this client, group
    and node, where one is named.
    """

    times: int | None
    client_id: str
    group: str
    node: int


@dataclass(slots=True, kw_only=True)
class Fault:
    """A treatment for requests that match; `hits` counts them. The rest is as in `Which`."""

    api: str
    action: Callable[[ClientConnection, Call], None]
    times: int | None = 1
    client_id: str | None = None
    group: str | None = None
    node: int | None = None
    hits: int = 0

    def matches(self, node_id: int, call: Call) -> bool:
        """Whether this fault applies to the request and has not been used up."""
        return (
            (self.times is None or self.hits < self.times)
            and call.api_key == _KEYS[self.api]
            and self.client_id in (None, call.client_id)
            and self.node in (None, node_id)
            and self.group in (None, getattr(call.body, "group_id", None))
        )


@dataclass(slots=True)
class Hold:
    """Requests held back until `release`."""

    waiting: list[tuple[ClientConnection, Call]] = field(default_factory=list)
    released: bool = False

    def release(self) -> None:
        """Let them through now, and those that come later, too."""
        self.released = True
        for connection, call in self.waiting:
            deliver(connection, call)
        self.waiting.clear()


class Faults:
    """The faults of one cluster; the first one that matches a request decides. Use from the server's loop."""

    def __init__(self, server: ClusterServer) -> None:
        self._server = server
        self._faults: list[Fault] = []

    def drop(self, api: str, **which: Unpack[Which]) -> Fault:
        """Break the connection instead of handling the request."""
        return self._add(api, lambda connection, call: connection.close(), which)

    def delay(self, api: str, seconds: float, **which: Unpack[Which]) -> Fault:
        """Handle the request later."""

        def later(connection: ClientConnection, call: Call) -> None:
            asyncio.get_running_loop().call_later(seconds, deliver, connection, call)

        return self._add(api, later, which)

    def hold(self, api: str, **which: Unpack[Which]) -> Hold:
        """Keep the request back until the hold is released."""
        hold = Hold()

        def keep(connection: ClientConnection, call: Call) -> None:
            if hold.released:
                deliver(connection, call)
            else:
                hold.waiting.append((connection, call))

        self._add(api, keep, which)
        return hold

    def refuse(self, api: str, error: ErrorCode, **which: Unpack[Which]) -> Fault:
        """Answer a request to a group's coordinator with an error. Raises InputError for other apis."""
        if api in _WITHOUT_COORDINATOR:
            raise InputError(f"refuse: {api} does not go to a group's coordinator")
        cluster = self._server.cluster

        def answer(connection: ClientConnection, call: Call) -> None:
            cluster.forced_error = error
            try:
                deliver(connection, call)
            finally:
                cluster.forced_error = None

        return self._add(api, answer, which)

    def clear(self) -> None:
        """Remove all faults."""
        self._faults.clear()
        self._server.intercept = None

    def _add(
        self,
        api: str,
        action: Callable[[ClientConnection, Call], None],
        which: Which,
    ) -> Fault:
        if api not in _KEYS:
            raise InputError(f"no api is called {api!r}; there are {', '.join(sorted(_KEYS))}")
        fault = Fault(api=api, action=action, **which)
        self._faults.append(fault)
        self._server.intercept = self._intercept
        return fault

    def _intercept(self, connection: ClientConnection, call: Call) -> bool:
        for fault in self._faults:
            if fault.matches(connection.server.node.node_id, call):
                fault.hits += 1
                fault.action(connection, call)
                return True
        return False


def deliver(connection: ClientConnection, call: Call) -> None:
    """Hand a request on to its node after all; its connection may be gone meanwhile."""
    try:
        connection.server.handle(call)
    except BadRequestError:
        connection.close()
