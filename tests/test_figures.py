"""The README's table of figures is what `python -m benchmarks.all` writes, whatever the figures are."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks.all import BEGIN, END, HEADERS, README, ROWS, put_into


def table() -> list[list[str]]:
    """The cells of what stands between the marks."""
    begin, end = (README.read_text(encoding="utf-8").index(mark) for mark in (BEGIN, END))
    lines = README.read_text(encoding="utf-8")[begin:end].splitlines()
    return [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in lines if line.startswith("|")]


def test_it_has_the_columns_and_rows_that_are_measured():
    head, rule, *rows = table()
    assert head == list(HEADERS)
    assert rule == ["---"] * len(HEADERS)
    assert [(what, compared, command) for what, _, compared, command in rows] == [
        (row.what, row.compared_with, f"`{row.command}`") for row in ROWS
    ]


def test_every_row_has_a_figure():
    for _, figure, *_ in table()[2:]:
        assert re.search(r"\d", figure), figure


def test_it_says_what_log_and_machine_it_was_measured_with():
    text = README.read_text(encoding="utf-8")
    between = text[text.index(BEGIN) : text.index(END)]
    assert re.search(r"^A log of [\d,]+ MB with [\d.]+ M records; \d+ cores .*, Python 3\.", between, re.M)


@pytest.mark.parametrize("benchmark", sorted({row.benchmark for row in ROWS}))
def test_a_benchmark_that_is_named_can_be_run(benchmark):
    spec = find_spec(f"benchmarks.{benchmark}")
    assert spec is not None
    assert spec.origin is not None
    assert Path(spec.origin).read_text().endswith('\nif __name__ == "__main__":\n    main()\n')


def test_a_new_table_takes_the_place_of_the_old_one_and_of_nothing_else():
    readme = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    assert put_into(readme, "new") == f"before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"
    assert put_into(put_into(readme, "new"), "new") == put_into(readme, "new")


def test_a_readme_without_the_marks_is_left_alone():
    with pytest.raises(SystemExit, match="marks"):
        put_into("before\nafter\n", "new")
