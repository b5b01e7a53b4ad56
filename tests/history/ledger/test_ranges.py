"""Sets of offsets as ranges, against sets of numbers."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kgroup.history.ledger import ranges

numbers = st.integers(0, 30)
pairs = st.lists(st.tuples(numbers, numbers), max_size=6)


def made(many):
    return ranges.union(ranges.of(first, end) for first, end in many)


def offsets(some):
    return {each for first, end in some for each in range(first, end)}


@given(pairs, pairs)
def test_they_are_as_sets_of_numbers(one, other):
    one, other = made(one), made(other)
    assert offsets(ranges.union([one, other])) == offsets(one) | offsets(other)
    assert offsets(ranges.both(one, other)) == offsets(one) & offsets(other)
    assert offsets(ranges.without(one, other)) == offsets(one) - offsets(other)


@given(pairs, pairs)
def test_they_are_sorted_and_apart(one, other):
    one, other = made(one), made(other)
    for some in (ranges.union([one, other]), ranges.both(one, other), ranges.without(one, other)):
        assert all(each.first < each.end for each in some)
        assert all(before.end < after.first for before, after in pairwise(some))
