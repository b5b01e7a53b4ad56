"""Arrow batches are written as the rows they hold."""

import io
import sys

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from kgroup.report.emit import Column, Kind, OutputFormat, OutputOptions, arrow_batches, emit, to_json
from kgroup.report.emit_batches import emit_batches, transit_schema
from kgroup.report.json_columns import json_objects, json_values

COLUMNS = (
    Column(name="group"),
    Column(name="lag", kind=Kind.INTEGER),
    Column(name="committed_at", kind=Kind.TIME_MS),
    Column(name="stuck", kind=Kind.BOOLEAN),
    Column(name="share", kind=Kind.FLOAT),
    Column(name="evidence", kind=Kind.NESTED),
)
NAMES = ('a"b\\', "größe", "", "x,y", "line\nbreak", "\x1b[0m")
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "group": st.none() | st.sampled_from(NAMES),
            "lag": st.none() | st.integers(-(2**63), 2**63 - 1),
            "committed_at": st.none() | st.integers(0, 2**41),
            "stuck": st.none() | st.booleans(),
            "share": st.none() | st.floats(0, 1),
            "evidence": st.none() | st.just({}) | st.just({"lag": 5, "known": None}),
        }
    ).map(lambda row: {column.name: row[column.name] for column in COLUMNS}),
    max_size=6,
)


def batches_of(rows):
    """In two batches, the names as a dictionary."""
    texts = [
        {**row, "evidence": None if row["evidence"] is None else to_json(row["evidence"])} for row in rows
    ]
    for half in (texts[:3], texts[3:]):
        batch = pa.RecordBatch.from_pylist(half, transit_schema(COLUMNS))
        column = batch.schema.get_field_index("group")
        yield batch.set_column(column, "group", batch["group"].dictionary_encode())


def written(write, output_format, columns=COLUMNS):
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        write(columns, OutputOptions(format=output_format))
        out.flush()
    return out.buffer.getvalue()


@pytest.mark.parametrize("output_format", [each for each in OutputFormat if each is not OutputFormat.PARQUET])
@settings(max_examples=40)
@given(rows=ROWS)
def test_text_is_the_same_byte_for_byte(output_format, rows):
    batches = list(batches_of(rows))
    by_row = written(lambda *how: emit(rows, *how), output_format)
    assert written(lambda *how: emit_batches(batches, *how), output_format) == by_row


@settings(max_examples=20)
@given(rows=ROWS)
def test_parquet_is_the_same_table(rows):
    file = written(lambda *how: emit_batches(batches_of(rows), *how), OutputFormat.PARQUET)
    table = parquet.read_table(io.BytesIO(file))
    assert table.to_pylist() == pa.Table.from_batches(arrow_batches(rows, COLUMNS)).to_pylist()
    assert table.schema == next(arrow_batches([], COLUMNS)).schema


def test_columns_that_are_not_asked_for_are_left_out():
    batch = pa.RecordBatch.from_pylist([dict.fromkeys(column.name for column in COLUMNS)])
    some = COLUMNS[:2]
    out = written(lambda _, how: emit_batches([batch], some, how), OutputFormat.JSONL)
    assert out == b'{"group": null, "lag": null}\n'


def test_objects_without_fields():
    assert json_objects({}, 2).to_pylist() == ["{}", "{}"]
    assert json_values(pa.nulls(1, pa.int64())).to_pylist() == ["null"]
