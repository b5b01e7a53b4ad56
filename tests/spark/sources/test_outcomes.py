"""The outcome of each transactional commit, wherever the log is cut, as the plain path finds it."""

from pathlib import Path

import pytest

from kgroup.log.files.entries import read_decoded
from kgroup.log.files.sources import open_sources
from kgroup.log.files.transaction_outcomes import TransactionOutcomes
from kgroup.log.format.batch import Damage
from kgroup.protocol.records.entries import OffsetsEntry, RecordType
from tests.spark.sources.test_offsets import read

FIXTURES = Path(__file__).parents[3] / "fixtures"


def outcomes_in(capture: Path) -> dict[tuple[int, int], str | None]:
    sources = open_sources([capture])
    outcomes, found = TransactionOutcomes(sources), {}
    for item in read_decoded(sources):
        if isinstance(item, Damage) or not isinstance(item.entry, OffsetsEntry):
            continue
        if item.entry.type is RecordType.OFFSET_COMMIT:
            outcome = outcomes.of(item.segment, item.batch, item.record.offset)
            found[item.segment.partition, item.record.offset] = None if outcome is None else outcome.value
    return found


@pytest.mark.parametrize("task_bytes", ["4096", "100000000"])
@pytest.mark.parametrize("capture", ["4.3.1/lives", "4.3.1/odd-members"])
def test_each_transaction_ends_as_its_marker_says(capture: str, task_bytes: str):
    rows = read(FIXTURES / capture, columns="offsets_partition,log_offset,transaction", taskBytes=task_bytes)
    truth = outcomes_in(FIXTURES / capture)
    assert {(row["offsets_partition"], row["log_offset"]): row["transaction"] for row in rows} == truth


def test_the_captures_have_transactions_of_both_ends():
    assert {"committed", "aborted", None} <= set(outcomes_in(FIXTURES / "4.3.1/lives").values())
