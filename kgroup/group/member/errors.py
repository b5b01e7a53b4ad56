"""A member's reaction to each error in each answer, as tables.

Source: AbstractCoordinator, ConsumerCoordinator, AbstractHeartbeatRequestManager, CommitRequestManager,
OffsetFetcherUtils and FetchCollector of Kafka 4.3.1. An
error that a table does not name is `FATAL` there, as Kafka's consumer throws for it.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from kgroup.protocol.error_codes import ErrorCode as E


class Reaction(StrEnum):
    """The consequence of an answer.

    RETRY: again after a back-off. FIND: the coordinator is another one; find it, then again. REJOIN: join
    again and keep the member id. ANEW: the group no longer knows this member; all it owned is lost, it joins
    without an id. STALE: the generation is over, what was owned is lost, it joins with its id. TAKE_ID: join
    again at once with the id in the answer (KIP-394). REFRESH: fetch metadata, then again. RESET: position by
    auto.offset.reset. NEW_SESSION: the fetch session is gone. GIVE_UP: this one call failed, nothing else.
    """

    PROCEED = "proceed"
    RETRY = "retry"
    FIND = "find"
    REJOIN = "rejoin"
    ANEW = "anew"
    STALE = "stale"
    TAKE_ID = "take-id"
    REFRESH = "refresh"
    RESET = "reset"
    NEW_SESSION = "new-session"
    GIVE_UP = "give-up"
    FATAL = "fatal"


R = Reaction
_COORDINATOR_GONE: Final = {E.COORDINATOR_NOT_AVAILABLE: R.FIND, E.NOT_COORDINATOR: R.FIND}
_LEADER_GONE: Final = {
    E.NOT_LEADER_OR_FOLLOWER: R.REFRESH,
    E.REPLICA_NOT_AVAILABLE: R.REFRESH,
    E.LEADER_NOT_AVAILABLE: R.REFRESH,
    E.KAFKA_STORAGE_ERROR: R.REFRESH,
    E.OFFSET_NOT_AVAILABLE: R.REFRESH,
    E.FENCED_LEADER_EPOCH: R.REFRESH,
    E.UNKNOWN_LEADER_EPOCH: R.REFRESH,
    E.UNKNOWN_TOPIC_OR_PARTITION: R.REFRESH,
    E.UNKNOWN_TOPIC_ID: R.REFRESH,
}

FIND_COORDINATOR: Final[Mapping[E, Reaction]] = {
    E.NONE: R.PROCEED,
    E.COORDINATOR_NOT_AVAILABLE: R.RETRY,
    E.COORDINATOR_LOAD_IN_PROGRESS: R.RETRY,
    E.REQUEST_TIMED_OUT: R.RETRY,
}
JOIN_GROUP: Final[Mapping[E, Reaction]] = _COORDINATOR_GONE | {
    E.NONE: R.PROCEED,
    E.COORDINATOR_LOAD_IN_PROGRESS: R.RETRY,
    E.REBALANCE_IN_PROGRESS: R.RETRY,
    E.UNKNOWN_MEMBER_ID: R.ANEW,
    E.ILLEGAL_GENERATION: R.ANEW,
    E.MEMBER_ID_REQUIRED: R.TAKE_ID,
}
SYNC_GROUP: Final[Mapping[E, Reaction]] = _COORDINATOR_GONE | {
    E.NONE: R.PROCEED,
    E.COORDINATOR_LOAD_IN_PROGRESS: R.REJOIN,
    E.REBALANCE_IN_PROGRESS: R.REJOIN,
    E.UNKNOWN_MEMBER_ID: R.ANEW,
    E.ILLEGAL_GENERATION: R.STALE,
}
HEARTBEAT: Final[Mapping[E, Reaction]] = _COORDINATOR_GONE | {
    E.NONE: R.PROCEED,
    E.COORDINATOR_LOAD_IN_PROGRESS: R.RETRY,
    E.REBALANCE_IN_PROGRESS: R.REJOIN,
    E.UNKNOWN_MEMBER_ID: R.ANEW,
    E.ILLEGAL_GENERATION: R.STALE,
}
CONSUMER_HEARTBEAT: Final[Mapping[E, Reaction]] = _COORDINATOR_GONE | {
    E.NONE: R.PROCEED,
    E.COORDINATOR_LOAD_IN_PROGRESS: R.RETRY,
    E.FENCED_MEMBER_EPOCH: R.STALE,
    E.UNKNOWN_MEMBER_ID: R.STALE,
}
OFFSET_COMMIT: Final[Mapping[E, Reaction]] = _COORDINATOR_GONE | {
    E.NONE: R.PROCEED,
    E.REQUEST_TIMED_OUT: R.FIND,
    E.COORDINATOR_LOAD_IN_PROGRESS: R.RETRY,
    E.UNKNOWN_TOPIC_OR_PARTITION: R.RETRY,
    E.OFFSET_METADATA_TOO_LARGE: R.GIVE_UP,
    E.INVALID_COMMIT_OFFSET_SIZE: R.GIVE_UP,
    E.TOPIC_AUTHORIZATION_FAILED: R.GIVE_UP,
    E.UNKNOWN_SERVER_ERROR: R.GIVE_UP,
    E.REBALANCE_IN_PROGRESS: R.REJOIN,
    E.UNKNOWN_MEMBER_ID: R.ANEW,
    E.ILLEGAL_GENERATION: R.STALE,
    E.STALE_MEMBER_EPOCH: R.RETRY,  # of the consumer protocol: a heartbeat will bring the epoch of now
}
OFFSET_FETCH: Final[Mapping[E, Reaction]] = _COORDINATOR_GONE | {
    E.NONE: R.PROCEED,
    E.COORDINATOR_LOAD_IN_PROGRESS: R.RETRY,
    E.UNSTABLE_OFFSET_COMMIT: R.RETRY,
    E.STALE_MEMBER_EPOCH: R.RETRY,  # as for commits
    E.UNKNOWN_MEMBER_ID: R.RETRY,  # a heartbeat will bring the same, and take the partitions away
}
LIST_OFFSETS: Final[Mapping[E, Reaction]] = _LEADER_GONE | {E.NONE: R.PROCEED, E.REQUEST_TIMED_OUT: R.REFRESH}
FETCH: Final[Mapping[E, Reaction]] = _LEADER_GONE | {
    E.NONE: R.PROCEED,
    E.OFFSET_OUT_OF_RANGE: R.RESET,
    E.UNKNOWN_SERVER_ERROR: R.REFRESH,
    E.FETCH_SESSION_ID_NOT_FOUND: R.NEW_SESSION,
    E.INVALID_FETCH_SESSION_EPOCH: R.NEW_SESSION,
    E.FETCH_SESSION_TOPIC_ID_ERROR: R.NEW_SESSION,
}


def reaction(table: Mapping[E, Reaction], error_code: E) -> Reaction:
    """The reaction to an error; FATAL for one that is not in the table."""
    return table.get(error_code, R.FATAL)
