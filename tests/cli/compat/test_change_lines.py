"""Lines of changes in states that the transcript does not have: by the formats of Kafka's `OffsetsUtils`."""

from kgroup.report.compat.changes import delete_lines, deleted_offset_lines, export_lines, reset_lines

OFFSETS = {"a-group-with-a-long-name": {("t", 0): 5, ("a-topic-with-a-name", 12): 70}, "g": {}}


def test_columns_are_as_wide_as_their_longest_name() -> None:
    assert list(reset_lines(OFFSETS)) == [
        "",
        "GROUP                    TOPIC               PARTITION  NEW-OFFSET",
        "a-group-with-a-long-name t                   0          5",
        "a-group-with-a-long-name a-topic-with-a-name 12         70",
    ]


def test_without_any_group_there_is_no_heading() -> None:
    assert list(reset_lines({})) == [""]


def test_an_export_of_several_groups_names_them() -> None:
    assert list(export_lines(OFFSETS, with_groups=True)) == [
        "a-group-with-a-long-name,t,0,5",
        "a-group-with-a-long-name,a-topic-with-a-name,12,70",
        "",
    ]
    assert list(export_lines({"a,b": {("t", 0): 5}}, with_groups=True)) == ['"a,b",t,0,5', ""]


def test_deleted_offsets_are_in_the_order_of_their_texts() -> None:
    """Topic and partition are one text there: 10 comes before 2."""
    lines = list(deleted_offset_lines({("t", 2): None, ("t", 10): None, ("s", -1): "Gone"}))
    assert lines == [
        "",
        "TOPIC           PARTITION  STATUS         ",
        "s               -          Error: Gone    ",
        "t               10         Successful     ",
        "t               2          Successful     ",
    ]


def test_several_deleted_groups_are_named() -> None:
    assert list(delete_lines(["a", "b"], {})) == [
        "Deletion of requested consumer groups ('a', 'b') was successful."
    ]
