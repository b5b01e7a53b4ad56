"""What of the edges leads to some groups or away from them."""

import pytest

from kgroup.history.feeds.connected import connected
from kgroup.history.feeds.model import Feed, FeedKind
from kgroup.history.timeline.model import Grade


def feed(text: str) -> Feed:
    """`g > t` writes, `t < g` reads: the group is always a lower-case letter, a topic an upper-case one."""
    left, how, right = text.split()
    is_write = how == ">"
    return Feed(
        group=left if is_write else right,
        topic=right if is_write else left,
        kind=FeedKind.WRITES if is_write else FeedKind.READS,
        grade=Grade.RECORDED,
    )


# a reads In, writes A; b and c read A; b writes B; d reads B; e reads In and writes E
FEEDS = [feed(text) for text in ("In < a", "a > A", "A < b", "A < c", "b > B", "B < d", "In < e", "e > E")]


@pytest.mark.parametrize(
    ("group", "kept"),
    [
        ("a", "In<a a>A A<b A<c b>B B<d"),
        ("b", "In<a a>A A<b b>B B<d"),
        ("c", "In<a a>A A<c"),
        ("d", "In<a a>A A<b b>B B<d"),
        ("e", "In<e e>E"),
    ],
)
def test_up_and_down_but_not_around_a_corner(group: str, kept: str) -> None:
    found = (
        f"{each.topic}<{each.group}" if each.is_into_group else f"{each.group}>{each.topic}"
        for each in connected(FEEDS, [group])
    )
    assert " ".join(found) == kept


def test_a_circle_ends() -> None:
    circle = [feed("A < a"), feed("a > A")]
    assert connected(circle, ["a"]) == tuple(circle)
