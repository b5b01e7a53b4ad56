"""Tables in bulk: the same text as row by row, however the rows come."""

import random

import pytest

from kgroup.report.table import TableColumn, render_table
from kgroup.report.table_text import cells_of, table_text
from tests.scan.tiers import kernels

COLUMNS = [
    TableColumn(heading="N", right=True, wraps=False),
    TableColumn(heading="A-HEADING"),
    TableColumn(heading="B", right=True),
    TableColumn(heading="LAST"),
]
WORDS = ["", "a", "-", "b ", " c", "two words", "x" * 40]
WIDE = [*WORDS, "日本", "e\u0301", "ü"]


def shown(rows: list[list[str]], cut: int, **options: object) -> str:
    text = "".join("\0".join(row) + "\n" for row in rows).encode()
    ends = [at for at in range(len(text)) if text[at : at + 1] == b"\n"]
    begins = [0, *(end + 1 for end in ends[cut - 1 :: cut])]
    pieces = [text[begin:end] for begin, end in zip(begins, [*begins[1:], len(text)], strict=True)]
    return b"".join(bytes(part) for part in table_text(COLUMNS, pieces, **options)).decode()


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "as Python"])
@pytest.mark.parametrize("show_headings", [True, False])
@pytest.mark.parametrize("count", [0, 1, 6, 7, 8, 50])
@pytest.mark.parametrize("words", [WORDS, WIDE], ids=["ascii", "wide"])
def test_the_same_as_row_by_row(words, count, show_headings, compiled):
    for seed in range(20):
        rng = random.Random(seed)
        rows = [
            [str(rng.getrandbits(rng.randint(1, 3 + number))), *(rng.choice(words) for _ in range(3))]
            for number in range(count)
        ]
        options = {"show_headings": show_headings, "rows_at_once": 7}
        lines = [line + "\n" for line in render_table(COLUMNS, rows, **options)]
        with kernels(compiled=compiled):
            assert shown(rows, rng.choice((1, 3, 100)), **options) == "".join(lines)


def test_much_comes_in_parts_that_are_no_longer_than_they_must_be():
    row = ["1", "x" * 1000, "2", "y"]
    pieces = ["\0".join(row).encode() + b"\n"] * 5000
    parts = [bytes(part) for part in table_text(COLUMNS, pieces, show_headings=True, rows_at_once=100)]
    assert len(parts) == 51
    assert (
        b"".join(parts)
        == "".join(line + "\n" for line in render_table(COLUMNS, [row] * 5000, rows_at_once=100)).encode()
    )


def test_cells_of_pieces():
    assert list(cells_of([b"a\0\nb\0c\n", b"", b"\0\n"])) == [["a", ""], ["b", "c"], ["", ""]]
