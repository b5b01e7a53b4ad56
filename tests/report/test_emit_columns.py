"""Columns are written as the rows they are, byte for byte, however many come at a time."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgroup.history.groups.model import GroupState
from kgroup.report.emit import Column, Kind, OutputFormat, emit
from kgroup.report.emit_columns import emit_columns, rows_of, selected
from tests.report.test_emit_batches import written

COLUMNS = (
    Column(name="group"),
    Column(name="lag", kind=Kind.INTEGER),
    Column(name="state"),
    Column(name="100%s", kind=Kind.FLOAT),
    Column(name="waited_ms", kind=Kind.DURATION_MS),
    Column(name="at_ms", kind=Kind.TIME_MS),
    Column(name="stuck", kind=Kind.BOOLEAN),
    Column(name="nowhere"),
    Column(name="evidence", kind=Kind.NESTED),
)
NUMBERS = st.none() | st.integers(-(2**63), 2**63 - 1)
EVIDENCE = st.dictionaries(
    st.sampled_from(("lag", 'a"b,', "100%s", "\x1b", "größe")), st.integers(-(2**70), 2**70), max_size=3
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "evidence": st.none() | st.just({"lag": 5, "known": None}) | st.just(["a", "b"]) | EVIDENCE,
            "group": st.none()
            | st.sampled_from(('a"b\\', "größe", "", "x,y", "two\nlines", "\x1b[0m", "%s")),
            "lag": NUMBERS,
            "state": st.none() | st.sampled_from([*GroupState]),
            "100%s": st.none() | st.sampled_from((0.0, -0.0, 1.0, 0.1)),
            "waited_ms": NUMBERS,
            "at_ms": st.none() | st.integers(0, 2**41),
            "stuck": st.none() | st.booleans(),
        }
    ).map(lambda row: {name: row[name] for name in sorted(row)}),
    max_size=7,
)


def chunks_of(rows, size):
    """So many rows at a time; without a row there is no chunk."""
    for start in range(0, len(rows), size):
        some = rows[start : start + size]
        yield {name: [row[name] for row in some] for name in rows[0]}


@pytest.mark.parametrize("output_format", OutputFormat)
@settings(max_examples=30)
@given(
    rows=ROWS, size=st.integers(1, 4), columns=st.just(COLUMNS) | st.sampled_from([(one,) for one in COLUMNS])
)
def test_a_format_is_the_same_byte_for_byte(output_format, rows, size, columns):
    by_row = written(lambda *how: emit(rows, *how), output_format, columns)
    by_column = written(lambda *how: emit_columns(chunks_of(rows, size), *how), output_format, columns)
    assert by_column == by_row


def test_a_chunk_as_rows_and_some_of_them():
    chunk = {"group": ["a", "b", "c"], "lag": [1, None, 0]}
    assert list(rows_of(selected(chunk, [True, False, True]))) == [
        {"group": "a", "lag": 1},
        {"group": "c", "lag": 0},
    ]
    assert list(rows_of(chunk, ["lag"])) == [{"lag": 1}, {"lag": None}, {"lag": 0}]
