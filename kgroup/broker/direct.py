"""A member's group requests as values, for members in the same process: no frames, the same rules.

What the wire would bring is what the newest versions say, as between `client_wire.py` and a node of today.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from kgroup.broker.coordination import ask_coordinator
from kgroup.broker.offset_apis import commit_known
from kgroup.broker.wire import Call
from kgroup.group.requests import Heartbeat, JoinGroup, LeaveGroup, OffsetCommit, ReplyBody, SyncGroup

if TYPE_CHECKING:
    from kgroup.broker.node import BrokerNode

GroupRequest = JoinGroup | SyncGroup | Heartbeat | LeaveGroup | OffsetCommit


def ask(
    node: "BrokerNode", call: Call, body: GroupRequest, now_ms: int, answer: Callable[[ReplyBody], None]
) -> None:
    """Hand a request to its coordinator on this node; `answer` is called when the flush brings its answer.

    Of `call` only the client's id and host count.
    """
    match body:
        case JoinGroup():
            body = replace(body, needs_known_id=True, can_skip_assignment=True)
        case OffsetCommit():
            told = replace(body, knows_group_not_found=True)
            commit_known(node, call, told, body.topics, False, now_ms, answer)
            return
        case SyncGroup() | Heartbeat() | LeaveGroup():
            pass
    ask_coordinator(node, call, body.group_id, body, now_ms, answer)
