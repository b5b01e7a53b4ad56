"""Bytes that are no request, and answers that a client's own codec reads back."""

from collections import Counter
from enum import Enum, auto
from itertools import count

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from kafka.protocol.consumer.group import HeartbeatRequest, JoinGroupRequest, SyncGroupRequest
from kafka.protocol.metadata import ApiVersionsRequest

from kgroup.broker.dispatch import handle
from kgroup.wire.apis import APIS
from kgroup.wire.frames import BadRequestError, read_call
from tests.broker.world import BrokerWorld

WORLD = BrokerWorld()
TOKENS = count(1)


def frame_of(request: HeartbeatRequest | SyncGroupRequest) -> bytes:
    request.with_header(7, "tester")
    return bytes(request.encode(header=True))


HEARTBEAT = frame_of(HeartbeatRequest(version=4, group_id="g", generation_id=1, member_id="m"))


@pytest.mark.parametrize("cut", range(len(HEARTBEAT)))
def test_a_request_cut_short_anywhere_is_refused(cut: int) -> None:
    with pytest.raises(BadRequestError):
        read_call(HEARTBEAT[:cut], 1, "/", APIS)


@pytest.mark.parametrize("tags", ["00", "01 0501aa", "02 0001aa 0502bbcc", "03 0000 0100 0203aabbcc"])
def test_tagged_fields_of_a_header_are_passed_over(tags: str) -> None:
    """KIP-482: tags that a broker does not know are no reason not to serve a client."""
    behind_the_client_id = 10 + len("tester")
    assert HEARTBEAT[behind_the_client_id] == 0
    frame = HEARTBEAT[:behind_the_client_id] + bytes.fromhex(tags) + HEARTBEAT[behind_the_client_id + 1 :]
    body = read_call(frame, 1, "/", APIS).body
    assert (body.group_id, body.generation_id, body.member_id) == ("g", 1, "m")


class Outcome(Enum):
    REFUSED = auto()
    WAITING = auto()
    """Read as a request, and not answered yet."""
    ANSWERED = auto()


def outcome(frame: bytes) -> Outcome:
    """Of a frame that is sent to the node; anything but a refusal or an answer breaks the test."""
    node = WORLD.nodes[1]
    token = next(TOKENS)
    try:
        handle(node, node.read(frame, token, "/127.0.0.1"), WORLD.now_ms)
    except BadRequestError:
        return Outcome.REFUSED
    finally:
        WORLD.cluster.coordinators.flush()
        answered = {answer.token for answer in node.take_answers()}
    return Outcome.ANSWERED if token in answered else Outcome.WAITING


def test_noise_is_refused_or_answered_and_breaks_nothing() -> None:
    outcomes: Counter[Outcome] = Counter()

    @given(
        frame=st.binary(max_size=200)
        | st.builds(
            lambda key, rest: key.to_bytes(2, "big") + rest,
            st.sampled_from(sorted(APIS)),
            st.binary(max_size=80),
        )
    )
    @example(HEARTBEAT)
    @settings(max_examples=1500)
    def send(frame: bytes) -> None:
        outcomes[outcome(frame)] += 1

    send()
    assert outcomes[Outcome.REFUSED] > 1000
    assert outcomes[Outcome.ANSWERED] > 0, outcomes


def test_a_request_with_a_flipped_byte_is_refused_or_answered() -> None:
    outcomes: Counter[Outcome] = Counter()

    @given(data=st.data())
    @settings(max_examples=1500)
    def send(data: st.DataObject) -> None:
        outcomes[outcome(flipped_join(data))] += 1

    send()
    assert outcomes[Outcome.REFUSED] > 100
    assert outcomes[Outcome.ANSWERED] > 100, outcomes


def flipped_join(data: st.DataObject) -> bytes:
    join = JoinGroupRequest(
        version=data.draw(st.integers(0, 9)),
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id="",
        protocol_type="consumer",
        protocols=[
            JoinGroupRequest.JoinGroupRequestProtocol(
                version=5, name="range", metadata=b"\0\0\0\0\0\0\0\0\0\0"
            )
        ],
    )
    frame = bytearray(frame_of(join))
    frame[data.draw(st.integers(0, len(frame) - 1))] ^= data.draw(st.integers(1, 255))
    return bytes(frame)


def test_api_versions_says_what_is_spoken_and_nothing_of_share_and_streams_groups() -> None:
    answer = WORLD.ask(ApiVersionsRequest(version=3, client_software_name="t", client_software_version="1"))
    ranges = {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}
    assert ranges[11] == (0, 9)
    assert ranges[8] == (2, 10)
    assert ranges[68] == ranges[69] == (0, 1)
    assert not ranges.keys() & {76, 77, 88, 89}


def test_a_newer_api_versions_is_answered_in_version_0_with_its_own_range() -> None:
    node = WORLD.nodes[1]
    frame = b"\x00\x12\x00\x63\x00\x00\x00\x07\x00\x03cid\x00\x01\x01\x00"
    handle(node, node.read(frame, 9, "/"), WORLD.now_ms)
    [answer] = node.take_answers()
    # correlation id 7, UNSUPPORTED_VERSION, one range: api 18 in versions 0 to 4
    assert answer.frame == bytes.fromhex("00000010 00000007 0023 00000001 0012 0000 0004")


def test_a_client_id_that_is_no_utf_8_is_read_as_java_reads_it() -> None:
    frame = HEARTBEAT.replace(b"tester", b"test\xffr")
    assert read_call(frame, 1, "/", APIS).client_id == "test\N{REPLACEMENT CHARACTER}r"


SYNC = SyncGroupRequest.SyncGroupRequestAssignment(
    version=3, member_id="m", assignment=b"share of the member"
)
SYNC_FRAME = frame_of(
    SyncGroupRequest(version=3, group_id="g", generation_id=1, member_id="m", assignments=[SYNC])
)


@pytest.mark.parametrize("missing", range(1, 24))
def test_bytes_that_end_early_are_refused_however_few_are_missing(missing: int) -> None:
    assert read_call(SYNC_FRAME, 1, "/", APIS).body.assignments[0].assignment == b"share of the member"
    with pytest.raises(BadRequestError):
        read_call(SYNC_FRAME[:-missing], 1, "/", APIS)
