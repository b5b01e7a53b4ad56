"""Both paths say the same of a segment however it is damaged: records, damage and where it lies among them.

Also in slices, each read by a process that sees nothing else, and in chunks smaller than a batch.
"""

import errno
import os
import random
from collections.abc import Callable
from io import FileIO
from pathlib import Path

import pytest

from kgroup.log.files.segment import read_among_others, read_records, read_segment
from kgroup.log.format.batch import Batch, Codec, Damage, LogRecord, encode_batch
from kgroup.scan.reductions.scan import split
from tests.fuzz.mutations import MUTATIONS
from tests.fuzz.segments import PARTITION, Answer, columnar, differences, plain
from tests.log.offsets_log import batch, commit
from tests.log.truth import FIXTURES

SEGMENTS = sorted(
    path
    for path in FIXTURES.glob("[0-9]*/*/__consumer_offsets-*/*.log")
    if any(isinstance(item, Batch) for item in read_segment(path))
)
TARGETS, CHUNKS = (1, 700), (100, 1000)
Mutation = Callable[[random.Random, bytearray], None]


@pytest.fixture
def damaged(tmp_path: Path) -> Callable[[bytes], Path]:
    path = tmp_path / "00000000000000000000.log"

    def write(raw: bytes) -> Path:
        path.write_bytes(raw)
        return path

    return write


def batches_of(path: Path) -> list[bytes]:
    raw = path.read_bytes()
    return [
        raw[item.position : item.position + item.size]
        for item in read_segment(path)
        if isinstance(item, Batch)
    ]


@pytest.mark.parametrize("original", SEGMENTS, ids=lambda path: str(path.parent.relative_to(FIXTURES)))
def test_a_batch_that_lost_its_last_byte(original: Path, damaged: Callable[[bytes], Path]) -> None:
    batches = batches_of(original)
    short = random.Random(original.name).randrange(len(batches))
    batches[short] = batches[short][:-1]
    first = max(0, short - 5)
    path = damaged(b"".join(batches[first : short + 6]))
    assert list(differences(path, TARGETS, CHUNKS)) == []


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_any_damage(mutation: Mutation, damaged: Callable[[bytes], Path]) -> None:
    for seed, original in enumerate(SEGMENTS[:: len(MUTATIONS)]):
        rng = random.Random(seed)
        batches = batches_of(original)
        first = rng.randrange(len(batches))
        raw = bytearray(b"".join(batches[first : first + 8]))
        mutation(rng, raw)
        assert list(differences(damaged(bytes(raw)), TARGETS, CHUNKS)) == [], f"seed={seed} {original}"


def test_a_batch_that_ends_inside_the_first_of_the_next_slice(damaged: Callable[[bytes], Path]) -> None:
    batches = [batch(n, [commit("g", "t", 0, n)]) for n in range(4)]
    path = damaged(batches[0] + batches[1][:-1] + batches[2] + batches[3])
    second = len(batches[0]) + len(batches[1]) - 1
    path.with_suffix(".index").write_bytes((0).to_bytes(4, "big") + second.to_bytes(4, "big"))
    slices = split(path, PARTITION, 100)
    assert [part.start for part in slices] == [0, second]
    assert columnar(slices) == plain(path)
    assert len(plain(path).damage) == 1


def test_offsets_that_go_back_between_two_slices(damaged: Callable[[bytes], Path]) -> None:
    one = batch(5, [commit("g", "t", 0, 1)])
    path = damaged(one + one)
    slices = split(path, PARTITION, 1)
    assert len(slices) == 2
    assert columnar(slices) == plain(path)
    assert len(plain(path).damage) == 1


@pytest.mark.parametrize("size", [13, 14, 20])
def test_a_length_too_small_for_a_header_where_a_slice_might_begin(
    size: int, damaged: Callable[[bytes], Path]
) -> None:
    one = batch(0, [commit("g", "t", 0, 1)])
    header = (1).to_bytes(8, "big") + (size - 12).to_bytes(4, "big", signed=True) + bytes(60)
    assert list(differences(damaged(one + header), TARGETS, CHUNKS)) == []


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP], ids=lambda codec: codec.name)
@pytest.mark.parametrize(("producer_id", "known"), [(-1, None), (-5, None), (0, 0), (7, 7)])
def test_a_transaction_without_a_producer_is_none(
    codec: Codec, producer_id: int, known: int | None, damaged: Callable[[bytes], Path]
) -> None:
    records = [commit("g", "t", 0, 1), (b"\x00\x02\x00\x01g", b"\xff\xff")]
    logged = [LogRecord(n, 1000, key, value) for n, (key, value) in enumerate(records)]
    path = damaged(encode_batch(logged, codec=codec, transactional=True, producer_id=producer_id))
    assert list(differences(path, TARGETS, CHUNKS)) == []
    answer = plain(path)
    assert [row["producer_id"] for row in answer.commits] == [-1 if known is None else known]
    assert [other.producer_id for other in answer.others] == [known]


class FailingDisk(FileIO):
    """A file whose bytes from `good` on the disk does not give."""

    good = 0

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(self._readable(-1 if size is None else size))

    def readinto(self, buffer: object, /) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]  # any buffer
        return super().readinto(view[: self._readable(len(view))]) or 0

    def _readable(self, size: int) -> int:
        left = self.good - self.tell()
        if left <= 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return left if size < 0 else min(size, left)


@pytest.mark.parametrize("in_second", [0, 1, 70])
def test_a_disk_that_fails_on_the_way_costs_what_it_does_not_give(
    in_second: int, damaged: Callable[[bytes], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = [batch(n, [commit("g", "t", 0, n)]) for n in range(3)]
    path = damaged(b"".join(batches))
    slices = split(path, PARTITION, 1 << 40)
    monkeypatch.setattr(FailingDisk, "good", len(batches[0]) + in_second)
    monkeypatch.setattr(Path, "open", lambda self, *_, **__: FailingDisk(self))
    answer = Answer()
    for item in read_records(read_among_others(path), str(path)):
        if isinstance(item, Damage):
            answer.damage.append((1, item))
    left = len(batches[1]) + len(batches[2])
    why = "Input/output error"
    assert answer.damage == [(1, Damage(segment=str(path), position=len(batches[0]), size=left, why=why))]
    by_columns = columnar(slices)
    assert (len(by_columns.commits), by_columns.damage) == (1, answer.damage)
