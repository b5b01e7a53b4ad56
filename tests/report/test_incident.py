"""A report's page: what it says of given claims, in each form."""

import pytest

from kgroup.report.incident.claims import Cited, Claim, ClaimKind, Incident, folded
from kgroup.report.incident.document import document
from kgroup.report.incident.markdown import claims_in, markdown, sparkline
from kgroup.report.incident.page import page

OFFSETS = "__consumer_offsets"


def lag(group="g", lags=(3, None, 7)):
    times = [1_000 * number for number, _ in enumerate(lags)]
    return Claim(
        kind=ClaimKind.LAG,
        group=group,
        question={"times_ms": times, "partitions": [["t", 0]]},
        says={"lags": list(lags), "unknown": [int(each is None) for each in lags]},
        cited=(Cited(OFFSETS, 3, 4, 6), Cited("t", 0, 0, 9), Cited("t", 0, 10, 10, True)),
    )


def incident(*claims, remarks=()):
    return Incident(kgroup="1.0", sources=("logs",), from_ms=0, to_ms=2_000, claims=claims, remarks=remarks)


def test_places_that_follow_each_other_are_one_range():
    places = [(OFFSETS, 3, 5, False), (OFFSETS, 3, 4, False), (OFFSETS, 3, 7, False), (OFFSETS, 4, 8, False)]
    assert list(map(str, folded(places))) == [
        "__consumer_offsets-3@4-5",
        "__consumer_offsets-3@7",
        "__consumer_offsets-4@8",
    ]
    assert str(Cited("t", 0, 10, 10, True)) == "t-0@10 (nothing)"


def test_a_curve_has_a_dot_where_nothing_is_known():
    assert sparkline([0, None, 50, 100]) == "▁·▅█"
    assert sparkline([0, 0]) == "▁▁"


def test_every_claim_is_numbered_and_its_records_are_listed():
    text = markdown(incident(lag("one"), lag("two")))
    assert "- [1] lag, one: \\__consumer_offsets-3@4-6; t-0@0-9,10 (nothing)" in text
    assert "- [2] lag, two:" in text
    told = "two, in numbers: Its lag on t (1 partition) peaked at 7 (00:00:02) and is 7 at the end. [2]"
    assert told in text


def test_nothing_happened_is_said():
    assert "Nothing: no rebalance, no event and no finding." in markdown(incident())
    assert "Nothing in this report." in markdown(incident())
    assert "- one segment was not read" in markdown(incident(remarks=("one segment was not read",)))


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", "a|b", "--> x", "`rm`", "\x1b[31m", "\u202eabc"]
)
def test_names_do_no_harm(name):
    """Group ids are what anybody chose: no markup, no end of the comment, no terminal's orders."""
    told = incident(lag(name))
    text = markdown(told)
    assert claims_in(text)["claims"][0]["group"] == name
    assert "\x1b" not in text and "\u202e" not in text
    assert text.count("<!--") == 1
    assert text[text.index("<!--") :].count("-->") == 1
    html = page(told)
    assert html.count("<script") == 1 and html.count("</script>") == 1
    assert "\x1b" not in html and "\u202e" not in html
    rows = [line for line in text.splitlines() if line.startswith("| ") and "---" not in line]
    cells = {line.replace("\\|", "").count("|") for line in rows}
    assert len(cells) == 1


def test_the_document_is_made_of_claims_alone():
    assert list(document(incident(lag()))) == list(document(incident(lag())))
