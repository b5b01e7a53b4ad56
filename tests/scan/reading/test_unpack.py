"""Memory for what compressed batches unpack to: that of the largest, however many there are."""

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from kgroup.log.files.segment import read_stream
from kgroup.log.format.batch import Batch, LogRecord, encode_batch
from kgroup.log.format.compression import Codec
from kgroup.scan.reading import drive
from kgroup.scan.reading.reader import RowReader
from kgroup.scan.reading.unpack import Listed, Unpacked
from kgroup.scan.reductions.scan import split
from tests.log.offsets_log import batch, commit, write

CHUNK = 1000


def packed(size: int) -> bytes:
    return encode_batch([LogRecord(0, 0, b"k", bytes(size))], codec=Codec.ZSTD)


def unpack(unpacked: Unpacked, size: int) -> None:
    unpacked.clear()
    unpacked.append(np.frombuffer(packed(size), np.uint8), 0)


def test_large_batches_go_one_after_the_other_into_the_same_memory() -> None:
    unpacked = Unpacked(CHUNK)
    unpack(unpacked, 100 * CHUNK)
    first = unpacked.buffer
    assert len(first) < 101 * CHUNK
    unpack(unpacked, 90 * CHUNK)
    assert unpacked.buffer is first


def test_a_small_batch_gives_up_the_memory_of_a_large_one() -> None:
    unpacked = Unpacked(CHUNK)
    unpack(unpacked, 100 * CHUNK)
    unpack(unpacked, 10)
    assert len(unpacked.buffer) < 5 * CHUNK


def test_listed_records_are_not_copied_again() -> None:
    listed = Listed()
    text = listed._text
    buffer, _ = listed.as_arrays()
    assert np.shares_memory(buffer, np.frombuffer(text, np.uint8))
    listed.clear()
    assert len(buffer) > 0


def test_all_compressed_batches_of_a_chunk_go_through_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = [batch(n, [commit("g", "t", 0, n, "x" * 500)], codec=Codec.GZIP) for n in range(20)]
    [part] = split(write(tmp_path, batches), 0, 1 << 40)
    monkeypatch.setattr(drive, "read_among_others", None)  # the plain path
    rows = RowReader(chunk_bytes=5000)
    assert sum(block.count for block in rows.read(part)) == 20


@pytest.mark.parametrize(("is_transactional", "waits_for"), [(True, 5), (False, -1)])
def test_only_records_of_transactions_wait_for_their_producers_marker(
    is_transactional: bool, waits_for: int
) -> None:
    """An idempotent producer has an id, too, and never writes one."""
    raw = encode_batch(
        [LogRecord(offset=0, timestamp_ms=1, key=b"k", value=b"v")],
        producer_id=5,
        producer_epoch=0,
        transactional=is_transactional,
    )
    (made,) = read_stream(BytesIO(raw), "made")
    assert isinstance(made, Batch)
    listed = Listed()
    for record in made.records():
        listed.append(made, record)
    _, rows = listed.as_arrays()
    assert rows[:, 2].tolist() == [waits_for]
