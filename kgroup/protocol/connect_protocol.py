"""Subscriptions and assignments of Kafka Connect workers, in groups of protocol type `connect`.

Version 0 is the eager protocol; 1 (KIP-415) and 2 (KIP-507) also carry the worker's present assignment,
what it must give up and a delay. The texts are those of Connect's own `toString`, as its logs show them.
Source: `ConnectProtocol`, `IncrementalCooperativeConnectProtocol` and `ExtendedAssignment`, Kafka 2.3 to 4.3.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeVar

from kgroup.errors import DecodeError
from kgroup.protocol.payload import PREFIX_BYTES, Payload

CONFIG_MISMATCH: Final = 1
_LATEST_VERSION: Final = 2
_CONNECTOR_TASK: Final = -1  # a task number that stands for the connector itself
V = TypeVar("V")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorAssignment:
    """A connector and its tasks; task -1 is the connector itself."""

    connector: str
    tasks: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectAssignment:
    """The work a worker shall run, as of offset `config_offset` of the config topic; `delay` is ms.

    `error` is `CONFIG_MISMATCH` where the leader has read less of that topic than another worker: there is
    no work then, and all join again.
    Version 0 has no `revoked` and no `delay`. `assignment` is None only since version 1.
    """

    error: int
    leader: str
    leader_url: str
    config_offset: int
    assignment: tuple[ConnectorAssignment, ...] | None
    revoked: tuple[ConnectorAssignment, ...] | None = None
    delay: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectWorkerState:
    """A worker's address and how far it has read the config topic; `allocation` is a ConnectAssignment."""

    url: str
    config_offset: int
    allocation: bytes | None = None


_ASSIGNMENT = Payload(ConnectAssignment)
_WORKER_STATE = Payload(ConnectWorkerState)
# Since version 1 these may be missing at the end of the bytes, and then are as if these stood there.
_DEFAULTS: Final = {
    "ConnectWorkerState.allocation": b"\xff\xff\xff\xff",
    "ConnectAssignment.assignment": b"\xff\xff\xff\xff",
    "ConnectAssignment.revoked": b"\xff\xff\xff\xff",
    "ConnectAssignment.delay": b"\x00\x00\x00\x00",
}
_NO_ASSIGNMENT: Final = (
    "Assignment{error=0, leader='null', leaderUrl='null', offset=-1, connectorIds=[], taskIds=[], "
    "revokedConnectorIds=[], revokedTaskIds=[], delay=0}"
)


def decode_worker_state(data: bytes) -> ConnectWorkerState:
    """A worker's subscription. Raises DecodeError."""
    return _decode(_WORKER_STATE, data, connect_version(data))


def decode_connect_assignment(data: bytes) -> ConnectAssignment:
    """A worker's assignment. Raises DecodeError."""
    return _decode(_ASSIGNMENT, data, connect_version(data))


def worker_state_text(data: bytes) -> str:
    """A worker's subscription as `WorkerState{url='…', offset=…}`. Raises DecodeError."""
    version = connect_version(data)
    state = decode_worker_state(data)
    front = f"WorkerState{{url='{state.url}', offset={state.config_offset}"
    if version == 0:
        return front + "}"
    if state.allocation is None:
        return f"{front}, {_NO_ASSIGNMENT}}}"
    # The allocation has a version of its own, but only workers of version 1 and later write one.
    connect_version(state.allocation)
    return f"{front}, {_assignment_text(_decode(_ASSIGNMENT, state.allocation, 1), 1)}}}"


def assignment_text(data: bytes) -> str:
    """A worker's assignment as `Assignment{error=0, leader='…', …}`. Raises DecodeError."""
    return _assignment_text(decode_connect_assignment(data), connect_version(data))


def connect_version(data: bytes) -> int:
    """The int16 in front. Raises DecodeError if there is none or it is below 0."""
    if len(data) < PREFIX_BYTES:
        raise DecodeError("version", at=0, why=f"needs {PREFIX_BYTES} bytes and there are {len(data)}")
    version = int.from_bytes(data[:PREFIX_BYTES], signed=True)
    if version < 0:
        raise DecodeError("version", at=0, why=f"unsupported version {version}")
    return version


def _decode(payload: Payload[V], data: bytes, version: int) -> V:
    readable_version = min(version, _LATEST_VERSION)
    while True:  # each turn adds a field that was missing, or ends
        try:
            return payload.decode(data, readable_version).value
        except DecodeError as error:
            if readable_version == 0 or error.at != len(data) or error.field not in _DEFAULTS:
                raise
            data += _DEFAULTS[error.field]


def _assignment_text(assignment: ConnectAssignment, version: int) -> str:
    text = (
        f"Assignment{{error={assignment.error}, leader='{assignment.leader}', "
        f"leaderUrl='{assignment.leader_url}', offset={assignment.config_offset}, "
        f"connectorIds={_connectors(assignment.assignment)}, taskIds={_tasks(assignment.assignment)}"
    )
    if version == 0:
        return text + "}"
    return (
        f"{text}, revokedConnectorIds={_connectors(assignment.revoked)}, "
        f"revokedTaskIds={_tasks(assignment.revoked)}, delay={assignment.delay}}}"
    )


def _connectors(assigned: Iterable[ConnectorAssignment] | None) -> str:
    return _list(each.connector for each in assigned or () for task in each.tasks if task == _CONNECTOR_TASK)


def _tasks(assigned: Iterable[ConnectorAssignment] | None) -> str:
    return _list(
        f"{each.connector}-{task}"
        for each in assigned or ()
        for task in each.tasks
        if task != _CONNECTOR_TASK
    )


def _list(names: Iterable[str]) -> str:
    return f"[{', '.join(names)}]"
