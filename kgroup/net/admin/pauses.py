"""How often, and for how long, coordinators that move or load are asked again."""

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


class Pauses:
    """Turns to ask in, with ever longer pauses between them; each says whether it is the last one.

    There is no further turn once `timeout_ms` have gone by. `pause` waits some seconds.
    """

    def __init__(self, timeout_ms: int, pause: Callable[[float], None] | None = None) -> None:
        self._until_s = time.monotonic() + timeout_ms / 1000
        self._pause = time.sleep if pause is None else pause

    def __iter__(self) -> Iterator[bool]:
        pause_s, is_last = _FIRST_S, False
        while not is_last:
            is_last = time.monotonic() + pause_s >= self._until_s
            yield is_last
            self._pause(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_S)
