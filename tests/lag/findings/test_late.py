"""Who waits for whom: a truth table over small pipelines.

Everywhere: enrich reads orders and writes enriched, bill reads that and writes invoices, mailer reads those.
"""

from collections.abc import Mapping

import pytest

from kgroup.history.feeds.model import Feed, FeedKind
from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.late import Because, Late, Lateness, Pulse, Reading

NOW = 10_000_000
MINUTE = 60_000
TOPICS = {"enrich": "orders", "bill": "enriched", "mailer": "invoices"}


def writes(group: str, topic: str, *, grade: Grade = Grade.RECORDED) -> Feed:
    return Feed(group=group, topic=topic, kind=FeedKind.WRITES, grade=grade, transactions=7)


PIPELINE = [writes("enrich", "enriched"), writes("bill", "invoices")]


def late(
    unread: Mapping[str, tuple[int | None, int]],
    silent_ms: Mapping[str, int],
    *,
    standing: Mapping[str, str] | None = None,
    feeds: list[Feed] = PIPELINE,
    gap_ms: int = 1000,
) -> dict[str, Late]:
    """By group. `unread` has of groups how many records, and since how long before now; others have none."""
    readings = [
        Reading(
            group=group,
            topic=topic,
            unread=unread.get(group, (0, 0))[0],
            unread_since_ms=NOW - unread[group][1] if group in unread else None,
        )
        for group, topic in TOPICS.items()
    ]
    pulses = {
        topic: Pulse(newest_ms=NOW - silent, longest_gap_ms=gap_ms) for topic, silent in silent_ms.items()
    }
    found = Lateness(feeds, readings, pulses, standing or {}, NOW).all()
    return {each.group: each for each in found}


ALL_SILENT = {"orders": 5 * MINUTE, "enriched": 5 * MINUTE, "invoices": 5 * MINUTE}


def test_who_gets_nothing_waits_for_the_group_up_the_chain_that_is_behind() -> None:
    found = late({"enrich": (80, 5 * MINUTE)}, {**ALL_SILENT, "orders": 0})
    assert found["bill"].because is Because.SOURCE_BEHIND
    assert found["bill"].chain == ("bill", "enriched", "enrich")
    assert found["mailer"].chain == ("mailer", "invoices", "bill", "enriched", "enrich")
    assert found["mailer"].cause == "enrich"
    assert {each.grade for each in found.values()} == {Grade.INFERRED}
    assert "enrich" not in found
    assert found["bill"].evidence == (
        "nothing was written to enriched for 5m 0s; enrich writes it (7 transactions);"
        " enrich has 80 unread on orders, the oldest for 5m 0s"
    )


def test_that_it_stands_still_is_said_by_its_finding() -> None:
    standing = {"enrich": "stopped-group: so it is"}
    found = late({"enrich": (80, 5 * MINUTE)}, {**ALL_SILENT, "orders": 0}, standing=standing)
    assert found["bill"].because is Because.SOURCE_STANDS
    assert found["bill"].evidence.endswith("; stopped-group: so it is")


def test_who_is_up_to_date_with_what_comes_late_is_late() -> None:
    found = late({"enrich": (80, 5 * MINUTE)}, dict.fromkeys(ALL_SILENT, 0))
    assert found["bill"].because is Because.SOURCE_BEHIND
    assert found["bill"].since_ms == NOW - 5 * MINUTE


def test_who_is_further_behind_itself_waits_for_nobody() -> None:
    unread = {"enrich": (80, 5 * MINUTE), "bill": (80, 6 * MINUTE)}
    assert "bill" not in late(unread, dict.fromkeys(ALL_SILENT, 0))


def test_a_small_delay_up_the_chain_is_none() -> None:
    assert not late({"enrich": (80, 9_000)}, dict.fromkeys(ALL_SILENT, 0))


def test_silence_that_reaches_the_first_topic_is_the_cause() -> None:
    found = late({}, ALL_SILENT)
    assert found["mailer"].because is Because.SOURCE_SILENT
    assert found["mailer"].cause == "orders"
    assert found["mailer"].chain == ("mailer", "invoices", "bill", "enriched", "enrich", "orders")
    assert found["enrich"].because is Because.UNKNOWN
    assert found["enrich"].cause is None
    assert found["enrich"].grade is Grade.UNKNOWN


def test_who_reads_all_and_writes_nothing_leaves_it_unknown() -> None:
    """It may filter, or wait for more: nothing tells."""
    found = late({}, {**ALL_SILENT, "orders": 0})
    assert found["bill"].because is Because.UNKNOWN
    assert "enrich has read all that it got" in found["bill"].evidence


def test_what_is_unknown_of_the_source_stays_unknown() -> None:
    found = late({"enrich": (None, 0)}, ALL_SILENT)
    assert found["bill"].because is Because.UNKNOWN
    assert "what enrich has unread is unknown" in found["bill"].evidence


def test_what_is_unknown_of_one_of_its_topics_is_enough() -> None:
    readings = [
        Reading(group="enrich", topic="orders", unread=0),
        Reading(group="enrich", topic="returns", unread=None),
        Reading(group="bill", topic="enriched", unread=0),
    ]
    silent = Pulse(newest_ms=NOW - 5 * MINUTE)
    pulses = dict.fromkeys(("orders", "returns", "enriched"), silent)
    found = {each.group: each for each in Lateness(PIPELINE, readings, pulses, {}, NOW).all()}
    assert "what enrich has unread is unknown" in found["bill"].evidence


@pytest.mark.parametrize("is_source", [False, True], ids=["a-sink", "a-source"])
def test_a_topology_says_what_is_written_and_what_is_read(is_source: bool) -> None:
    declared = Feed(
        group="enrich", topic="enriched", kind=FeedKind.DECLARED, grade=Grade.RECORDED, is_source=is_source
    )
    found = late({"enrich": (80, 5 * MINUTE)}, {**ALL_SILENT, "orders": 0}, feeds=[declared])
    assert found["bill"].because is (Because.UNKNOWN if is_source else Because.SOURCE_BEHIND)


@pytest.mark.parametrize(
    ("silent_ms", "gap_ms", "waits"),
    [(9_000, 0, False), (9_000, 1_000, False), (11_000, 0, True), (50_000, MINUTE, False)],
)
def test_silence_is_longer_than_ever_and_than_seconds(silent_ms: int, gap_ms: int, waits: bool) -> None:
    found = late({"enrich": (80, 8_000)}, {"orders": 0, "enriched": silent_ms, "invoices": 0}, gap_ms=gap_ms)
    assert ("bill" in found) is waits


def test_a_group_with_something_to_read_does_not_wait() -> None:
    unread = {"enrich": (80, 5 * MINUTE), "bill": (3, 6 * MINUTE)}
    assert "bill" not in late(unread, ALL_SILENT)


def test_an_edge_that_is_only_inferred_is_not_followed() -> None:
    feeds = [writes("enrich", "enriched", grade=Grade.INFERRED)]
    found = late({"enrich": (80, 5 * MINUTE)}, {**ALL_SILENT, "orders": 0}, feeds=feeds)
    assert found["bill"].because is Because.UNKNOWN


def test_of_several_writers_the_one_that_stands_still_is_the_cause() -> None:
    feeds = [*PIPELINE, writes("mailer", "enriched")]
    unread = {"enrich": (80, 5 * MINUTE), "mailer": (1, 5 * MINUTE)}
    found = late(unread, {**ALL_SILENT, "orders": 0}, feeds=feeds, standing={"mailer": "dead-with-lag"})
    assert found["bill"].cause == "mailer"


def test_a_circle_ends() -> None:
    feeds = [*PIPELINE, writes("mailer", "orders")]
    found = late({}, ALL_SILENT, feeds=feeds)
    assert found["bill"].because in (Because.SOURCE_SILENT, Because.UNKNOWN)


def test_what_a_topology_declares_is_followed() -> None:
    feeds = [Feed(group="enrich", topic="enriched", kind=FeedKind.DECLARED, grade=Grade.RECORDED)]
    found = late({"enrich": (80, 5 * MINUTE)}, {**ALL_SILENT, "orders": 0}, feeds=feeds)
    assert "its topology says so" in found["bill"].evidence
