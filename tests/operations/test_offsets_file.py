"""Files of offsets: Kafka's CSV in both forms, the JSON of `fsck --rescue`, and what is wrong with others."""

import json
from pathlib import Path

import pytest

from kgroup.errors import InputError
from kgroup.operations.model import Position
from kgroup.operations.offsets_file import RESCUED, parse_offsets
from kgroup.report.rescue import FORMAT, RescuedCommit, write_rescued


def test_lines_without_a_group() -> None:
    assert parse_offsets("orders,0,5\norders,1,17\n", "a.csv") == {
        None: {("orders", 0): Position(5), ("orders", 1): Position(17)}
    }


def test_lines_with_a_group() -> None:
    text = '\ufeffbilling,orders,0,5\r\n\r\n"a,b",orders,0,6'
    assert parse_offsets(text, "a.csv") == {
        "billing": {("orders", 0): Position(5)},
        "a,b": {("orders", 0): Position(6)},
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "a.csv: no offsets in it"),
        ("\n\n", "a.csv: no offsets in it"),
        ("orders,0\n", "a.csv, line 1: 2 fields; a line is TOPIC,PARTITION,OFFSET"),
        ("orders,0,1\norders,x,2\n", "a.csv, line 2: partition 'x' is not a number"),
        ("orders,0,1\norders,1,-2\n", "a.csv, line 2: offset '-2' is not a number"),
        ("orders,0,1\norders,1,\n", "a.csv, line 2: offset '' is not a number"),
        ("orders,2147483648,1\n", "a.csv, line 1: partition '2147483648' is not a number from 0"),
        ("orders,0,9223372036854775808\n", "a.csv, line 1: offset '9223372036854775808' is not"),
        ("orders,0,1\ng,orders,1,2\n", "a.csv, line 2: 4 fields, where the first line has 3"),
        (",0,1\n", "a.csv, line 1: no topic"),
        ("orders,0,1\naudit,0,1\norders,0,2\n", "a.csv, line 3: orders-0 is given twice"),
        ("g,orders,0,1\ng,orders,0,2\n", "a.csv, line 2: orders-0 of group 'g' is given twice"),
        ('orders,0,1\n"orders,1,2\n', "a.csv, line 2: unexpected end of data"),
        ("{", "a.csv: Expecting property name"),
        ('{"format": "other/2"}', "a.csv: JSON of the format 'other/2'; kgroup fsck --rescue writes"),
        ('{"format": "kgroup-offsets/1"}', "a.csv: offsets: not a list"),
        ('{"format": "kgroup-offsets/1", "offsets": [1]}', r"a.csv, offsets\[0\]: not an object"),
        ('{"format": "kgroup-offsets/1", "offsets": [{}]}', r"a.csv, offsets\[0\]: group: missing"),
        ('{"format": "kgroup-offsets/1", "offsets": []}', "a.csv: no offsets in it"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text: str, why: str) -> None:
    with pytest.raises(InputError, match=f"^{why}"):
        parse_offsets(text, "a.csv")


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("topic", 5, "topic: not a text"),
        ("partition", "0", "partition: not 0 to"),
        ("partition", True, "partition: not 0 to"),
        ("offset", -1, "offset: not 0 to"),
        ("offset", None, "offset: missing"),
        ("leader_epoch", -2, "leader_epoch: not -1 to"),
        ("metadata", 7, "metadata: not a text"),
    ],
)
def test_a_wrong_field_of_the_json_is_named(field: str, value: object, why: str) -> None:
    entry = {"group": "g", "topic": "t", "partition": 0, "offset": 1, field: value}
    with pytest.raises(InputError, match=rf"^a.json, offsets\[0\]: {why}"):
        parse_offsets(json.dumps({"format": RESCUED, "offsets": [entry]}), "a.json")


@pytest.mark.parametrize("name", ["out.json", "out.csv"])
def test_what_fsck_rescues_is_read_again(name: str, tmp_path: Path) -> None:
    assert RESCUED == FORMAT
    path = tmp_path / name
    write_rescued(path, [RescuedCommit("g", "orders", 3, 42, 7, "m", 1_700_000_000_000)])
    position = Position(42) if name.endswith("csv") else Position(42, 7, "m")
    assert parse_offsets(path.read_text(), name) == {"g": {("orders", 3): position}}
