"""The order of `--list`: as recorded from the tool of 4.3.1, for the order in which a broker answered it."""

from kgroup.report.compat.listing import Listing, list_lines

ANSWERED = ("gamma", "eps", "live-classic", "live-new", "delta", "beta", "alpha", "zeta", "empty-g")
PRINTED = ["zeta", "live-new", "empty-g", "alpha", "delta", "eps", "gamma", "live-classic", "beta"]


def listings() -> list[Listing]:
    return [Listing(group_id=name, group_type="Classic", state="Empty") for name in ANSWERED]


def test_names_come_in_the_order_of_the_tool() -> None:
    assert list(list_lines(listings(), with_type=False, with_state=False)) == PRINTED


def test_a_long_name_makes_its_column_wider() -> None:
    long = Listing(group_id="n" * 30, group_type="Consumer", state="Stable")
    heading, line = list_lines([long], with_type=True, with_state=False)
    assert line == "n" * 30 + " " * 10 + " Consumer" + " " * 12
    assert heading == "GROUP".ljust(40) + " TYPE" + " " * 16
