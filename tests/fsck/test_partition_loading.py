"""Obstacles in one partition of several segments: which counts, which comes first, and where the log ends."""

from pathlib import Path

import pytest

from kgroup.history.loading.model import Obstacle, Outcome
from kgroup.history.loading.partition import PartitionLoading, SegmentFacts
from kgroup.history.loading.releases import release_of
from kgroup.history.loading.subscription import why_unreadable
from kgroup.scan.reductions.scan import Slice, scan
from tests.fsck.writing import Written, commit

RELEASE = release_of("4.3.1")
GOOD = Written().batch(commit("app", 0)).raw
TORN = GOOD[:-1]
_MAGIC = 16
_IN_VALUE = 10


def changed(batch: bytes) -> bytes:
    """A bit of a commit's topic id is another one, so that the CRC is wrong and all can be read."""
    return batch[:-_IN_VALUE] + bytes([batch[-_IN_VALUE] ^ 1]) + batch[-_IN_VALUE + 1 :]


def of_no_format(batch: bytes) -> bytes:
    return batch[:_MAGIC] + b"\x63" + batch[_MAGIC + 1 :]


def at(offset: int) -> bytes:
    return Written(end=offset).batch(commit("app", offset)).raw


class Log:
    """The segments of a partition, handed in one after the other."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._loading = PartitionLoading([RELEASE])
        self._segments = 0

    def segment(self, raw: bytes, *, is_checked: bool, is_last: bool, ends_log: bool = True) -> "Log":
        path = self._folder / f"{self._segments:020}.log"
        self._segments += 1
        path.write_bytes(raw)
        blocks = scan([Slice(path=path, offsets_partition=0, start=0, end=len(raw))])
        damage = [each for block in blocks for each in block.damage]
        facts = SegmentFacts(
            path=path.name,
            size=len(raw),
            is_checked=is_checked,
            walked_from=0 if is_last else None,
            ends_log=ends_log,
        )
        self._loading.damaged(facts, raw, damage)
        return self

    def obstacles(self) -> tuple[Obstacle, ...]:
        return self._loading.obstacles()[RELEASE]


@pytest.mark.parametrize("ends_log", [True, False], ids=["after-a-crash", "its-index-is-missing"])
def test_only_after_a_crash_the_broker_deletes_what_comes_behind_damage(
    tmp_path: Path, ends_log: bool
) -> None:
    log = Log(tmp_path)
    log.segment(at(0) + changed(at(1)) + at(2), is_checked=True, is_last=False, ends_log=ends_log)
    log.segment(at(3) + changed(at(4)) + at(5), is_checked=False, is_last=True)
    segments = {each.segment for each in log.obstacles()}
    assert (f"{1:020}.log" in segments) is not ends_log


def test_what_decides_comes_first(tmp_path: Path) -> None:
    raw = at(0) + changed(at(1)) + at(2) + of_no_format(at(3))
    found = Log(tmp_path).segment(raw, is_checked=False, is_last=True).obstacles()
    assert [each.outcome for each in found] == [Outcome.FAILS, Outcome.LOADS_LESS]


@pytest.mark.parametrize(
    ("raw", "outcome"),
    [
        pytest.param(at(0) + at(1) + TORN, Outcome.LOADS, id="nothing-behind-it"),
        pytest.param(
            at(0) + changed(at(1)) + at(2) + TORN, Outcome.LOADS_LESS, id="a-healthy-batch-behind-it"
        ),
    ],
)
def test_a_batch_was_being_written_if_nothing_healthy_follows(
    raw: bytes, outcome: Outcome, tmp_path: Path
) -> None:
    found = Log(tmp_path).segment(raw, is_checked=True, is_last=True).obstacles()
    assert {each.outcome for each in found} == {outcome}


TOPIC = b"\0\6orders"
NO_USER_DATA = b"\xff\xff\xff\xff"


@pytest.mark.parametrize(
    ("raw", "is_readable"),
    [
        pytest.param(b"\0\0\0\0\0\1" + TOPIC + NO_USER_DATA, True, id="a-topic"),
        pytest.param(b"\0\0\0\0\0\0" + NO_USER_DATA, True, id="no-topics"),
        pytest.param(b"\0\0\xff\xff\xff\xff" + NO_USER_DATA, False, id="null"),
        pytest.param(b"\0\0\0\0\0\2" + TOPIC + b"\xff\xff" + NO_USER_DATA, False, id="a-null-topic"),
        pytest.param(b"\0\0\x7f\xff\xff\xff" + TOPIC, False, id="more-topics-than-bytes"),
        pytest.param(b"\0\0\0\0\0\1\0\7orders", False, id="a-longer-topic-than-bytes"),
        pytest.param(b"\0\0\0\0\0\1" + TOPIC + b"\0\0\0\2x", False, id="more-user-data-than-bytes"),
    ],
)
def test_a_subscription_that_ends_the_load(raw: bytes, is_readable: bool) -> None:
    assert (why_unreadable(raw) is None) is is_readable
