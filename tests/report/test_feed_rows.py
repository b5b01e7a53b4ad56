"""Edges as drawings: names of groups may hold anything."""

from kgroup.history.feeds.model import Feed, FeedKind
from kgroup.history.timeline.model import Grade
from kgroup.report.feed_rows import Drawing, drawn

FEEDS = [
    Feed(group='a"]\n\\', topic="orders", kind=FeedKind.READS, grade=Grade.RECORDED),
    Feed(group='a"]\n\\', topic="out", kind=FeedKind.WRITES, grade=Grade.INFERRED),
]


def test_mermaid() -> None:
    assert list(drawn(FEEDS, Drawing.MERMAID)) == [
        "flowchart LR",
        '  g0["a#34;#93;#10;#92;"]',
        '  t1(["orders"])',
        '  t2(["out"])',
        "  t1 --> g0",
        "  g0 -.-> t2",
    ]


def test_dot() -> None:
    assert list(drawn(FEEDS, Drawing.DOT)) == [
        "digraph feeds {",
        '  g0 [label="a\\"]?\\\\", shape=box];',
        '  t1 [label="orders", shape=ellipse];',
        '  t2 [label="out", shape=ellipse];',
        "  t1 -> g0;",
        "  g0 -> t2 [style=dashed];",
        "}",
    ]
