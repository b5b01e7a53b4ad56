"""Random and mutated segments: nothing but results or KgroupError, and what is intact comes out.

A failure names its seed: `damaged_segment(random.Random(seed), ...)` builds the same bytes again.
"""

import io
import random
import zlib
from collections.abc import Callable, Sequence

import google_crc32c
import pytest

from kgroup.log.files.entries import decode_record
from kgroup.log.files.segment import read_records, read_segment, read_stream
from kgroup.log.format.batch import Batch, Damage, LogRecord
from kgroup.protocol.records.entries import OffsetsEntry, TransactionMarker, Undecodable
from tests.log.truth import FIXTURES

SEEDS = 12_000
SEEDS_PER_TEST = 1_000

# One segment of each message format and codec, with transactions, tombstones and cleaned batches among them.
ORIGINALS = [
    FIXTURES / name / "00000000000000000000.log"
    for name in (
        "0.10.1.1/lives/__consumer_offsets-5",
        "0.10.1.1/codec-gzip/__consumer_offsets-20",
        "0.10.1.1/codec-snappy/__consumer_offsets-20",
        "0.10.1.1/codec-lz4/__consumer_offsets-20",
        "1.1.1/format-0.9/__consumer_offsets-20",
        "1.1.1/format-0.9-lz4/__consumer_offsets-20",
        "3.9.1/lives/__consumer_offsets-48",
        "3.9.1/compacted/__consumer_offsets-11",
        "3.9.1/codec-gzip/__consumer_offsets-20",
        "3.9.1/codec-snappy/__consumer_offsets-20",
        "3.9.1/codec-lz4/__consumer_offsets-20",
        "3.9.1/codec-zstd/__consumer_offsets-20",
        "4.3.1/lives/__consumer_offsets-31",
    )
]

Read = tuple[Batch, list[LogRecord]]


def read(raw: bytes) -> list[Read | Damage]:
    return list(read_records(read_stream(io.BytesIO(raw), "fuzz"), "fuzz"))


def not_covered(items: Sequence[Read | Damage], size: int) -> list[tuple[int, int]]:
    """Gaps and overlaps between what was read; an overlap that is reported as such is none."""
    wrong, end = [], 0
    for item in items:
        located = item if isinstance(item, Damage) else item[0]
        lost_bytes = isinstance(located, Damage) and "bytes are missing" in located.why
        if located.position != end and not (lost_bytes and 0 < end - located.position <= 16):
            wrong.append((end, located.position))
        end = located.position + located.size
    return wrong if end == size else [*wrong, (end, size)]


def batches_of(raw: bytes) -> list[bytes]:
    return [raw[item.position : item.position + item.size] for item in read_stream(io.BytesIO(raw), "")]


@pytest.fixture(scope="module")
def originals() -> list[list[bytes]]:
    """The batches of each original, as bytes; long ones leave the time for more cases to the short ones."""
    return [[raw for raw in batches_of(path.read_bytes()) if len(raw) < 1000][:40] for path in ORIGINALS]


def flip_bits(rng: random.Random, batch: bytearray) -> None:
    for _ in range(rng.choice((1, 1, 2, 8))):
        batch[rng.randrange(len(batch))] ^= 1 << rng.randrange(8)


def overwrite(rng: random.Random, batch: bytearray) -> None:
    at = rng.randrange(len(batch))
    filling = rng.choice((b"\0", b"\xff", b"\x7f", b"\x80", rng.randbytes(1)))
    size = min(rng.choice((1, 2, 4, 8, 100)), len(batch) - at)
    batch[at : at + size] = filling * size


def insert(rng: random.Random, batch: bytearray) -> None:
    at = rng.randrange(len(batch))
    batch[at:at] = rng.choice((bytes(rng.randrange(1, 5000)), rng.randbytes(rng.randrange(1, 200))))


def delete(rng: random.Random, batch: bytearray) -> None:
    at = rng.randrange(len(batch))
    del batch[at : at + rng.randrange(1, 60)]


def change_size(rng: random.Random, batch: bytearray) -> None:
    size = rng.choice((0, -1, 13, 14, 2**31 - 1, len(batch), rng.randrange(4000), rng.randrange(2**31)))
    batch[8:12] = size.to_bytes(4, "big", signed=True)


MUTATIONS: Sequence[Callable[[random.Random, bytearray], None]] = (
    flip_bits,
    overwrite,
    insert,
    delete,
    change_size,
)


def make_crc_hold(batch: bytearray) -> None:
    """So that the damage is found, if at all, by what decodes the header, the payload and the records."""
    if len(batch) > 61 and batch[16] == 2:
        batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
        batch[17:21] = google_crc32c.value(bytes(batch[21:])).to_bytes(4, "big")
    elif len(batch) > 26 and batch[16] < 2:
        batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
        batch[12:16] = zlib.crc32(batch[16:]).to_bytes(4, "big")


def damaged_segment(rng: random.Random, originals: Sequence[Sequence[bytes]]) -> tuple[bytes, list[bytes]]:
    """A segment of a few batches, one or two of them damaged; and those that are not."""
    batches = rng.choice(originals)
    first = rng.randrange(max(1, len(batches) - 5))
    segment: list[bytes] = list(batches[first : first + 6])
    intact = list(segment)
    for number in sorted(
        rng.sample(range(len(segment)), k=min(len(segment), rng.choice((1, 1, 2)))), reverse=True
    ):
        damaged = bytearray(segment[number])
        for _ in range(rng.choice((1, 1, 3))):
            rng.choice(MUTATIONS)(rng, damaged)
            if len(damaged) < 20:
                break
        if rng.random() < 0.5:
            make_crc_hold(damaged)
        segment[number] = bytes(damaged)
        del intact[number]
    return b"".join(segment), intact


@pytest.mark.parametrize("first_seed", range(0, SEEDS, SEEDS_PER_TEST))
def test_damage_never_raises_and_what_is_intact_comes_out(
    first_seed: int, originals: list[list[bytes]]
) -> None:
    for seed in range(first_seed, first_seed + SEEDS_PER_TEST):
        raw, intact = damaged_segment(random.Random(seed), originals)
        items = read(raw)
        healthy = [item for item in items if not isinstance(item, Damage)]
        healthy_bytes = iter([raw[batch.position : batch.position + batch.size] for batch, _ in healthy])
        assert all(batch in healthy_bytes for batch in intact), f"seed={seed}"
        for batch, records in healthy:
            for record in records:
                entry = decode_record(batch, record)
                assert isinstance(entry, OffsetsEntry | Undecodable | TransactionMarker), f"seed={seed}"
        assert not_covered(items, len(raw)) == [], f"seed={seed}"


@pytest.mark.parametrize("first_seed", range(0, 2 * SEEDS_PER_TEST, SEEDS_PER_TEST))
def test_noise_is_damage(first_seed: int) -> None:
    for seed in range(first_seed, first_seed + SEEDS_PER_TEST):
        rng = random.Random(seed)
        octets = rng.choice((range(256), (0, 1, 2, 255), (0, 0, 0, 0, 1, 2)))
        noise = bytes(rng.choices(octets, k=rng.randrange(1, 400)))
        (damage,) = read(noise)
        assert isinstance(damage, Damage), f"seed={seed}"
        assert (damage.position, damage.size) == (0, len(noise)), f"seed={seed}"


@pytest.mark.parametrize("original", ORIGINALS, ids=lambda path: str(path.relative_to(FIXTURES)))
def test_every_prefix_of_a_segment_is_read_or_its_cut_is_named(original) -> None:
    raw = original.read_bytes()[:2500]
    whole = [item for item in read_segment(original) if isinstance(item, Batch)]
    for size in range(0, len(raw), 7):
        items = read(raw[:size])
        complete = [batch for batch in whole if batch.position + batch.size <= size]
        assert [item[0] for item in items if not isinstance(item, Damage)] == complete
        cut_at = complete[-1].position + complete[-1].size if complete else 0
        cuts = [(item.position, item.size) for item in items if isinstance(item, Damage)]
        assert cuts == ([(cut_at, size - cut_at)] if cut_at < size else [])
