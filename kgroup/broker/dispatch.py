"""Sends a request to the handler of its API, through that API's guard if there is an authorizer."""

from collections.abc import Callable
from typing import Final

from kgroup.broker.apis import cluster_apis as admin_apis
from kgroup.broker.apis import (
    consumer_group_apis,
    data_apis,
    group_apis,
    log_offset_apis,
    offset_apis,
    transaction_apis,
)
from kgroup.broker.guards import (
    cluster_guards,
    consumer_group_guards,
    group_guards,
    offset_guards,
    record_guards,
    transaction_guards,
)
from kgroup.broker.guards.rights import Guard, Rights
from kgroup.broker.node import BrokerNode
from kgroup.wire.apis import APIS
from kgroup.wire.frames import Call

Handler = Callable[[BrokerNode, Call, int], None]

_HANDLERS: Final[dict[int, Handler]] = {
    **group_apis.HANDLERS,
    **consumer_group_apis.HANDLERS,
    **offset_apis.HANDLERS,
    **data_apis.HANDLERS,
    **log_offset_apis.HANDLERS,
    **transaction_apis.HANDLERS,
    **admin_apis.HANDLERS,
}
_GUARDS: Final[dict[int, Guard]] = {
    **group_guards.GUARDS,
    **consumer_group_guards.GUARDS,
    **offset_guards.GUARDS,
    **record_guards.GUARDS,
    **transaction_guards.GUARDS,
    **cluster_guards.GUARDS,
}
assert set(_GUARDS) == set(APIS), "an api that asks for no rights and does not say so"
assert set(_HANDLERS) == set(APIS), "an api without a handler, or the other way round"


def handle(node: BrokerNode, call: Call, now_ms: int) -> None:
    """Answer a request, or let it wait. Raises BadRequestError if its connection has to close."""
    if call.body is None:
        node.answer(call, admin_apis.unsupported_api_versions())
        return
    authorizer = node.cluster.authorizer
    if authorizer is not None:
        guarded = _GUARDS[call.api_key](Rights(node=node, call=call, authorizer=authorizer))
        if guarded is None:
            return
        call = guarded
    _HANDLERS[call.api_key](node, call, now_ms)
