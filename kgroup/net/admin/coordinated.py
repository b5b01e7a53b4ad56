"""Requests to a group's coordinator, repeated if it has moved or is still loading."""

import time
from collections.abc import Callable, Collection
from typing import Any, Final

from kgroup.errors import SourceError
from kgroup.net.admin.cluster import Cluster, UnsupportedError, error_name
from kgroup.net.admin.pauses import MOVING
from kgroup.protocol.error_codes import ErrorCode

_MOVING: Final = frozenset({*MOVING, ErrorCode.REBALANCE_IN_PROGRESS})
"""What Kafka's AdminClient tries again (`AlterConsumerGroupOffsetsHandler` and its siblings)."""
_TRIES: Final = 14  # with the pauses some 20 seconds: what a fail-over takes
_FAULTS_MAX: Final = 3
_PAUSE_S: Final = 0.1
_PAUSE_MAX_S: Final = 2.0

Sleep = Callable[[float], None]
ErrorCodes = Callable[[Any], Collection[int]]


class CoordinatorError(SourceError):
    """A coordinator's refusal of a whole request. `code` is its error code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def ask_coordinator(
    cluster: Cluster,
    group: str,
    request: Callable[[], Any],
    error_codes: ErrorCodes,
    sleep: Sleep = time.sleep,
) -> Any:
    """The answer of the group's coordinator to a request of kafka-python's, whatever it is.

    `error_codes` gives those of an answer: one that says that the coordinator is elsewhere, or not ready, has
    it looked for again; so has a connection that breaks. Raises SourceError when none of the tries gets
    through, with what the last one said. The request must bear being made twice.
    """
    pause, faults = _PAUSE_S, 0
    last = SourceError(f"{cluster.name}: no coordinator for group {group!r}")
    for number in range(_TRIES):
        if number:
            sleep(pause)
            pause = min(pause * 2, _PAUSE_MAX_S)
        try:
            (coordinator,) = cluster.find_coordinators([group])
            if coordinator.node_id is None:
                last = CoordinatorError(
                    f"{cluster.name}: no coordinator for group {group!r}: {coordinator.error}",
                    _code(coordinator.error or ""),
                )
                if last.code not in _MOVING:
                    raise last
                continue
            answer = cluster.ask(request(), coordinator.node_id)
        except (UnsupportedError, CoordinatorError):
            raise
        except SourceError as error:
            last, faults = error, faults + 1
            if faults == _FAULTS_MAX:
                raise
            continue
        moving = sorted(set(error_codes(answer)) & _MOVING)
        if not moving:
            return answer
        last = CoordinatorError(
            f"{cluster.name}: no coordinator answers for group {group!r}: {error_name(moving[0])}",
            moving[0],
        )
    raise last


def _code(name: str) -> int:
    return ErrorCode[name] if name in ErrorCode.__members__ else ErrorCode.UNKNOWN_SERVER_ERROR


def refuse(cluster: Cluster, code: int, doing: str) -> None:
    """Raises CoordinatorError for an error code: `HOST:PORT: cannot DOING: GROUP_AUTHORIZATION_FAILED`."""
    if code:
        raise CoordinatorError(f"{cluster.name}: cannot {doing}: {error_name(code)}", code)
