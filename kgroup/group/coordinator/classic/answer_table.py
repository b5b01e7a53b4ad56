"""A classic group's answers as data: the effect of each request or deadline in each state.

`ANSWERS` drives the code of classic groups, and `docs/coordinator.md` is printed from it; the moves between
the states are in `states.py`. A group that does not exist counts as Dead, which is how DescribeGroups shows
it. Source: GroupMetadataManager and ClassicGroup of Kafka 4.3.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from kgroup.group.coordinator.classic.states import GroupState
from kgroup.protocol.error_codes import ErrorCode

S = GroupState
E = ErrorCode


class Trigger(StrEnum):
    """A request to a group, or a deadline of it; its value is its row in `docs/coordinator.md`."""

    SEAT = "JoinGroup: the seats of `group.max.size`"
    JOIN = "JoinGroup of a new member"
    STATIC_RETURN = "JoinGroup of a static member without its member id"
    REJOIN = "JoinGroup of a follower, unchanged"
    LEADER_REJOIN = "JoinGroup of the leader, unchanged"
    CHANGED_REJOIN = "JoinGroup of a member with other protocols"
    SYNC = "SyncGroup of a follower"
    LEADER_SYNC = "SyncGroup of the leader"
    HEARTBEAT = "Heartbeat"
    LEAVE = "LeaveGroup of a member"
    LEAVE_PENDING = "LeaveGroup with an id that was only given out"
    LEFT = "the round after a LeaveGroup"
    COMMIT = "OffsetCommit of a member"
    OUTSIDE_COMMIT = "OffsetCommit without membership"
    TXN_COMMIT = "TxnOffsetCommit of a member"
    OUTSIDE_TXN_COMMIT = "TxnOffsetCommit without membership"
    OFFSET_DELETE = "OffsetDelete, of consumers"
    OTHERS_DELETE = "OffsetDelete, of another protocol type"
    DELETE = "DeleteGroups"
    DESCRIBE = "DescribeGroups"
    RETENTION = "offsets are checked for their retention"
    JOIN_DEADLINE = "the time to join is up"
    SYNC_DEADLINE = "the time to sync is up"
    SESSION_DEADLINE = "a session is over"
    PENDING_DEADLINE = "nobody came back with an id that was given out"


class Action(StrEnum):
    """A way to proceed; its value stands in the cells of `docs/coordinator.md`, explained by `MEANINGS`."""

    REFUSE = "refuse"
    NOTHING = "nothing"
    NOBODY = "–"
    FOUND = "found the group"
    START_ROUND = "start a round"
    WAIT = "wait in the round"
    END_IF_READY = "end the round if ready"
    END_IF_JOINED = "end the round if all joined"
    END_ROUND = "end the round"
    ANSWER_AGAIN = "answer again"
    TAKE_SEAT = "take the old seat"
    NO_LIMIT = "no limit"
    COUNT_JOINED = "those who joined"
    COUNT_MEMBERS = "all members"
    AWAIT_LEADER = "wait for the leader"
    ASSIGN = "assign"
    GIVE_SHARE = "its share"
    KEEP_SESSION = "keep the session"
    REMOVE = "remove"
    DROP_UNSYNCED = "drop and start a round"
    COMMIT = "commit"
    DELETE_UNREAD = "delete what nobody reads"
    DELETE = "delete"
    SHOW_ALL = "all"
    SHOW_MEMBERS = "without metadata"
    EXPIRE = "expire"
    EXPIRE_UNREAD = "expire what nobody reads"


A = Action
T = Trigger

MEANINGS: Final[Mapping[Action, str]] = {
    A.NOTHING: "nothing happens",
    A.NOBODY: "cannot happen: the group has no such member",
    A.FOUND: "the group is made and logged, and the JoinGroup goes on as in Empty",
    A.START_ROUND: "PreparingRebalance begins; a JoinGroup is parked",
    A.WAIT: "the JoinGroup is parked; then as 'end the round if ready'",
    A.END_IF_READY: "the generation is formed if all have joined and no initial delay is on",
    A.END_IF_JOINED: "the generation is formed if all have joined",
    A.END_ROUND: "the generation is formed of those who joined; newcomers extend an initial delay",
    A.ANSWER_AGAIN: "the last answer is repeated: it may have been lost",
    A.TAKE_SEAT: "the new id is logged and answered at once; if another protocol wins now, a round starts",
    A.NO_LIMIT: "the group is never full",
    A.COUNT_JOINED: "a member has a seat once it has joined this round; without one, GROUP_MAX_SIZE_REACHED",
    A.COUNT_MEMBERS: "every member has a seat; without one, GROUP_MAX_SIZE_REACHED",
    A.AWAIT_LEADER: "the SyncGroup is parked until the leader's arrives",
    A.ASSIGN: "the assignment is logged, the group becomes Stable, and every SyncGroup is answered",
    A.GIVE_SHARE: "the answer is the member's part of the assignment",
    A.KEEP_SESSION: "the session starts again",
    A.REMOVE: "the member is removed; its parked JoinGroup is answered with UNKNOWN_MEMBER_ID",
    A.DROP_UNSYNCED: "members that have not synced are removed, and a round starts",
    A.COMMIT: "the offsets are logged; outside transactions the member's session starts again",
    A.DELETE_UNREAD: "offsets are deleted, except for topics that members read: GROUP_SUBSCRIBED_TO_TOPIC",
    A.DELETE: "the group and all its offsets are deleted",
    A.SHOW_ALL: "state, protocol and members, with their metadata",
    A.SHOW_MEMBERS: "state and members; protocol and metadata are empty",
    A.EXPIRE: "offsets go when the group has been Empty for the retention time, the group with the last",
    A.EXPIRE_UNREAD: "in groups of consumers, offsets of topics that no member reads go by their age",
}


class Answer(NamedTuple):
    """The action, and the error in the answer."""

    action: Action
    error: ErrorCode = E.NONE


def _refused(error: ErrorCode) -> Answer:
    return Answer(A.REFUSE, error)


_UNKNOWN: Final = _refused(E.UNKNOWN_MEMBER_ID)
_NOT_FOUND: Final = _refused(E.GROUP_ID_NOT_FOUND)
_NOT_EMPTY: Final = _refused(E.NON_EMPTY_GROUP)
_REBALANCING: Final = _refused(E.REBALANCE_IN_PROGRESS)


_CALLED_BACK: Final = Answer(A.KEEP_SESSION, E.REBALANCE_IN_PROGRESS)
_ILLEGAL: Final = _refused(E.ILLEGAL_GENERATION)

# fmt: off
_ROWS: Final[Mapping[Trigger, tuple[Action | Answer, ...]]] = {
    #                      Empty            Preparing        Completing       Stable           Dead
    T.SEAT:               (A.NO_LIMIT,      A.COUNT_JOINED,  A.COUNT_MEMBERS, A.COUNT_MEMBERS, A.NO_LIMIT),
    T.JOIN:               (A.START_ROUND,   A.WAIT,          A.START_ROUND,   A.START_ROUND,   A.FOUND),
    T.STATIC_RETURN:      (A.NOBODY,        A.WAIT,          A.START_ROUND,   A.TAKE_SEAT,     A.NOBODY),
    T.REJOIN:             (_UNKNOWN,        A.WAIT,          A.ANSWER_AGAIN,  A.ANSWER_AGAIN,  _UNKNOWN),
    T.LEADER_REJOIN:      (_UNKNOWN,        A.WAIT,          A.ANSWER_AGAIN,  A.START_ROUND,   _UNKNOWN),
    T.CHANGED_REJOIN:     (_UNKNOWN,        A.WAIT,          A.START_ROUND,   A.START_ROUND,   _UNKNOWN),
    T.SYNC:               (_UNKNOWN,        _REBALANCING,    A.AWAIT_LEADER,  A.GIVE_SHARE,    _UNKNOWN),
    T.LEADER_SYNC:        (_UNKNOWN,        _REBALANCING,    A.ASSIGN,        A.GIVE_SHARE,    _UNKNOWN),
    T.HEARTBEAT:          (_UNKNOWN,        _CALLED_BACK,    A.KEEP_SESSION,  A.KEEP_SESSION,  _UNKNOWN),
    T.LEAVE:              (_UNKNOWN,        A.REMOVE,        A.REMOVE,        A.REMOVE,        _UNKNOWN),
    T.LEAVE_PENDING:      (A.REMOVE,        A.REMOVE,        A.REMOVE,        A.REMOVE,        _UNKNOWN),
    T.LEFT:               (A.NOTHING,       A.END_IF_READY,  A.START_ROUND,   A.START_ROUND,   A.NOTHING),
    T.COMMIT:             (_UNKNOWN,        A.COMMIT,        _REBALANCING,    A.COMMIT,        _NOT_FOUND),
    T.OUTSIDE_COMMIT:     (A.COMMIT,        _UNKNOWN,        _UNKNOWN,        _UNKNOWN,        A.COMMIT),
    T.TXN_COMMIT:         (_UNKNOWN,        A.COMMIT,        A.COMMIT,        A.COMMIT,        _ILLEGAL),
    T.OUTSIDE_TXN_COMMIT: (A.COMMIT,        A.COMMIT,        A.COMMIT,        A.COMMIT,        A.COMMIT),
    T.OFFSET_DELETE:      (A.DELETE_UNREAD, A.DELETE_UNREAD, A.DELETE_UNREAD, A.DELETE_UNREAD, _NOT_FOUND),
    T.OTHERS_DELETE:      (A.DELETE_UNREAD, _NOT_EMPTY,      _NOT_EMPTY,      _NOT_EMPTY,      _NOT_FOUND),
    T.DELETE:             (A.DELETE,        _NOT_EMPTY,      _NOT_EMPTY,      _NOT_EMPTY,      _NOT_FOUND),
    T.DESCRIBE:           (A.SHOW_MEMBERS,  A.SHOW_MEMBERS,  A.SHOW_MEMBERS,  A.SHOW_ALL,      _NOT_FOUND),
    T.RETENTION:          (A.EXPIRE,        A.NOTHING,       A.NOTHING,       A.EXPIRE_UNREAD, A.NOBODY),
    T.JOIN_DEADLINE:      (A.NOTHING,       A.END_ROUND,     A.NOTHING,       A.NOTHING,       A.NOTHING),
    T.SYNC_DEADLINE:      (A.NOTHING,       A.NOTHING,       A.DROP_UNSYNCED, A.DROP_UNSYNCED, A.NOTHING),
    T.SESSION_DEADLINE:   (A.NOTHING,       A.END_IF_JOINED, A.START_ROUND,   A.START_ROUND,   A.NOTHING),
    T.PENDING_DEADLINE:   (A.NOTHING,       A.END_IF_JOINED, A.NOTHING,       A.NOTHING,       A.NOTHING),
}
# fmt: on

ANSWERS: Final[Mapping[Trigger, Mapping[GroupState, Answer]]] = {
    trigger: {
        state: cell if isinstance(cell, Answer) else Answer(cell)
        for state, cell in zip(GroupState, row, strict=True)
    }
    for trigger, row in _ROWS.items()
}


class Check(StrEnum):
    """A check of the sender of a request; its value says what it refuses."""

    MEMBER = "UNKNOWN_MEMBER_ID; FENCED_INSTANCE_ID if the instance id belongs to another member id"
    GENERATION = "ILLEGAL_GENERATION"
    PROTOCOL = "INCONSISTENT_GROUP_PROTOCOL, if the request names another protocol or type"


# In Kafka's order, and only in states with members: in the others the table refuses.
CHECKS: Final[Mapping[Trigger, tuple[Check, ...]]] = {
    T.REJOIN: (Check.MEMBER,),
    T.LEADER_REJOIN: (Check.MEMBER,),
    T.CHANGED_REJOIN: (Check.MEMBER,),
    T.SYNC: (Check.MEMBER, Check.GENERATION, Check.PROTOCOL),
    T.LEADER_SYNC: (Check.MEMBER, Check.GENERATION, Check.PROTOCOL),
    T.HEARTBEAT: (Check.MEMBER, Check.GENERATION),
    T.LEAVE: (Check.MEMBER,),
    T.COMMIT: (Check.MEMBER, Check.GENERATION),
    T.TXN_COMMIT: (Check.MEMBER, Check.GENERATION),
}
