"""`--from-file` as the tool reads it."""

from pathlib import Path

import pytest

from kgroup.cli.compat.failure import ToolError
from kgroup.cli.compat.plan_file import read_plan
from kgroup.operations.model import Position

_TRACE = "com.fasterxml.jackson.databind.exc.InvalidFormatException: Cannot deserialize value of type"


def plan(tmp_path: Path, text: str, *groups: str) -> dict[str, dict[tuple[str, int], int]]:
    path = tmp_path / "plan.csv"
    path.write_text(text)
    read = read_plan(str(path), groups)
    positions = [position for offsets in read.values() for position in offsets.values()]
    assert positions == [Position(position.offset) for position in positions]
    return {
        group: {place: position.offset for place, position in offsets.items()}
        for group, offsets in read.items()
    }


def test_one_group_needs_no_group_in_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert plan(tmp_path, "orders,0,5\norders,2,17", "g") == {"g": {("orders", 0): 5, ("orders", 2): 17}}
    assert capsys.readouterr().err == ""


def test_a_first_line_with_a_group_is_complained_about_and_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert plan(tmp_path, "g,orders,0,5\r\nh,orders,1,6\r\n", "g") == {
        "g": {("orders", 0): 5},
        "h": {("orders", 1): 6},
    }
    assert capsys.readouterr().err == f'{_TRACE} `int` from String "orders": not a valid `int` value\n'


def test_several_groups_need_their_names_in_the_file(tmp_path: Path) -> None:
    """Without them the topic is taken for the group, as by the tool."""
    with pytest.raises(ToolError, match="from String"):
        plan(tmp_path, "g,orders,0,5\nh,orders,x,6\n", "g", "h")
    assert plan(tmp_path, "orders,7,1\n", "g", "h") == {"orders": {("7", 1): 0}}


def test_a_later_line_that_is_wrong_ends_it(tmp_path: Path) -> None:
    with pytest.raises(ToolError) as raised:
        plan(tmp_path, "orders,0,5\norders,1,y\n", "g")
    assert raised.value.message == f'{_TRACE} `long` from String "y": not a valid `long` value'
    assert raised.value.trace == f"java.lang.RuntimeException: {raised.value.message}"


def test_a_line_with_too_many_fields_tells_which_form_the_file_has(tmp_path: Path) -> None:
    """Of a topic whose name is a number the line without a group can be read, but for its end."""
    assert plan(tmp_path, "g,7,1,5\n", "g") == {"g": {("7", 1): 5}}
    with pytest.raises(ToolError) as raised:
        plan(tmp_path, "orders,0,1,5,7\n", "g")
    assert raised.value.message == (
        "com.fasterxml.jackson.dataformat.csv.CsvReadException: Too many entries: expected at most 4"
        ' (value #4 (1 chars) "7")'
    )


@pytest.mark.parametrize("text", ["", "orders,0,5\n\norders,2,3\n"])
def test_an_empty_line_is_an_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(ToolError) as raised:
        plan(tmp_path, text, "g")
    assert raised.value.message == (
        "com.fasterxml.jackson.databind.exc.MismatchedInputException: No content to map due to end-of-input\n"
        " at [Source: (StringReader); line: UNKNOWN, column: UNKNOWN]"
    )


def test_a_file_that_cannot_be_read_is_called_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(ToolError) as raised:
        read_plan(f"{tmp_path}/gone.csv", ["g"])
    assert raised.value.message == f"java.io.IOException: Unable to read file {tmp_path}/gone.csv"
    assert raised.value.trace == f"java.lang.RuntimeException: {raised.value.message}"
