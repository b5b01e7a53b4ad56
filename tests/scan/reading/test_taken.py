"""Rows by their places are those that Arrow's own `take` gives."""

import subprocess
import sys
from uuid import UUID

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.scan.reading.arrow import COMMIT_SCHEMA
from kgroup.scan.reading.taken import ids_of, rows_at, taken

SCHEMA = pa.schema(
    [
        ("number", pa.int64()),
        ("short", pa.int16()),
        ("truth", pa.bool_()),
        ("text", pa.string()),
        ("id", pa.binary(16)),
        ("name", pa.dictionary(pa.int32(), pa.string())),
    ]
)
ROW = st.fixed_dictionaries(
    {
        "number": st.integers(-(2**63), 2**63 - 1),
        "short": st.integers(-(2**15), 2**15 - 1),
        "truth": st.booleans(),
        "text": st.text(st.sampled_from("aé😀"), max_size=4),
        "id": st.none() | st.binary(min_size=16, max_size=16),
        "name": st.sampled_from(["orders", "", "élan"]),
    }
)


def chunk(rows):
    columns = [pa.array([row[field.name] for row in rows], _plain(field.type)) for field in SCHEMA]
    encoded = [
        column.dictionary_encode() if pa.types.is_dictionary(field.type) else column
        for column, field in zip(columns, SCHEMA, strict=True)
    ]
    return pa.RecordBatch.from_arrays(encoded, schema=SCHEMA)


def _plain(kind):
    return kind.value_type if pa.types.is_dictionary(kind) else kind


@given(
    chunks=st.lists(st.lists(ROW, max_size=9), max_size=4),
    cut=st.integers(0, 9),
    draw=st.data(),
)
def test_rows_of_any_chunks_and_slices(chunks, cut, draw):
    table = pa.Table.from_batches([chunk(rows) for rows in chunks], schema=SCHEMA).slice(cut)
    places = draw.draw(
        st.lists(st.integers(0, table.num_rows - 1), max_size=20) if len(table) else st.just([])
    )
    chosen = taken(table, np.array(places, np.int64))
    assert chosen.schema == SCHEMA
    assert chosen.to_pylist() == table.take(pa.array(places, pa.int64())).to_pylist()
    chosen.validate(full=True)
    assert all(column.num_chunks == 1 for column in chosen.columns)


def test_commits_have_no_column_that_cannot_be_taken():
    nothing = pa.Table.from_batches([], schema=COMMIT_SCHEMA)
    assert taken(nothing, np.empty(0, np.int64)).schema == COMMIT_SCHEMA


ALONE = """
import sys
import numpy as np
import pyarrow as pa
from kgroup.scan.kernels.compile import TIER
from kgroup.scan.kernels.gather import numbers
from kgroup.scan.reading.taken import taken
TIER.found_bytes = 1 << 40  # somebody else reads them
bounds, text, ids = (pa.py_buffer(raw) for raw in (np.arange(3, dtype=np.int32).data, b"ab", bytes(32)))
columns = [
    numbers(np.array([5, 6])),
    pa.StringArray.from_buffers(2, bounds, text),
    pa.Array.from_buffers(pa.binary(16), 2, [None, ids]),
]
table = pa.Table.from_arrays(columns, ["lag", "metadata", "id"])
assert taken(table, np.array([1, 0])).num_rows == 2
print(*sorted({"llvmlite", "numpy.ma", "pyarrow.compute"} & set(sys.modules)))
"""


def test_who_only_puts_parts_together_loads_neither_machine_code_nor_all_of_arrow():
    answer = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=True)
    assert answer.stdout == "\n"


def test_numbers_must_be_known():
    table = pa.table({"number": pa.array([1, None])})
    with pytest.raises(AssertionError, match="a column of int64 with nulls"):
        taken(table, np.array([0]))


@given(st.lists(st.none() | st.binary(min_size=16, max_size=16), max_size=20), st.integers(0, 20))
def test_topic_ids_are_zeros_where_there_is_none(ids, cut):
    column = pa.array(ids, pa.binary(16)).slice(cut)
    assert ids_of(column) == [UUID(int=0).bytes if one is None else one for one in ids[cut:]]


def test_what_stands_where_there_is_no_id_does_not_count():
    known, memory = pa.py_buffer(b"\x02"), pa.py_buffer(b"x" * 32)
    column = pa.Array.from_buffers(pa.binary(16), 2, [known, memory])
    assert ids_of(column) == [bytes(16), b"x" * 16]


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=5), max_size=5), st.sets(st.integers(0, 24)))
def test_rows_at_places_are_taken_from_the_chunk_that_has_them(chunks, places):
    whole = [name for chunk in chunks for name in chunk]
    encoded = [pa.array(chunk, pa.string()).dictionary_encode() for chunk in chunks]
    names = pa.chunked_array(encoded, pa.dictionary(pa.int32(), pa.string()))
    table = pa.table({"name": names, "place": pa.chunked_array([pa.array(range(len(whole)), pa.int64())])})
    there = sorted(place for place in places if place < len(whole))
    chosen = rows_at(table, np.array(there, np.int64))
    assert chosen.schema == table.schema
    assert chosen["name"].to_pylist() == [whole[place] for place in there]
    assert chosen["place"].to_pylist() == there
