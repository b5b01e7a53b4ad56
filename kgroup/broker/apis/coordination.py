"""A group's request to its coordinator on this node, or the refusal that Kafka would give."""

from collections.abc import Callable

from kgroup.broker.node import BrokerNode
from kgroup.group.coordinator.coordinator import precheck
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.coordinator import Heartbeat, ReplyBody, RequestBody, SyncGroup, refusal
from kgroup.wire.frames import Call

E = ErrorCode


def ask_coordinator(
    node: BrokerNode,
    call: Call,
    group_id: str,
    body: RequestBody,
    now_ms: int,
    answer: Callable[[ReplyBody], None],
) -> None:
    """Send a request to its coordinator, or refuse it as Kafka would."""
    error = precheck(body, node.cluster.settings.group)
    if error:
        answer(refusal(body, error))
        return
    hosted = node.cluster.coordinator(group_id, node.node_id, now_ms)
    if isinstance(hosted, ErrorCode):
        answer(refusal(body, _while_loading(body, hosted)))
        return
    node.cluster.coordinators.submit(
        hosted,
        body,
        now_ms,
        (call.client_id, call.client_host),
        lambda reply: node.answer_later(call, lambda: answer(reply)),
    )


def _while_loading(body: RequestBody, error: ErrorCode) -> ErrorCode:
    """The answers to members while their coordinator loads, so that they keep calm and come back."""
    if error is not E.COORDINATOR_LOAD_IN_PROGRESS:
        return error
    match body:
        case Heartbeat():
            return E.NONE
        case SyncGroup():
            return E.REBALANCE_IN_PROGRESS  # the round is lost: join again
        case _:
            return error
