"""A member of a group of the consumer protocol (KIP-848), which joins and then says nothing more."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import kgroup.testing
from kgroup.wire.consumer_group_messages import ConsumerGroupHeartbeatRequest
from tests.net.wire_client import WireClient

MEMBER_ID: Final = "AAAAAAAAAAAAAAAAAAAAAQ"


@contextmanager
def modern_member(kafka: kgroup.testing.Cluster, group: str) -> Iterator[None]:
    """While this is open, the member has joined."""
    host, _, port = kafka.bootstrap.rpartition(":")
    with WireClient((host, int(port)), client_id="new-1") as client:
        heartbeat = ConsumerGroupHeartbeatRequest(
            version=1,
            group_id=group,
            member_id=MEMBER_ID,
            member_epoch=0,
            rebalance_timeout_ms=60_000,
            subscribed_topic_names=["orders"],
            topic_partitions=[],
        )
        answer = client.ask(heartbeat)
        assert answer.error_code == 0, answer
        yield
