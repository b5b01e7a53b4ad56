"""Headers of batches, without their payloads: the same batches as the whole reader finds."""

from pathlib import Path

import pytest

from kgroup.errors import SourceError
from kgroup.log.files.headers import HeaderAt, batch_bytes, read_headers
from kgroup.log.files.segment import read_segment
from kgroup.log.format.batch import Batch, Damage
from tests.log.offsets_log import batch, write
from tests.log.truth import FIXTURES

SEGMENTS = sorted(FIXTURES.glob("[234].*/*/*/*.log"))
RECORD = (b"k", b"v")


def seen(item: HeaderAt | Batch | Damage) -> tuple[object, ...]:
    if isinstance(item, Damage):
        return item.position, item.size
    at, header = (item.position, item.header) if isinstance(item, HeaderAt) else (item.position, item)
    return (
        at,
        header.size,
        header.base_offset,
        header.last_offset,
        header.producer_id,
        header.producer_epoch,
        header.transactional,
        header.control,
        header.max_timestamp_ms,
    )


def test_every_batch_of_real_brokers_has_its_header() -> None:
    assert SEGMENTS
    for path in SEGMENTS:
        if path.stat().st_size:
            expected = [item for item in read_segment(path) if isinstance(item, Damage) or item.magic == 2]
            assert list(map(seen, read_headers(path))) == list(map(seen, expected)), path


def test_a_batch_longer_than_a_read_is_passed_over(tmp_path: Path) -> None:
    small = [batch(number, [RECORD]) for number in range(1, 9000)]
    path = write(tmp_path, [batch(0, [(b"k", bytes(400_000))]), *small])
    found = [item.header.base_offset for item in read_headers(path) if isinstance(item, HeaderAt)]
    assert found == list(range(9000))


def test_behind_damage_the_next_healthy_batch_is_found(tmp_path: Path) -> None:
    path = write(tmp_path, [batch(0, [RECORD]), b"\xff" * 90, batch(1, [RECORD]), batch(2, [RECORD])])
    assert list(map(seen, read_headers(path))) == list(map(seen, read_segment(path)))
    assert any(isinstance(item, Damage) for item in read_headers(path))


def test_a_batch_that_is_cut_short_is_damage(tmp_path: Path) -> None:
    path = write(tmp_path, [batch(0, [RECORD]), batch(1, [RECORD])[:-1]])
    assert [type(item) for item in read_headers(path)] == [HeaderAt, Damage]


def test_a_header_leads_to_its_batch(tmp_path: Path) -> None:
    second = batch(1, [RECORD])
    path = write(tmp_path, [batch(0, [RECORD]), second])
    _, at = read_headers(path)
    assert isinstance(at, HeaderAt)
    assert batch_bytes(path, at) == second


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"gone\.log: No such file"):
        list(read_headers(tmp_path / "gone.log"))
