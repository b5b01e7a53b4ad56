"""A Fetch answer in pieces is, byte for byte, what the codec makes of it in one go."""

from uuid import UUID

import pytest
from kafka.protocol.consumer.fetch import FetchResponse

from kgroup.log.store.stretch import NOTHING, PIECE_BYTES, Stretch, in_memory
from kgroup.wire.apis import APIS, FETCH
from kgroup.wire.fetch_pieces import encode_in_pieces

API = APIS[FETCH]
TOPIC = FetchResponse.FetchableTopicResponse
PARTITION = TOPIC.PartitionData
LONG = in_memory([b"a" * 50, bytes(range(256)) * 2000, b"z"])
RECORDS: list[list[object]] = [
    [LONG, NOTHING, b"", None, b"as it is"],
    [],
    [in_memory([b"x" * 126]), in_memory([b"y" * 127]), in_memory([b"w" * 16_383])],
]


def partition(version: int, index: int, records: object) -> PARTITION:
    aborted = PARTITION.AbortedTransaction(version=version, producer_id=7, first_offset=3)
    return PARTITION(
        version=version,
        partition_index=index,
        error_code=index,
        high_watermark=100,
        last_stable_offset=90,
        log_start_offset=2,
        aborted_transactions=[aborted] if index else None,
        preferred_read_replica=-1,
        records=records,
    )


def answer(version: int, topics: list[list[object]]) -> FetchResponse:
    return FetchResponse(
        version=version,
        session_id=0,
        responses=[
            TOPIC(
                version=version,
                topic=f"t{number}",
                topic_id=UUID(int=number + 1),
                partitions=[partition(version, index, each) for index, each in enumerate(of_topic)],
            )
            for number, of_topic in enumerate(topics)
        ],
    )


def whole(first: bytes, rest: tuple[bytes | Stretch, ...]) -> bytes:
    return first + b"".join(piece.whole() if isinstance(piece, Stretch) else piece for piece in rest)


@pytest.mark.parametrize("version", range(API.lowest, API.highest + 1))
@pytest.mark.parametrize("topics", [RECORDS, []], ids=["three topics", "none"])
def test_the_pieces_are_what_the_codec_writes(version: int, topics: list[list[object]]) -> None:
    plain = [[each.whole() if isinstance(each, Stretch) else each for each in topic] for topic in topics]
    expected = API.encode(answer(version, plain), version, 77)
    assert whole(*encode_in_pieces(API, answer(version, topics), version, 77)) == expected


def test_records_are_not_copied_and_come_in_pieces_of_a_bounded_size() -> None:
    first, rest = encode_in_pieces(API, answer(11, [[LONG]]), 11, 1)
    assert rest == (LONG,)
    assert len(first) < 100
    assert all(len(piece) <= PIECE_BYTES for piece in LONG.pieces())
