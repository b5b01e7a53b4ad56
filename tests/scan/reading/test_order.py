"""Rows in order of several columns, also where these have no room in one number."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kgroup.scan.reading.order import begins_of, ordered_by, ranks

SMALL = st.integers(-3, 3)
ANY = st.integers(-(2**63), 2**63 - 1) | SMALL


def ordered(rows):
    keys = [np.array(key, np.int64) for key in zip(*rows, strict=True)]
    return ordered_by(*keys).tolist()


class TestOrderedBy:
    @given(st.lists(st.tuples(SMALL, SMALL, SMALL), min_size=1, max_size=30))
    def test_sorts_as_tuples_do_and_leaves_equal_ones_in_their_order(self, rows):
        assert ordered(rows) == sorted(range(len(rows)), key=rows.__getitem__)

    @given(st.lists(st.tuples(ANY, ANY), min_size=1, max_size=30))
    def test_so_do_keys_that_64_bits_have_no_room_for(self, rows):
        assert ordered(rows) == sorted(range(len(rows)), key=rows.__getitem__)

    @given(st.lists(st.sampled_from([0, 2**62 - 1]), min_size=5, max_size=30))
    def test_so_do_keys_that_leave_no_room_for_places(self, keys):
        assert ordered([(key,) for key in keys]) == sorted(range(len(keys)), key=keys.__getitem__)

    @given(st.lists(st.tuples(SMALL, SMALL), min_size=1, max_size=30), st.booleans())
    def test_a_last_key_may_rise_or_fall_from_row_to_row(self, rows, rises):
        rows = [(*row, place if rises else -place) for place, row in enumerate(rows)]
        assert ordered(rows) == sorted(range(len(rows)), key=rows.__getitem__)

    def test_a_narrow_type_does_not_overflow(self):
        partitions = np.array([2**31 - 1, -(2**31), 0], np.int32)
        assert ordered_by(partitions, np.array([5, 5, 5])).tolist() == [1, 2, 0]

    def test_no_rows(self):
        assert ordered_by(np.empty(0, np.int64)).tolist() == []


def test_a_run_begins_where_any_key_differs():
    keys = [np.array([1, 1, 1, 2]), np.array([7, 7, 8, 8])]
    assert begins_of(keys).tolist() == [True, False, True, True]


def test_ranks_are_by_code_point():
    column = pa.chunked_array([pa.array(["b", "é", "B", "b", "😀"]).dictionary_encode()])
    assert ranks(column).tolist() == [1, 2, 0, 1, 3]


def test_a_column_without_chunks_has_no_ranks():
    assert ranks(pa.chunked_array([], pa.dictionary(pa.int32(), pa.string()))).tolist() == []
