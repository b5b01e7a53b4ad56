"""Which records count: the same in blocks as entry by entry."""

import random
from pathlib import Path
from typing import Any

import pytest

from kgroup.api.decode.chosen import offsets_that_count
from kgroup.api.decode.filter import Filter
from kgroup.api.decode.newest_blocks import block_offsets_that_count
from kgroup.api.decode.selection import Preselection
from kgroup.api.decode.source import FileSource
from kgroup.log.files.entries import ReadRecord
from kgroup.log.files.sources import open_sources
from tests.log.drawn_log import drawn_log
from tests.log.offsets_log import NAME, batch, commit, group_metadata, marker, tombstone, write
from tests.scan.tiers import kernels

FIXTURES = Path(__file__).parents[3] / "fixtures"
TAKES_LONG = "gzip-bomb"
CAPTURES = sorted(path.parent for path in FIXTURES.glob("*/*/truth.jsonl") if path.parent.name != TAKES_LONG)
FILTERS: dict[str, dict[str, Any]] = {
    "all": {},
    "groups": {"groups": ("*a*", "g")},
    "topic": {"topics": (("*", frozenset([0, 1])),)},
    "commits": {"types": frozenset(["offset-commit"])},
    "others": {"types": frozenset(["group-metadata", "undecoded"])},
    "up to an offset": {"last_offset": 30},
    "up to a time": {"until_ms": 1_783_000_000_000},
    "what only shows": {"since_ms": 5, "first_offset": 9, "tombstones": True},
}


def counting(log: Path, **asked: Any) -> set[tuple[int, int]]:
    source, asking = FileSource(open_sources([str(log)]), None), Filter(**asked)
    wanted = {
        (read.segment.partition, read.record.offset)
        for read in source.read(Preselection(asking, advance))
        if isinstance(read, ReadRecord) and read.record is not None and asking.wants(read)
    }
    one_by_one = offsets_that_count(source, asking, advance) & wanted
    with kernels(compiled=True):
        assert block_offsets_that_count(source, asking, advance) & wanted == one_by_one
    return one_by_one


def advance(_size: int) -> None:
    pass


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_captures(capture: Path) -> None:
    for asked in FILTERS.values():
        counting(capture, **asked)


@pytest.mark.parametrize("asked", FILTERS.values(), ids=FILTERS.keys())
def test_drawn_logs(asked: dict[str, Any], tmp_path: Path) -> None:
    for seed in range(4):
        (tmp_path / NAME).write_bytes(drawn_log(random.Random(seed), batches=60))
        counting(tmp_path / NAME, **asked)


def test_few_keys_in_and_out_of_transactions(tmp_path: Path) -> None:
    found = set()
    for seed in range(60):
        rng = random.Random(seed)
        batches, offset = [], 0
        for _ in range(rng.randrange(1, 25)):
            producer_id = rng.choice((-1, -1, 5, 6))
            if producer_id >= 0 and rng.random() < 0.5:
                batches.append(marker(offset, producer_id, committed=rng.random() < 0.5))
                offset += 1
                continue
            records = [one_record(rng) for _ in range(rng.randrange(1, 4))]
            batches.append(batch(offset, records, producer_id=producer_id))
            offset += len(records)
        if rng.random() < 0.2:
            batches.append(rng.choice(batches))  # a log that was put together twice
        log = write(tmp_path / str(seed), batches).parent
        for asked in FILTERS.values():
            found |= counting(log, **asked)
    assert len(found) > 20


def one_record(rng: random.Random) -> tuple[bytes, bytes | None]:
    partition = rng.randrange(2)
    match rng.randrange(5):
        case 0:
            return tombstone("g", "t", partition)
        case 1:
            return commit("g", "t", partition, rng.randrange(100), "nicht von der Stange: ü")
        case 2:
            return group_metadata("g", rng.randrange(9))
        case _:
            return commit("g", "t", partition, rng.randrange(100))
