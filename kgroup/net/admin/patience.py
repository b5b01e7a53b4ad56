"""Requests to a broker that takes none just now: it throttles the client (KIP-219), or rests after a fault.

kafka-python fails such a request at once and without having sent it, so it can be made again.
"""

import time
from typing import Any, Final

from kafka.errors import NodeNotReadyError

_THROTTLED_S: Final = 60.0
"""As Kafka's default.api.timeout.ms. A quota of requests throttles for a second at a time, one of bytes for
some ten."""
_RESTING_S: Final = 1.0
"""After a first fault a connection rests for a moment; one that rests longer has failed again and again."""
_PAUSE_S: Final = 0.05


async def send_when_ready(manager: Any, request: Any, node_id: int | None) -> Any:
    """The answer to a request of kafka-python's, sent as soon as the broker, by default any, takes it.

    Raises NodeNotReadyError, which says why, if it takes none for long; else what the manager's `send` does.
    """
    begun_s = time.monotonic()
    while True:
        try:
            return await manager.send(request, node_id=node_id)
        except NodeNotReadyError as error:
            is_throttled = _is_throttled(manager, node_id)
            patience_s = _THROTTLED_S if is_throttled else _RESTING_S
            if time.monotonic() - begun_s >= patience_s:
                who = "no broker takes a request" if node_id is None else f"broker {node_id} takes no request"
                why = "a quota throttles this client" if is_throttled else "connecting has failed"
                raise NodeNotReadyError(f"{who} for {patience_s:g} s: {why}") from error
            await manager._net.sleep(_PAUSE_S)


def _is_throttled(manager: Any, node_id: int | None) -> bool:
    """Whether a connection to the broker, or to any, is up, and takes no request."""
    if node_id is None:
        return any(connection.paused for connection in manager._conns.values())
    connection = manager._conns.get(node_id)
    return connection is not None and bool(connection.paused)
