import io
import json
from contextlib import closing
from pathlib import Path

import pytest

from kgroup.log.files.entries import read_decoded
from kgroup.log.files.sources import open_sources
from kgroup.log.files.spool import SpooledStream
from kgroup.log.files.transaction_outcomes import TransactionOutcomes
from kgroup.log.format.batch import Damage
from kgroup.protocol.records.entries import TransactionOutcome

FIXTURES = Path(__file__).parents[3] / "fixtures"
CAPTURES = [capture for capture in sorted(FIXTURES.glob("[0-9]*/*")) if (capture / "truth.jsonl").exists()]


def outcomes_of(capture):
    """Partition and offset of each transactional record, and how its transaction ended by kgroup."""
    sources = open_sources([capture])
    outcomes = TransactionOutcomes(sources)
    for read in read_decoded(sources):
        assert not isinstance(read, Damage)
        if read.record is not None:
            outcome = outcomes.of(read.segment, read.batch, read.record.offset)
            if outcome is not None:
                yield (read.segment.partition, read.record.offset), outcome


def true_outcomes(capture):
    """The same by reading the truth backwards: the next marker of its producer decides on a record."""
    lines = [json.loads(line) for line in (capture / "truth.jsonl").read_text().splitlines()]
    fates = {}
    for line in reversed(lines):
        batch = line["batch"]
        producer = line["partition"], batch.get("producerId")
        if line["kind"] == "control":
            fates[producer] = line["control"]
        elif batch.get("transactional") and "offset" in line:
            fate = {"COMMIT": "committed", "ABORT": "aborted"}.get(fates.get(producer), "pending")
            yield (line["partition"], line["offset"]), TransactionOutcome(fate)


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda capture: str(capture.relative_to(FIXTURES)))
def test_outcomes_of_every_capture(capture):
    assert dict(outcomes_of(capture)) == dict(true_outcomes(capture))


def test_the_captures_hold_both_endings():
    kinds = set(dict(outcomes_of(FIXTURES / "4.3.1" / "lives")).values())
    assert kinds == {TransactionOutcome.COMMITTED, TransactionOutcome.ABORTED}


def transactional_segment():
    (segment,) = open_sources([FIXTURES / "4.3.1" / "lives" / "__consumer_offsets-48"])
    return segment


def test_a_transaction_whose_marker_is_cut_off_is_pending(tmp_path):
    segment = transactional_segment()
    first_marker = next(read.batch.position for read in read_decoded([segment]) if read.batch.control)
    cut = tmp_path / "00000000000000000000.log"
    cut.write_bytes(Path(segment.path).read_bytes()[:first_marker])
    assert set(dict(outcomes_of(cut)).values()) == {TransactionOutcome.PENDING}


def test_standard_input_is_read_ahead_through_its_spool():
    data = Path(transactional_segment().path).read_bytes()
    sources = open_sources(["-"])
    with closing(SpooledStream(io.BytesIO(data))) as spooled:
        outcomes = TransactionOutcomes(sources, spooled)
        kinds = {
            outcomes.of(read.segment, read.batch, read.record.offset)
            for read in read_decoded(sources, stdin=spooled.open())
        }
    assert kinds == {None, TransactionOutcome.COMMITTED, TransactionOutcome.ABORTED}
