"""Ranges of keys of about the same size."""

import pytest

from kgroup.spark.ranges import even_ends


@pytest.mark.parametrize(
    ("sample", "rows", "ends"),
    [
        ([], 10, ()),
        ([("a", 4), ("b", 4)], 10, ()),
        ([("b", 5), ("a", 5), ("d", 5), ("c", 5)], 10, ("c",)),
        ([("a", 10), ("b", 10), ("c", 10)], 10, ("b", "c")),
        ([("a", 1), ("b", 50), ("c", 1)], 10, ("b",)),
    ],
    ids=["of nothing", "one", "two", "three", "one key is most of all"],
)
def test_each_ends_where_the_next_begins(
    sample: list[tuple[str, int]], rows: int, ends: tuple[str, ...]
) -> None:
    assert even_ends(sample, rows) == ends
