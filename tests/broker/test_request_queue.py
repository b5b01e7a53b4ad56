"""One request at a time per connection, and lengths that no request can have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.broker.request_queue import RequestQueue
from kgroup.wire.frames import BadRequestError


def framed(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def test_the_next_request_waits_for_the_answer_to_the_last() -> None:
    queue = RequestQueue(1000)
    queue.feed(framed(b"join") + framed(b"heartbeat"))
    assert queue.next_frame() == b"join"
    assert queue.next_frame() is None
    queue.answered()
    assert queue.next_frame() == b"heartbeat"


@given(bodies=st.lists(st.binary(max_size=40), max_size=20), cuts=st.lists(st.integers(1, 30), max_size=200))
def test_frames_come_out_whole_however_the_bytes_arrive(bodies: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(framed(body) for body in bodies)
    queue = RequestQueue(1000)
    got = []
    for cut in [*cuts, len(stream)]:
        queue.feed(stream[:cut])
        stream = stream[cut:]
        while (frame := queue.next_frame()) is not None:
            got.append(frame)
            queue.answered()
    assert got == bodies
    assert queue.waiting_bytes == 0


@pytest.mark.parametrize("size", [0, 999, 1000])
def test_a_request_may_be_as_large_as_the_limit(size: int) -> None:
    """Kafka: NetworkReceive refuses what is larger than socket.request.max.bytes."""
    queue = RequestQueue(1000)
    queue.feed(framed(b"x" * size))
    assert queue.next_frame() == b"x" * size


@pytest.mark.parametrize("length", [-1, -(2**31), 1001, 2**31 - 1])
def test_an_impossible_length_is_refused_before_its_bytes_arrive(length: int) -> None:
    queue = RequestQueue(1000)
    queue.feed(length.to_bytes(4, "big", signed=True))
    with pytest.raises(BadRequestError, match="the limit is 1000"):
        queue.next_frame()


COMMIT = b"\x00\x08"


def test_commits_behind_commits_may_be_handed_out_together() -> None:
    queue = RequestQueue(1000)
    for request in (COMMIT + b"1", COMMIT + b"2", b"\x00\x0cheartbeat", COMMIT + b"3"):
        queue.feed(framed(request))
    assert queue.next_frame(commits_together=True) == COMMIT + b"1"
    assert queue.next_frame() is None  # unless somebody wants one at a time
    assert queue.next_frame(commits_together=True) == COMMIT + b"2"
    assert queue.number == 1
    assert queue.next_frame(commits_together=True) is None
    queue.answered()
    assert queue.next_frame(commits_together=True) is None  # it must not overtake the second
    queue.answered()
    assert queue.next_frame(commits_together=True) == b"\x00\x0cheartbeat"
    assert queue.next_frame(commits_together=True) is None  # nor this commit the heartbeat


def test_so_many_commits_together_and_no_more() -> None:
    queue = RequestQueue(1000)
    queue.feed(framed(COMMIT) * 40)
    together = 0
    while queue.next_frame(commits_together=True) is not None:
        together += 1
    assert together == 32
    queue.answered()
    assert queue.next_frame(commits_together=True) is not None


def test_a_part_of_a_commit_is_waited_for() -> None:
    queue = RequestQueue(1000)
    queue.feed(framed(COMMIT) + framed(COMMIT + b"12")[:-1])
    assert queue.next_frame(commits_together=True) == COMMIT
    assert queue.next_frame(commits_together=True) is None
    queue.feed(b"2")
    assert queue.next_frame(commits_together=True) == COMMIT + b"12"
