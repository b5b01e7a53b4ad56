"""The quick text of records beside the encoder's."""

import json
from pathlib import Path

import pytest

from kgroup.log.files.entries import read_decoded
from kgroup.log.files.sources import open_sources
from kgroup.log.format.batch import Damage
from kgroup.protocol.records.entries import TransactionOutcome
from kgroup.report.emit import JsonText, Row
from kgroup.report.records.record_json import record_json
from kgroup.report.records.record_text import RecordText
from tests.report.records.test_record_json import COMMIT_KEY, TOPIC_ID, read_of

FIXTURES = Path(__file__).parents[3] / "fixtures"
CAPTURES = sorted(str(file.parent.relative_to(FIXTURES)) for file in FIXTURES.glob("*/*/topics.json"))
DAMAGED = [
    "damaged/bad-subscription",
    "damaged/trailing-bytes-in-value",
    "damaged/null-key",
    "damaged/short-key",
]


def unpacked(row: Row) -> dict[str, object]:
    """The row with its JSON texts parsed and its unknown fields left out, as a reader of CSV has it."""
    plain = {name: json.loads(field) if isinstance(field, JsonText) else field for name, field in row.items()}
    return without_sizes({name: field for name, field in plain.items() if field is not None})


def without_sizes(row: dict[str, object]) -> dict[str, object]:
    sizes = ("keySize", "valueSize")
    return {name: field for name, field in row.items() if name not in sizes and field is not None}


@pytest.mark.parametrize("capture", [*CAPTURES, *DAMAGED])
def test_the_text_is_that_of_the_json_of_every_record(capture: str) -> None:
    text = RecordText({})
    count = 0
    for read in read_decoded(open_sources([FIXTURES / capture])):
        assert not isinstance(read, Damage)
        outcome = TransactionOutcome.COMMITTED if read.batch.transactional else None
        expected = json.dumps(record_json(read, transaction=outcome), ensure_ascii=False)
        assert text.line(read, outcome) == expected
        assert unpacked(text.flat(read, outcome)) == without_sizes(record_json(read, transaction=outcome))
        count += 1
    assert count > 50


FRONT = "0000000000000001"
COMMITTED_AT = "000000000000000c"


@pytest.mark.parametrize(
    "value",
    [
        f"0000 {FRONT} 0000 {COMMITTED_AT}",
        f"0001 {FRONT} 0001 6d {COMMITTED_AT} 0000000000000011",
        f"0002 {FRONT} 0003 22 5c 0a {COMMITTED_AT}",
        f"0003 {FRONT} 00000007 0002 c3a9 {COMMITTED_AT}",
        f"0004 {FRONT} ffffffff 02 00 {COMMITTED_AT} 00",
        f"0004 {FRONT} 00000007 01 {COMMITTED_AT} 01 00 10 {TOPIC_ID.bytes.hex()}",
        f"0004 {FRONT} 00000007 01 {COMMITTED_AT} 01 00 10 {bytes(16).hex()}",
        f"0003 {FRONT} 00000007 0001 ff {COMMITTED_AT} 2122",
    ],
)
@pytest.mark.parametrize("names", [{}, {TOPIC_ID: 'the "orders"'}])
def test_the_text_of_commits_of_every_version(value: str, names: dict[object, str]) -> None:
    read = read_of(COMMIT_KEY, bytes.fromhex(value))
    expected = json.dumps(record_json(read, topic_names=names), ensure_ascii=False)
    text = RecordText(names)
    assert text.line(read) == expected
    assert text.line(read) == expected  # from what is remembered
