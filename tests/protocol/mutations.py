"""Records of real brokers, and what damage can make of them."""

from pathlib import Path
from random import Random

from kgroup.log.files.entries import ReadRecord, read_decoded
from kgroup.log.files.sources import open_sources
from kgroup.protocol.records.entries import OffsetsEntry

FIXTURES = Path(__file__).parents[2] / "fixtures"


def one_record_of_each_kind() -> list[tuple[bytes, bytes]]:
    """Key and value of the first record of each type and value version in two captures."""
    first = {}
    for read in read_decoded(
        open_sources([FIXTURES / "4.3.1" / "lives", FIXTURES / "3.9.1" / "new-coordinator"])
    ):
        if isinstance(read, ReadRecord) and isinstance(read.entry, OffsetsEntry) and read.record.value:
            first.setdefault(
                (read.entry.type, read.entry.value_version), (read.record.key, read.record.value)
            )
    return list(first.values())


def mutate(target: bytearray, rng: Random) -> None:
    """Change, cut off, insert or delete a few bytes."""
    position = rng.randrange(len(target) + 1)
    match rng.randrange(4):
        case 0 if position < len(target):
            target[position] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        case 1:
            del target[position:]
        case 2:
            target[position:position] = rng.randbytes(rng.randrange(1, 6))
        case _:
            del target[position : position + rng.randrange(1, 4)]
