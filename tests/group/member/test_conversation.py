"""The recorded conversation of a Java consumer: the member says the same, field by field."""

import json
from pathlib import Path
from typing import Any

import pytest

from kgroup.group.member.classic.member import ClassicMember
from kgroup.group.member.outbox import COORDINATOR_CONNECTION
from kgroup.group.member.settings import MemberSettings, OffsetReset
from kgroup.group.member.step import Answered, MemberInput, MemberStep, Poll, Send, Subscribe
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.client import (
    CommittedOffset,
    Fetch,
    FindCoordinatorResponse,
    ListedOffset,
    ListOffsetsResponse,
    Metadata,
    MetadataResponse,
    Node,
    OffsetFetchResponse,
    PartitionMetadata,
    TopicMetadata,
)
from kgroup.protocol.requests.coordinator import (
    JoinGroup,
    JoinGroupResponse,
    JoinGroupResponseMember,
    SyncGroupResponse,
)
from kgroup.report.records.exchange_text import api_name, json_fields
from kgroup.wire.member_requests import api_of, write_request

RECORDED = Path(__file__).parents[3] / "fixtures" / "vectors" / "conversation.jsonl"
STEPS = [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]
TOPIC = "kafka-k8s-test"
NOT_LOGGED = {"FETCH": {"replica_id": -1, "forgotten_topics_data": [], "rack_id": ""}}
"""Fields that the recording leaves out; these are their defaults in Kafka's schema."""
NOT_ON_THIS_WIRE = " (sent from v8 on)"
NODES = tuple(Node(node_id=number, host=f"kafka-{number}", port=9092) for number in (1, 2, 3))


class Conversation:
    """Plays the brokers' side as it was recorded."""

    def __init__(self) -> None:
        settings = MemberSettings(
            group_id="group1", client_id="consumer-group1-1", auto_offset_reset=OffsetReset.EARLIEST
        )
        self.member = ClassicMember(settings, [Node(node_id=-1, host="any", port=9092)], lambda: 0.0)
        self.sent: list[Send] = []
        self.do(Subscribe(topics=(TOPIC,)))

    def do(self, event: MemberInput) -> MemberStep:
        step = self.member.handle(event, 0)
        self.sent.extend(step.requests)
        return step

    def next(self, api: str, partition: int | None = None) -> Send:
        """The next request of an api (to the leader of a partition); the recording left metadata out."""
        while True:
            send = self.sent.pop(0)
            if isinstance(send.body, Metadata):
                self.do(Answered(request_id=send.request_id, body=metadata()))
                self.do(Poll())
            elif api_name(api_of(send.body)) == api and partition in (None, send.connection_id - 1):
                return send

    def answer(self, send: Send, body: Any) -> None:
        self.do(Answered(request_id=send.request_id, body=body))
        self.do(Poll())


def metadata() -> MetadataResponse:
    """Partition n is led by node n + 1."""
    partitions = tuple(PartitionMetadata(partition=number, leader=number + 1) for number in range(3))
    return MetadataResponse(nodes=NODES, topics=(TopicMetadata(name=TOPIC, partitions=partitions),))


def fields(send: Send, recorded: dict[str, Any]) -> dict[str, Any]:
    """The request as its version writes it, decoded again: blobs in hex, in the recording's form."""
    written = write_request(send.body, recorded["version"])
    read_back = type(written).decode(bytes(written.encode()), version=recorded["version"])
    said = json_fields(read_back.to_dict(json=False))
    assert isinstance(said, dict)
    return {name: plain(value) for name, value in said.items()}


def plain(value: Any) -> Any:
    """Lists of structs as lists of their values, unless they have many: so the recording writes them."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return value if len(value) > 3 else [plain(each) for each in value.values()]
    return value


def check(send: Send, recorded: dict[str, Any]) -> None:
    """Every field of the request, and the reason, for which the recorded version has no field."""
    said = fields(send, recorded)
    wanted = dict(recorded["request"])
    reason = wanted.pop("reason", None)
    assert api_name(api_of(send.body)) == recorded["api"]
    assert said == wanted | NOT_LOGGED.get(recorded["api"], {})
    if isinstance(send.body, JoinGroup):
        # Kafka's log has the id behind it: AbstractCoordinator, MEMBER_ID_REQUIRED.
        with_id = f"{(reason or '').removesuffix(NOT_ON_THIS_WIRE)}: {send.body.member_id}"
        assert write_request(send.body, 8).reason == ("" if reason is None else with_id)
    if "timeout_ms" in recorded:
        assert send.timeout_ms == recorded["timeout_ms"]


@pytest.fixture(scope="module")
def said() -> list[Send]:
    """What the member sent where the recording has a request."""
    talk = Conversation()
    talk.do(Poll())
    find = talk.next("FIND_COORDINATOR")
    talk.answer(find, FindCoordinatorResponse(node=NODES[0]))
    first_join = talk.next("JOIN_GROUP")
    answer = STEPS[1]["response"]
    member_id = answer["member_id"]
    talk.answer(
        first_join, JoinGroupResponse(error_code=ErrorCode(answer["error_code"]), member_id=member_id)
    )
    second_join = talk.next("JOIN_GROUP")
    answer = STEPS[2]["response"]
    talk.answer(
        second_join,
        JoinGroupResponse(
            generation_id=answer["generation_id"],
            protocol_name=answer["protocol_name"],
            leader=answer["leader"],
            member_id=member_id,
            members=[
                JoinGroupResponseMember(
                    member_id=who, group_instance_id=instance, metadata=bytes.fromhex(blob)
                )
                for who, instance, blob in answer["members"]
            ],
        ),
    )
    sync = talk.next("SYNC_GROUP")
    talk.answer(sync, SyncGroupResponse(assignment=bytes.fromhex(STEPS[3]["response"]["assignment"])))
    offset_fetch = talk.next("OFFSET_FETCH")
    [(topic, offsets)] = STEPS[4]["response"]["topics"]
    committed = tuple(CommittedOffset(partition=(topic, each[0]), offset=each[1]) for each in offsets)
    talk.answer(offset_fetch, OffsetFetchResponse(offsets=committed))
    list_offsets = talk.next("LIST_OFFSETS", partition=1)
    [(topic, [listed])] = STEPS[5]["response"]["topics"]
    talk.answer(
        list_offsets,
        ListOffsetsResponse(offsets=(ListedOffset(partition=(topic, 1), offset=listed["offset"]),)),
    )
    fetch = talk.next("FETCH", partition=1)
    assert isinstance(fetch.body, Fetch)
    return [find, first_join, second_join, sync, offset_fetch, list_offsets, fetch]


@pytest.mark.parametrize("recorded", STEPS, ids=lambda recorded: f"{recorded['step']}-{recorded['api']}")
def test_the_request_is_as_recorded(said: list[Send], recorded: dict[str, Any]) -> None:
    check(said[recorded["step"] - 1], recorded)


def test_the_coordinator_has_a_connection_of_its_own(said: list[Send]) -> None:
    assert [send.connection_id for send in said[1:5]] == [COORDINATOR_CONNECTION - 1] * 4
    assert said[0].connection_id == -1
