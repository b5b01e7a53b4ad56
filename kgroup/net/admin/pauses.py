"""Number and length of pauses when retrying coordinators that move or load."""

import time
from collections.abc import Callable, Iterator
from typing import Final

from kgroup.protocol.error_codes import ErrorCode

MOVING: Final = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)
"""What a coordinator says that is moving, or that has moved: ask again, perhaps another one."""

_FIRST_S: Final = 0.05
_LONGEST_S: Final = 1.0


def turns(timeout_ms: int, pause: Callable[[float], None] | None = None) -> Iterator[None]:
    """Turns to ask in, one at least, with ever longer pauses between them.

    There is no further turn once `timeout_ms` have gone by, or would by the end of the pause. `pause`
    waits some seconds.
    """
    until_s, pause_s = time.monotonic() + timeout_ms / 1000, _FIRST_S
    while True:
        yield
        if time.monotonic() + pause_s >= until_s:
            return
        (time.sleep if pause is None else pause)(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_S)
