"""Requests to a broker that takes none just now: it throttles the client (KIP-219), or rests after a fault.

kafka-python fails such a request at once and without having sent it, so it can be made again.
"""

import time
from typing import Any, Final

from kafka.errors import NodeNotReadyError

_PATIENCE_S: Final = 60.0
"""As Kafka's default.api.timeout.ms. A quota of requests throttles for a second at a time, one of bytes for
some ten; a rest after a fault is over sooner."""
_PAUSE_S: Final = 0.05


async def send_when_ready(manager: Any, request: Any, node_id: int | None) -> Any:
    """The answer to a request of kafka-python's, sent as soon as the broker, by default any, takes it.

    Raises NodeNotReadyError, which says what it may be, if it takes none for a minute; else what the
    manager's `send` does.
    """
    until_s = time.monotonic() + _PATIENCE_S
    while True:
        try:
            return await manager.send(request, node_id=node_id)
        except NodeNotReadyError as error:
            if time.monotonic() >= until_s:
                silent = f"broker {node_id} takes no request"
                nobody = "no broker takes a request" if node_id is None else silent
                raise NodeNotReadyError(
                    f"{nobody} for {_PATIENCE_S:g} s: is this client throttled by a quota?"
                ) from error
            await manager._net.sleep(_PAUSE_S)
