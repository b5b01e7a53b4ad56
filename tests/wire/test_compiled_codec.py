"""The compiled codec is kafka-python's, byte for byte: what it reads, what it refuses, what it writes."""

import random
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.protocol.schemas.fields.codecs import EncodeBufferPool

from kgroup.protocol.requests.coordinator import FetchedOffset
from kgroup.wire.apis import APIS, HEARTBEAT, OFFSET_COMMIT, OFFSET_FETCH
from kgroup.wire.frames import CODEC_ERRORS, Api, BadRequestError, read_call
from kgroup.wire.request_decoder import compile_decoder
from tests.fuzz.wire import FuzzedCluster, RequestMaker, damaged

COMPILED = [
    pytest.param(each, version, id=f"{each.name} v{version}")
    for each in APIS.values()
    if each.rows is not None
    for version in range(each.lowest, each.highest + 1)
]
START = 10  # of the body, behind a header without a client id


def by_kafka_python(each: Api) -> Api:
    """The same api, all of it left to kafka-python."""
    return Api(each.request, each.response, each.lowest, each.highest)


def plain(struct: Any, fields: Any, version: int) -> dict[str, Any]:
    """A request as dictionaries, whatever its structs are."""
    values = {}
    for name, field in fields.items():
        if not field.for_version_q(version):
            continue
        value = getattr(struct, name)
        if field.is_struct_array() and value is not None:
            value = [plain(item, field.fields, version) for item in value]
        values[name] = value
    return values


def read(each: Api, frame: bytes, version: int) -> dict[str, Any] | str:
    """What a request says, or why it is refused."""
    try:
        body = read_call(frame, 1, "/", {each.key: each}).body
    except BadRequestError as error:
        return str(error)
    return plain(body, each.request._struct.fields, version)


def make(seed: int, wildness: float) -> RequestMaker:
    maker = RequestMaker(random.Random(seed), FuzzedCluster(random.Random(seed)))
    maker._wildness = wildness
    return maker


def requests(each: Api, version: int) -> list[bytes]:
    return [make(seed, (0.0, 0.0, 0.1)[seed % 3])._encoded(each, version) for seed in range(40)]


@pytest.mark.parametrize(("each", "version"), COMPILED)
def test_requests_say_the_same_to_both(each: Api, version: int) -> None:
    reference = by_kafka_python(each)
    for frame in requests(each, version):
        assert read(each, frame, version) == read(reference, frame, version), frame.hex()


@pytest.mark.parametrize(("each", "version"), COMPILED)
def test_damaged_requests_say_the_same_to_both_or_are_refused_for_the_same_reason(
    each: Api, version: int
) -> None:
    reference = by_kafka_python(each)
    rng = random.Random(version)
    refused = 0
    for frame in requests(each, version):
        mangled = [damaged(rng, frame) for _ in range(10)]
        mangled += [frame[:cut] for cut in range(START, len(frame), max(len(frame) // 20, 1))]
        for bad in mangled:
            if bad[:4] == frame[:4]:  # the same api and version
                outcome = read(each, bad, version)
                assert outcome == read(reference, bad, version), bad.hex()
                refused += isinstance(outcome, str)
    assert refused > 20


@pytest.mark.parametrize(("each", "version"), COMPILED)
def test_most_requests_need_no_kafka_python(each: Api, version: int) -> None:
    decode = compile_decoder(each.request, version, each.is_flexible(version), each.rows or {})
    request = each.request(version=version)
    maker = make(7, 0.0)
    maker._fill(request, each.request._struct.fields, version)
    body = bytes(request.encode(header=False, framed=False))
    assert decode(body, 0) is not None
    with pytest.raises(CODEC_ERRORS):
        decode(body[:-1], 0)


# ---- responses --------------------------------------------------------------------------------


def tuples(each: Api, struct: Any, fields: Any, version: int) -> Any:
    """A response of kafka-python's with our tuples in it."""
    values = {}
    for name, field in fields.items():
        value = getattr(struct, name)
        if field.is_struct_array() and value is not None and field.for_version_q(version):
            row = (each.rows or {}).get(field.type_str)
            value = [
                tuples(each, item, field.fields, version)
                if row is None
                else row(*(getattr(item, column) for column in row._fields))
                for item in value
            ]
        values[name] = value
    return SimpleNamespace(**values)


def kafka_pythons(each: Api, response: Any, version: int) -> bytes:
    flexible = each.is_flexible(version)
    encode = each.response._struct.compiled_encode_into(version, compact=flexible, tagged=flexible)
    with EncodeBufferPool.acquire() as out:
        encode(response, out)
        return bytes(out.result())


@pytest.mark.parametrize(("each", "version"), COMPILED)
def test_responses_are_the_same_bytes(each: Api, version: int) -> None:
    header = b"\0\0\0\x07" + (b"\0" if each.is_flexible(version) else b"")
    for seed in range(60):
        response = each.response(version=version)
        make(seed, 0.0)._fill(response, each.response._struct.fields, version)
        body = tuples(each, response, each.response._struct.fields, version)
        expected = header + kafka_pythons(each, response, version)
        assert each.encode(body, version, 7) == len(expected).to_bytes(4, "big") + expected


@pytest.mark.parametrize("metadata", ["", None, "m" * 130, "\u20ac"])
@pytest.mark.parametrize("version", range(APIS[OFFSET_FETCH].lowest, APIS[OFFSET_FETCH].highest + 1))
def test_a_hundred_partitions_with_and_without_metadata_are_the_same_bytes(
    version: int, metadata: str | None
) -> None:
    each = APIS[OFFSET_FETCH]
    in_groups = version >= 8
    outer = each.response._struct.fields["groups" if in_groups else "topics"]
    topics = outer.fields["topics"] if in_groups else outer
    rows = [
        FetchedOffset(partition_index=n, committed_offset=n * 9, metadata=metadata if n % 2 else "")  # type: ignore[arg-type]  # null, which the schema allows
        for n in range(100)
    ]
    kind = topics.fields["partitions"].data_class
    topic = topics.data_class(
        version=version, name="t", partitions=[kind(version=version, **row._asdict()) for row in rows]
    )
    response = each.response(version=version)
    if in_groups:
        response.groups = [outer.data_class(version=version, group_id="g", topics=[topic])]
    else:
        response.topics = [topic]
    body = tuples(each, response, each.response._struct.fields, version)
    assert each.encode(body, version, 7).endswith(kafka_pythons(each, response, version))


def test_commits_of_a_hundred_partitions_are_read_at_once_or_one_by_one() -> None:
    each = APIS[OFFSET_COMMIT]
    topic_kind = each.request.OffsetCommitRequestTopic
    for version in range(each.lowest, each.highest + 1):
        for number, metadata in ((99, ""), (99, None), (50, "x"), (0, "m" * 200), (7, None)):
            parts = [
                topic_kind.OffsetCommitRequestPartition(
                    version=version,
                    partition_index=n,
                    committed_offset=n << 33,
                    committed_metadata=metadata if n >= number else "",
                )
                for n in range(100)
            ]
            topic = topic_kind(version=version, name="t", partitions=parts)
            request = each.request(version=version, group_id="g", member_id="", topics=[topic])
            request.with_header(1, "tester")
            frame = bytes(request.encode(header=True))
            assert read(each, frame, version) == read(by_kafka_python(each), frame, version)


def test_a_tagged_field_is_no_reason_to_refuse_a_request() -> None:
    each = APIS[HEARTBEAT]
    request = each.request(version=4, group_id="g", generation_id=1, member_id="m")
    request.with_header(1, "tester")
    frame = bytes(request.encode(header=True))
    assert frame.endswith(b"\0")
    tagged = frame[:-1] + b"\x01\x09\x02hi"  # one field, number 9, of two bytes
    assert read(each, tagged, 4) == read(each, frame, 4)


def test_a_tagged_field_of_a_partition_is_not_read_as_the_next_partition() -> None:
    each = APIS[OFFSET_COMMIT]
    topic_kind = each.request.OffsetCommitRequestTopic
    parts = [
        topic_kind.OffsetCommitRequestPartition(
            version=8, partition_index=n, committed_offset=0x0102030405060708 + n, committed_metadata=""
        )
        for n in range(2)
    ]
    request = each.request(
        version=8, group_id="g", topics=[topic_kind(version=8, name="t", partitions=parts)]
    )
    request.with_header(1, "tester")
    frame = bytes(request.encode(header=True))
    behind_the_first = frame.index((0x0102030405060709).to_bytes(8, "big")) - 5
    assert frame[behind_the_first] == 0  # tagged fields of the first partition
    # One that is as long as a partition, and whose bytes could be one.
    field = b"\x09\x10" + bytes(14) + b"\x01\x00"
    tagged = frame[:behind_the_first] + b"\x01" + field + frame[behind_the_first + 1 :]
    assert read(each, tagged, 8) == read(each, frame, 8) == read(by_kafka_python(each), tagged, 8)
