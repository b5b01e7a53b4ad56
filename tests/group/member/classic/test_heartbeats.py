"""Heartbeats: when the next one is due, and since when the coordinator is silent."""

import pytest

from kgroup.group.member.classic.heartbeats import Heartbeats
from kgroup.group.member.identity import Identity
from kgroup.group.member.outbox import Outbox
from kgroup.group.member.settings import MemberSettings
from kgroup.protocol.requests.client import Node
from kgroup.protocol.requests.coordinator import Heartbeat

COORDINATOR = Node(node_id=1, host="127.0.0.1", port=9001)


@pytest.fixture
def outbox() -> Outbox:
    settings = MemberSettings(group_id="g", session_timeout_ms=10_000, heartbeat_interval_ms=3_000)
    return Outbox(settings, lambda: 0.5)


def test_joining_counts_as_a_heartbeat(outbox: Outbox) -> None:
    heartbeats = Heartbeats(outbox, Identity(generation=1, member_id="m"))
    heartbeats.begin(now_ms=500)
    assert (heartbeats.due_ms, heartbeats.session_end_ms) == (3_500, 10_500)


def test_the_next_one_is_due_after_the_last_was_sent_and_a_session_runs_from_the_last_answer(
    outbox: Outbox,
) -> None:
    heartbeats = Heartbeats(outbox, Identity(generation=1, member_id="m"))
    heartbeats.begin(now_ms=0)
    heartbeats.send("g", COORDINATOR, now_ms=3_100)
    assert (heartbeats.due_ms, heartbeats.session_end_ms) == (6_100, 10_000)
    heartbeats.ended()
    heartbeats.heard(now_ms=3_200)
    assert (heartbeats.request, heartbeats.due_ms, heartbeats.session_end_ms) == (None, 6_100, 13_200)


def test_each_says_the_generation_and_the_member_id_of_its_time(outbox: Outbox) -> None:
    identity = Identity(generation=1, member_id="m")
    heartbeats = Heartbeats(outbox, identity)
    heartbeats.send("g", COORDINATOR, now_ms=0)
    identity.generation = 2
    heartbeats.send("g", COORDINATOR, now_ms=3_000)
    identity.member_id = "n"
    heartbeats.send("g", COORDINATOR, now_ms=6_000)
    assert [send.body for send in outbox.turn.requests] == [
        Heartbeat(group_id="g", generation_id=generation, member_id=member_id, group_instance_id=None)
        for generation, member_id in ((1, "m"), (2, "m"), (2, "n"))
    ]


def test_the_answer_to_one_that_was_stopped_reaches_nobody(outbox: Outbox) -> None:
    heartbeats = Heartbeats(outbox, Identity(generation=1, member_id="m"))
    heartbeats.send("g", COORDINATOR, now_ms=0)
    request = heartbeats.request
    assert request is not None
    heartbeats.stop()
    assert heartbeats.request is None
    assert outbox.take(request) is None
