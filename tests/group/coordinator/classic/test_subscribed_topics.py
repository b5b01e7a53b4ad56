"""Which subscriptions the coordinator can read, as ConsumerProtocol of Kafka 4.3.

Of every version it reads the topics and the user data that lead it.
"""

import pytest

from kgroup.errors import DecodeError
from kgroup.group.coordinator.classic.subscribed_topics import is_readable, subscribed_topics

ONE = b"\0\0\0\1\0\6orders"
NULL, EMPTY, TWO_BYTES = b"\xff\xff\xff\xff", b"\0\0\0\0", b"\0\0\0\2ab"


@pytest.mark.parametrize("version", [0, 1, 2, 3, 99])
@pytest.mark.parametrize("user_data", [NULL, EMPTY, TWO_BYTES, NULL + b"what later versions add"])
def test_topics_are_read_in_every_version(version: int, user_data: bytes) -> None:
    metadata = version.to_bytes(2, "big") + ONE + user_data
    assert subscribed_topics(metadata) == {"orders"}
    assert is_readable(metadata)


@pytest.mark.parametrize(
    "metadata",
    [
        b"",
        b"\0",
        b"\xff\xff" + ONE + NULL,
        b"\0\0",
        b"\0\7",
        b"\0\0\0\0\0",
        b"\0\0\0\0\0\1\0",
        b"\0\0\0\0\0\2\0\6orders\0",
        b"\0\0" + ONE,
        b"\0\0" + ONE + b"\0\0",
    ],
)
def test_where_a_number_is_cut_off_nothing_is_known(metadata: bytes) -> None:
    """Without a version, too: a broker of 4.3.1 lets all of these in."""
    assert subscribed_topics(metadata) is None
    assert is_readable(metadata)


@pytest.mark.parametrize(
    "rest",
    [
        NULL + NULL,  # the topics cannot be null
        b"\0\0\0\1\xff\xff" + NULL,  # nor can a topic
        b"\0\0\0\1",  # more topics than bytes
        b"\x7f\0\0\0",
        b"\0\0\0\2\0\6orders" + NULL,
        b"\0\0\0\1\0\7orders",
        ONE + b"\0\0\0\3ab",
    ],
)
def test_what_kafka_fails_on_cannot_be_read(rest: bytes) -> None:
    """A broker of 4.3.1 answers none of their JoinGroups."""
    with pytest.raises(DecodeError):
        subscribed_topics(b"\0\0" + rest)
    assert not is_readable(b"\0\0" + rest)


@pytest.mark.parametrize("length", [b"\xff\xff\xff\xfe", b"\x80\0\0\0"])
def test_user_data_of_less_than_nothing_is_none(length: bytes) -> None:
    assert subscribed_topics(b"\0\0" + ONE + length) == {"orders"}


def test_a_topic_that_is_not_utf_8_is_one_that_nobody_has() -> None:
    assert subscribed_topics(b"\0\0\0\0\0\1\0\2\xff\xfe" + NULL) == {"\ufffd\ufffd"}


def test_no_topics_are_none() -> None:
    assert subscribed_topics(b"\0\0" + EMPTY + NULL) == frozenset()
