from kgroup.api.names import matches_any, nothing_matches, without_match

GROUPS = {"orders-app", "billing", "a[1]"}


def test_a_name_is_meant_as_it_is_or_as_a_pattern() -> None:
    assert matches_any("a[1]", ["a[1]"])
    assert matches_any("a1", ["a[1]"])
    assert not matches_any("A1", ["a[1]"])
    assert matches_any("orders-app", ["bill*", "*-app"])


def test_what_none_of_the_names_is_comes_once_in_the_order_given() -> None:
    assert without_match(["x*", "*-app", "nope", "x*"], GROUPS) == ["x*", "nope"]


def test_the_nearest_name_to_any_of_them_is_offered() -> None:
    assert nothing_matches("group", ["zzz", "biling"], GROUPS) == (
        "no group here matches zzz or biling; did you mean billing?"
    )


def test_without_a_near_name_something_else_is_said() -> None:
    assert nothing_matches("topic", ["zzz"], GROUPS, "; leave it out") == (
        "no topic here matches zzz; leave it out"
    )


def test_a_group_of_which_only_tombstones_are_left_is_not_offered_as_another_one() -> None:
    assert nothing_matches("group", ["billing", "zzz"], GROUPS) == (
        "group billing was deleted or has expired; kgroup replay shows its history"
    )
    assert nothing_matches("group", ["billing", "orders-app"], GROUPS) == (
        "groups billing and orders-app were deleted or have expired; kgroup replay shows their history"
    )
