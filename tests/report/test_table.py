import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.report.table import (
    TableColumn,
    aligned_lines,
    cell_widths,
    display_width,
    printable,
    printable_name,
    render_table,
)


def table(headings, *rows, right=(), rows_at_once=100, **options):
    columns = [
        TableColumn(heading=heading, right=heading in right, wraps=heading not in right)
        for heading in headings
    ]
    return list(render_table(columns, rows, rows_at_once=rows_at_once, **options))


def test_columns_are_as_wide_as_their_widest_cell_and_numbers_stand_right():
    assert table(["GROUP", "LAG"], ["orders", "7"], ["b", "1200"], right=["LAG"]) == [
        "GROUP    LAG",
        "orders     7",
        "b       1200",
    ]


def test_no_rows_leave_the_headings():
    assert table(["GROUP", "LAG"]) == ["GROUP  LAG"]


def test_without_headings_columns_are_no_wider_than_their_cells():
    assert table(["A-LONG-HEADING", "B"], ["x", "y"], show_headings=False) == ["x  y"]


def test_wide_characters_take_two_columns_and_combining_marks_none():
    assert table(["A", "B"], ["日本", "x"], ["abcd", "x"], ["e\u0301", "x"]) == [
        "A     B",
        "日本  x",
        "abcd  x",
        "e\u0301     x",
    ]


def test_a_table_too_wide_wraps_its_headings_first():
    assert table(["GROUP", "LOG-END-OFFSET"], ["orders", "7"], right=["LOG-END-OFFSET"], width_max=15) == [
        "GROUP     LOG-",
        "          END-",
        "        OFFSET",
        "orders       7",
    ]


def test_a_long_cell_wraps_behind_a_separator_and_loses_nothing():
    lines = table(["GROUP", "N"], ["payments-reconciliation-nightly", "1"], right=["N"], width_max=20)
    assert lines == ["GROUP              N", "payments-          1", "reconciliation-", "nightly"]


def test_a_line_that_is_just_full_does_not_indent_the_next_one():
    lines = table(["WHY"], ["twelve chars and more"], width_max=12)
    assert lines == ["WHY", "twelve chars", "and more"]


def test_a_wrapped_text_breaks_between_words_then_at_separators_and_last_within_a_name():
    text = "no members for 1m 19s; orders.payments_reconciliation/nightly and 日本語日本語日本語"
    assert table(["EVIDENCE"], [text], width_max=16)[1:] == [
        "no members for",
        "1m 19s; orders.",
        "payments_",
        "reconciliation/",
        "nightly and",
        "日本語日本語日本",
        "語",
    ]


def test_texts_are_narrowed_further_only_where_that_makes_the_table_fit():
    rows = ["assign-cooperative", "inventory_stock", "67"]
    fits = table(["GROUP", "TOPIC", "LAG"], rows, right=["LAG"], width_max=27)
    assert fits == ["GROUP       TOPIC       LAG", "assign-     inventory_   67", "cooperativ  stock", "e"]
    never = table(["GROUP", "TOPIC", "LAG"], rows, right=["LAG"], width_max=5)
    assert never[1:] == ["assign-       inventory_     67", "cooperative   stock"]


WITH_ROOM = (
    TableColumn(heading="GROUP"),
    TableColumn(heading="PARTITION", right=True, wraps=False, narrow="P"),
    TableColumn(heading="LAG", right=True, wraps=False),
    TableColumn(heading="CLIENT", spare=2),
    TableColumn(heading="NOTES", spare=1),
)


def with_room(*rows, width_max, **options):
    return list(render_table(WITH_ROOM, rows, rows_at_once=100, width_max=width_max, **options))


def test_where_all_has_room_no_column_is_left_out_and_none_where_there_is_no_screen():
    row = ["orders", "3", "70", "c1", "idle"]
    whole = ["GROUP   PARTITION  LAG  CLIENT  NOTES", "orders          3   70  c1      idle"]
    assert with_room(row, width_max=40) == with_room(row, width_max=None) == whole


def test_a_shorter_heading_comes_before_a_column_to_spare():
    assert with_room(["orders", "3", "70", "c1", "idle"], width_max=30) == [
        "GROUP   P  LAG  CLIENT  NOTES",
        "orders  3   70  c1      idle",
    ]


def test_so_many_columns_are_left_out_that_a_row_is_one_line_and_they_are_named():
    row = ["orders-app", "3", "70", "consumer-1", "no-members"]
    assert with_room(row, width_max=32) == [
        "GROUP       P  LAG  NOTES",
        "orders-app  3   70  no-members",
        "left out on 32 columns: CLIENT",
    ]
    assert with_room(row, width_max=20) == [
        "GROUP       P  LAG",
        "orders-app  3   70",
        "left out on 20",
        "columns: CLIENT,",
        "NOTES",
    ]
    assert with_room(row, width_max=20, show_headings=False) == ["orders-app  3  70"]


def test_what_there_is_room_for_after_all_is_not_left_out():
    row = ["orders", "3", "70", "c1", "n" * 30]
    assert with_room(row, width_max=30) == [
        "GROUP   P  LAG  CLIENT",
        "orders  3   70  c1",
        "left out on 30 columns: NOTES",
    ]


def test_one_long_text_of_many_wraps_and_costs_no_column():
    rows = [["orders", "3", "70", "c1", "idle"]] * 20
    lines = with_room(["a-very-long-group-id", "3", "70", "c1", "idle"], *rows, width_max=29)
    assert lines[:2] == ["GROUP   P  LAG  CLIENT  NOTES", "a-      3   70  c1      idle"]
    assert lines[2:6] == ["very-", "long-", "group-", "id"]
    assert lines[6:] == ["orders  3   70  c1      idle"] * 20


def test_later_and_longer_numbers_take_their_room_from_the_texts():
    lines = table(
        ["N", "WHAT"], ["1", "x" * 30], ["1234", "x" * 30], right=["N"], width_max=20, rows_at_once=1
    )
    assert max(map(len, lines)) == 20


def test_numbers_never_wrap():
    lines = table(["A", "B"], ["123456789012345678", "123456789012345678"], right=["A", "B"], width_max=10)
    assert lines[-1] == "123456789012345678  123456789012345678"
    later = table(["A"], ["1"], ["123"], right=["A"], width_max=10, rows_at_once=1)
    assert later == ["A", "1", "123"]


def test_later_and_longer_rows_widen_the_columns_from_there_on():
    lines = table(["A", "B"], ["x", "1"], ["long cell", "2"], ["y", "3"], rows_at_once=1)
    assert lines == ["A  B", "x  1", "long cell  2", "y          3"]


def test_rows_are_taken_only_when_their_turn_comes():
    taken = []

    def rows():
        for i in range(3):
            taken.append(i)
            yield [str(i)]

    lines = render_table([TableColumn(heading="A")], rows(), rows_at_once=1)
    assert [next(lines), next(lines)] == ["A", "0"]
    assert taken == [0]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("日本語 ü", "日本語 ü"),
        ("red\x1b[31m", "red\\x1b[31m"),
        ("two\nlines\t", "two\\nlines\\t"),
        ("\x9b2J", "\\x9b2J"),
        ("right-to-left \u202egnp", "right-to-left \\u202egnp"),
        ("lone \ud800", "lone \\ud800"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
    ],
)
def test_what_a_terminal_might_obey_is_escaped(text, shown):
    assert printable(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [("DOMAIN\\user", "DOMAIN\\\\user"), ("\\x1b", "\\\\x1b"), ("\x1b", "\\x1b"), ("\\\n", "\\\\\\n")],
)
def test_a_backslash_of_a_name_is_told_from_an_escape(text, shown):
    assert printable_name(text) == shown


@given(st.text(st.characters()), st.text(st.characters()))
def test_no_two_names_look_alike(one, other):
    assert (printable_name(one) == printable_name(other)) == (one == other)
    assert printable_name(one).encode().decode("unicode_escape") == one if one.isascii() else True


def test_a_line_without_escapes_keeps_its_backslashes():
    assert printable("C:\\logs") == "C:\\logs"
    assert printable("C:\\logs\x07") == "C:\\\\logs\\x07"


@given(st.text(st.characters()))
def test_nothing_printable_moves_the_cursor(text):
    assert not {unicodedata.category(char) for char in printable(text)} & {"Cc", "Cf", "Cs", "Zl", "Zp"}


@given(
    st.lists(
        st.lists(st.text(st.characters(categories=["L", "N", "Pd"]), max_size=30), min_size=2, max_size=2)
    ),
    st.integers(28, 90),
)
def test_wrapped_text_keeps_every_character_within_the_width(rows, width):
    lines = table(["A", "B"], *rows, width_max=width)
    assert all(display_width(line) <= width for line in lines)
    shown = sorted("".join(lines[1:]).replace(" ", ""))
    assert shown == sorted("".join("".join(row) for row in rows))


CELLS = st.text(st.characters(codec="utf-8", categories=["L", "M", "N", "P", "S", "Zs"]), max_size=4)


@given(
    st.lists(st.booleans(), min_size=1, max_size=3).flatmap(
        lambda right: st.tuples(
            st.just(right),
            st.lists(st.lists(CELLS, min_size=len(right), max_size=len(right)), min_size=1, max_size=4),
            st.lists(st.integers(0, 3), min_size=len(right), max_size=len(right)),
        )
    )
)
def test_rows_together_have_the_lines_of_each_by_itself(table_of_cells):
    right, rows, more = table_of_cells
    columns = [TableColumn(heading="", right=each) for each in right]
    rows = [[printable(cell) for cell in row] for row in rows]
    widths = [width + spare for width, spare in zip(cell_widths(columns, rows), more, strict=True)]
    together = list(aligned_lines(columns, rows, widths))
    assert together == [line for row in rows for line in aligned_lines(columns, [row], widths)]
    blanks = (" " * (width - display_width(cell)) for width, cell in zip(widths, rows[0], strict=True))
    cells = (
        gap + cell if is_right else cell + gap
        for gap, cell, is_right in zip(blanks, rows[0], right, strict=True)
    )
    assert together[0] == "  ".join(cells).rstrip(" ")
