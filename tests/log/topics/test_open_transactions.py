"""The open transaction at which readers of committed data wait, in logs made by hand."""

from pathlib import Path

import pytest

from kgroup.errors import SourceError
from kgroup.log.files.log_dir import read_partition_folder
from kgroup.log.topics.open_transactions import blocking_transaction
from kgroup.log.topics.topic_logs import DataLogs
from kgroup.protocol.log_listing import OpenTransaction
from tests.log.offsets_log import batch, marker, write
from tests.log.truth import FIXTURES

RECORD = (b"k", b"v")
OPEN = batch(0, [RECORD, RECORD], producer_id=5)


def blocking(tmp_path: Path, batches: list[bytes], offset: int) -> OpenTransaction | None:
    folder = read_partition_folder(write(tmp_path, batches).parent)
    assert folder is not None
    return blocking_transaction(folder, offset)


def opened(first_offset: int, producer_id: int = 5) -> OpenTransaction:
    return OpenTransaction(
        first_offset=first_offset, since_ms=1000 + first_offset, producer_id=producer_id, producer_epoch=0
    )


# batches, the offset that a group stands at, the first offset of what blocks it
BLOCKED: dict[str, tuple[list[bytes], int, int]] = {
    "at its first offset": ([OPEN], 0, 0),
    "records of no transaction wait behind it": ([OPEN, batch(2, [RECORD])], 0, 0),
    "a later transaction is over": (
        [OPEN, batch(2, [RECORD], producer_id=6), marker(3, 6, committed=True)],
        0,
        0,
    ),
    "only a marker lies before it": (
        [batch(0, [RECORD], producer_id=5), marker(1, 5, committed=True), batch(2, [RECORD], producer_id=5)],
        1,
        2,
    ),
    "only aborted records lie before it": (
        [batch(0, [RECORD], producer_id=5), marker(1, 5, committed=False), batch(2, [RECORD], producer_id=5)],
        0,
        2,
    ),
    "only a gap lies before it": ([batch(0, [RECORD]), batch(7, [RECORD], producer_id=5)], 3, 7),
    "the first of two": ([OPEN, batch(2, [RECORD], producer_id=6)], 0, 0),
}


@pytest.mark.parametrize(("batches", "offset", "first"), BLOCKED.values(), ids=BLOCKED)
def test_blocked(tmp_path: Path, batches: list[bytes], offset: int, first: int) -> None:
    assert blocking(tmp_path, batches, offset) == opened(first)


FREE: dict[str, tuple[list[bytes], int]] = {
    "nothing is unread": ([OPEN], 2),
    "no transaction is open": ([batch(0, [RECORD])], 0),
    "a record lies before it": ([batch(0, [RECORD]), batch(1, [RECORD], producer_id=5)], 0),
    "a committed record lies before it": (
        [batch(0, [RECORD], producer_id=6), batch(1, [RECORD], producer_id=5), marker(2, 6, committed=True)],
        0,
    ),
    "it was committed": ([OPEN, marker(2, 5, committed=True)], 0),
    "it was aborted, and nothing follows": ([OPEN, marker(2, 5, committed=False)], 0),
    # Whoever stands in the midst of a transaction does not wait for its end: read_uncommitted.
    "the group is past its beginning": ([OPEN, batch(2, [RECORD])], 1),
    "the group is past its beginning, and it goes on": ([OPEN, batch(2, [RECORD], producer_id=5)], 2),
}


@pytest.mark.parametrize(("batches", "offset"), FREE.values(), ids=FREE)
def test_free(tmp_path: Path, batches: list[bytes], offset: int) -> None:
    assert blocking(tmp_path, batches, offset) is None


def test_a_record_before_the_transaction_decides_before_damage_behind_it(tmp_path: Path) -> None:
    torn = batch(1, [RECORD])[:-1] + b"\x01"
    assert blocking(tmp_path, [batch(0, [RECORD]), torn, batch(2, [RECORD])], 0) is None
    with pytest.raises(SourceError, match=r"byte \d+: "):
        blocking(tmp_path, [batch(0, [RECORD], producer_id=5), torn, batch(2, [RECORD])], 0)


def test_a_log_that_is_not_here() -> None:
    empty = read_partition_folder(FIXTURES / "4.3.1/lives/orders-0")
    assert empty is not None
    assert blocking_transaction(empty, 0) is None
    assert DataLogs([]).blocking_transaction("orders", 0, 0) is None
