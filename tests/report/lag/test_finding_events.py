"""What is opened and closed between two looks."""

from hypothesis import given
from hypothesis import strategies as st

from kgroup.report.lag.finding_events import CLOSED, EVENT_COLUMNS, OPENED, turned
from kgroup.report.lag.finding_rows import FINDING_COLUMNS

NOW = 1_700_000_000_000


def row(group="g", finding="stalled-partition", partition=0, since=1, evidence="it stands"):
    """A row of FINDING_COLUMNS."""
    return {
        **dict.fromkeys(column.name for column in FINDING_COLUMNS),
        "group": group,
        "finding": finding,
        "topic": "orders",
        "partition": partition,
        "since": since,
        "evidence": evidence,
    }


def said(turn):
    return [(event["event"], event["time"], event["group"], event["partition"]) for event in turn.events]


def test_what_is_new_is_opened_and_what_is_gone_is_closed():
    turn = turned([row(partition=0), row(partition=1)], [row(partition=1), row(partition=2)], NOW)
    assert said(turn) == [(CLOSED, NOW, "g", 0), (OPENED, NOW, "g", 2)]
    assert sorted(each["partition"] for each in turn.still_open) == [1, 2]
    assert [set(event) for event in turn.events] == [{column.name for column in EVENT_COLUMNS}] * 2


def test_one_that_lasts_is_no_event_though_its_evidence_and_beginning_change():
    turn = turned([row(evidence="for 5 s", since=10)], [row(evidence="for 15 s", since=12)], NOW)
    assert turn.events == []
    assert [each["evidence"] for each in turn.still_open] == ["for 5 s"]


def test_of_another_kind_group_topic_partition_or_member_it_is_another_one():
    others = [
        row(group="other"),
        row(finding="rewound"),
        row(partition=1),
        {**row(), "topic": "other"},
        {**row(), "member_id": "m"},
    ]
    for other in others:
        assert [event["event"] for event in turned([row()], [other], NOW).events] == [CLOSED, OPENED]


def test_of_several_that_are_the_same_the_oldest_is_that_of_before():
    turn = turned([row(since=5)], [row(since=9), row(since=5)], NOW)
    assert [(event["event"], event["since"]) for event in turn.events] == [(OPENED, 9)]
    assert said(turned(turn.still_open, [row(since=5), row(since=9)], NOW)) == []


def test_where_not_all_could_be_looked_at_nothing_is_closed():
    turn = turned([row(partition=0)], [row(partition=1)], NOW, closes=False)
    assert said(turn) == [(OPENED, NOW, "g", 1)]
    assert sorted(each["partition"] for each in turn.still_open) == [0, 1]


LOOKS = st.lists(st.lists(st.builds(row, partition=st.integers(0, 3), since=st.integers(0, 2)), max_size=6))


@given(LOOKS)
def test_whoever_follows_the_events_knows_what_is_found(looks):
    were_open, known = [], {}
    for now, found in enumerate(looks):
        turn = turned(were_open, found, now)
        for event in turn.events:
            change = 1 if event["event"] == OPENED else -1
            known[event["partition"]] = known.get(event["partition"], 0) + change
        were_open = turn.still_open
        counts = dict.fromkeys(known, 0)
        for each in found:
            counts[each["partition"]] += 1
        assert known == counts
