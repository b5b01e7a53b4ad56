"""What is left out before it is decoded is just what the filter would leave out afterwards."""

from functools import cache
from pathlib import Path

import pytest

from kgroup.api.decode.filter import Filter
from kgroup.api.decode.selection import Preselection
from kgroup.log.files.entries import ReadRecord, read_decoded
from kgroup.log.files.sources import open_sources
from kgroup.log.format.batch import Batch

FIXTURES = Path(__file__).parents[3] / "fixtures"
CAPTURES = [
    "4.3.1/lives",
    "3.9.1/compacted",  # gaps, empty batches, tombstones
    "0.10.1.1/codec-gzip",  # wrapper messages
    "1.1.1/format-0.9",  # no times but those of the commits
    "damaged/short-value",
    "damaged/null-key",
    "damaged/unknown-key-version",
]


@cache
def everything(capture: str) -> list[ReadRecord]:
    sources = open_sources([FIXTURES / capture])
    return [item for item in read_decoded(sources) if isinstance(item, ReadRecord)]


def place(read: ReadRecord) -> tuple[int, int, int | None]:
    return read.segment.partition, read.batch.position, None if read.record is None else read.record.offset


def group_of_some_commit(capture: str) -> str:
    return next(
        key.group
        for read in everything(capture)
        if (key := getattr(read.entry, "key", None)) is not None and hasattr(key, "topic")
    )


def filters(capture: str) -> dict[str, Filter]:
    times = sorted(read.batch.max_timestamp_ms for read in everything(capture))
    middle_ms = times[len(times) // 2] + (1 if times[0] >= 0 else 0)
    return {
        "all": Filter(),
        "group": Filter(groups=(group_of_some_commit(capture),)),
        "pattern": Filter(groups=("*a*",)),
        "topic": Filter(topics=(("orders", None),)),
        "topic partition": Filter(topics=(("*", frozenset({1})),)),
        "type": Filter(types=frozenset({"group-metadata", "offset-commit"})),
        "undecoded": Filter(types=frozenset({"undecoded"})),
        "control": Filter(types=frozenset({"control", "empty-batch"})),
        "offsets": Filter(first_offset=20, last_offset=40),
        "since": Filter(since_ms=middle_ms),
        "until": Filter(until_ms=middle_ms),
        "tombstones": Filter(tombstones=True),
        "several": Filter(
            groups=("*",), tombstones=True, first_offset=10, types=frozenset({"offset-commit"})
        ),
    }


@pytest.mark.parametrize("capture", CAPTURES)
def test_early_and_late_agree(capture: str) -> None:
    for name, wanted in filters(capture).items():
        sources = open_sources([FIXTURES / capture])
        chosen = read_decoded(sources, selection=Preselection(wanted, lambda size: None))
        early = [place(read) for read in chosen if isinstance(read, ReadRecord) and wanted.wants(read)]
        late = [place(read) for read in everything(capture) if wanted.wants(read)]
        assert early == late, name


@pytest.mark.parametrize(
    "wanted",
    [
        Filter(groups=("billing-txn",)),
        Filter(topics=(("orders", frozenset({1})),)),
        Filter(types=frozenset({"group-metadata"})),
        Filter(first_offset=3, last_offset=3),
        Filter(tombstones=True),
    ],
)
def test_other_records_are_not_decoded(wanted: Filter) -> None:
    sources = open_sources([FIXTURES / "4.3.1/lives"])
    selection = Preselection(wanted, lambda size: None)
    decoded = [item for item in read_decoded(sources, selection=selection) if isinstance(item, ReadRecord)]
    assert decoded
    assert all(wanted.wants(read) for read in decoded if not read.batch.control and read.record is not None)


def test_batches_outside_of_the_offsets_and_before_the_time_are_not_unpacked() -> None:
    reads = everything("3.9.1/codec-zstd")
    batches = list({id(read.batch): read.batch for read in reads}.values())
    middle = batches[len(batches) // 2]

    def unpacked(wanted: Filter) -> list[Batch]:
        selection = Preselection(wanted, lambda size: None)
        return [batch for batch in batches if selection.wants_batch(batch)]

    assert unpacked(Filter()) == batches
    by_offset = unpacked(Filter(first_offset=middle.base_offset, last_offset=middle.last_offset))
    assert middle in by_offset
    assert all(batch.last_offset >= middle.base_offset for batch in by_offset)
    assert all(batch.base_offset <= middle.last_offset for batch in by_offset)
    late = unpacked(Filter(since_ms=middle.max_timestamp_ms))
    assert middle in late
    assert {batch.max_timestamp_ms < middle.max_timestamp_ms for batch in late} == {False}
    assert len(late) < len(batches)


def test_progress_counts_batches_that_are_passed_over() -> None:
    done: list[int] = []
    sources = open_sources([FIXTURES / "damaged/healthy"])
    list(read_decoded(sources, selection=Preselection(Filter(first_offset=10**9), done.append)))
    assert sum(done) == 15423
