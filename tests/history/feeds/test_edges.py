"""Which transactions of the offsets topic and of data logs are one, and what edges follow."""

from dataclasses import dataclass

import pytest

from kgroup.history.feeds.edges import FeedFinder
from kgroup.history.feeds.model import Feed, MatchedBy, TopicWriters
from kgroup.history.timeline.model import Grade
from kgroup.log.topics.logged_transactions import LoggedTransaction
from kgroup.protocol.records.entries import TransactionOutcome

COMMITTED, ABORTED, PENDING = (
    TransactionOutcome.COMMITTED,
    TransactionOutcome.ABORTED,
    TransactionOutcome.PENDING,
)


def transaction(
    producer_id: int,
    epoch: int,
    begun_ms: int,
    ended_ms: int | None,
    *,
    written_ms: int | None = None,
    raises: bool = False,
    outcome: TransactionOutcome = COMMITTED,
    records: int = 1,
) -> LoggedTransaction:
    return LoggedTransaction(
        producer_id=producer_id,
        producer_epoch=epoch,
        marker_epoch=None if ended_ms is None else epoch + raises,
        outcome=PENDING if ended_ms is None else outcome,
        first_offset=0,
        last_offset=records - 1,
        records=records,
        begun_ms=begun_ms,
        written_ms=begun_ms if written_ms is None else written_ms,
        ended_ms=ended_ms,
        ended_at=None,
    )


def the_feed(commits: list[LoggedTransaction], written: list[LoggedTransaction]) -> Feed | None:
    finder = FeedFinder()
    for each in commits:
        finder.add_commits(each, {"g"})
    for each in written:
        finder.add_written("t", 0, each)
    return next(finder.feeds(), None)


@dataclass(frozen=True)
class Case:
    """Commits of group g and what was written to t; committed, aborted, open, beside, and how matched."""

    commits: list[LoggedTransaction]
    written: list[LoggedTransaction]
    counts: tuple[int, int, int, int]
    by: MatchedBy | None


# A session of before KIP-890: offsets at 100 and 300, markers right after.
OLD = [transaction(1, 0, 100, 110), transaction(1, 0, 300, 310)]
EPOCH, TIME = MatchedBy.EPOCH, MatchedBy.TIME
CASES = {
    "an epoch of its own, clocks far apart": Case(
        [transaction(1, 4, 100, 110, raises=True)],
        [transaction(1, 4, 900_000, 900_010, raises=True)],
        (1, 0, 0, 0),
        EPOCH,
    ),
    "the next epoch is another transaction": Case(
        [transaction(1, 4, 100, 110, raises=True)],
        [transaction(1, 5, 90, 112, raises=True)],
        (0, 0, 0, 1),
        None,
    ),
    "aborted in both": Case(
        [transaction(1, 4, 100, 110, raises=True, outcome=ABORTED)],
        [transaction(1, 4, 90, 112, raises=True, outcome=ABORTED)],
        (0, 1, 0, 0),
        EPOCH,
    ),
    "open in both": Case([transaction(1, 4, 100, None)], [transaction(1, 4, 90, None)], (0, 0, 1, 0), EPOCH),
    "open where it wrote, ended where it committed": Case(
        [transaction(1, 4, 100, 110)], [transaction(1, 4, 120, None)], (0, 0, 0, 1), None
    ),
    "of many with one epoch those that overlap": Case(
        OLD, [transaction(1, 0, 80, 111), transaction(1, 0, 280, 309)], (2, 0, 0, 0), TIME
    ),
    "begun behind the offsets, though before the marker": Case(
        OLD, [transaction(1, 0, 101, 130)], (0, 0, 0, 1), None
    ),
    "between two that commit": Case(OLD, [transaction(1, 0, 150, 170)], (0, 0, 0, 1), None),
    "records with older times, as streams give them": Case(
        OLD, [transaction(1, 0, 5, 311)], (1, 0, 0, 0), TIME
    ),
    "fenced: the abort that raises the epoch is of the last": Case(
        [*OLD, transaction(1, 0, 500, 900, raises=True, outcome=ABORTED)],
        [transaction(1, 0, 490, 901, raises=True, outcome=ABORTED)],
        (0, 1, 0, 0),
        TIME,
    ),
    "the same producer, an epoch later": Case(OLD, [transaction(1, 1, 80, 111)], (0, 0, 0, 1), None),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_is_one_transaction(case: Case) -> None:
    feed = the_feed(case.commits, case.written)
    assert feed is not None
    assert (feed.transactions, feed.aborted, feed.open, feed.beside) == case.counts
    assert feed.matched_by is case.by
    assert feed.grade is (Grade.INFERRED if case.by is None else Grade.RECORDED)


def test_another_producer_is_no_edge() -> None:
    assert the_feed(OLD, [transaction(2, 0, 80, 111)]) is None


def test_a_transaction_in_several_partitions_counts_once() -> None:
    finder = FeedFinder()
    finder.add_commits(transaction(1, 0, 100, 110), {"g"})
    for partition in (0, 1, 2):
        finder.add_written("t", partition, transaction(1, 0, 80, 111 + partition, records=10))
    (feed,) = finder.feeds()
    assert (feed.transactions, feed.records, feed.partitions) == (1, 30, (0, 1, 2))
    assert (feed.first_ms, feed.last_ms) == (111, 113)


def test_records_of_aborted_transactions_were_not_written() -> None:
    aborted = [transaction(1, 1, 200, 210, outcome=ABORTED, records=30)]
    feed = the_feed([OLD[0], *aborted], [transaction(1, 0, 80, 111, records=10), *aborted])
    assert feed is not None
    assert (feed.transactions, feed.aborted, feed.records) == (1, 1, 10)


def test_an_edge_of_which_one_part_rests_on_times_rests_on_times() -> None:
    by_epoch = transaction(1, 4, 500, 510, raises=True)
    feed = the_feed([*OLD, by_epoch], [transaction(1, 0, 80, 111), by_epoch])
    assert feed is not None
    assert (feed.transactions, feed.matched_by) == (2, TIME)


def test_transactions_beside_are_counted_in_the_partition_with_most() -> None:
    finder = FeedFinder()
    finder.add_commits(transaction(1, 0, 100, 110), {"g"})
    for partition, ended_ms in ((0, 200), (0, 400), (1, 201)):
        finder.add_written("t", partition, transaction(1, 0, ended_ms - 10, ended_ms))
    (feed,) = finder.feeds()
    assert (feed.beside, feed.partitions) == (2, (0, 1))


def test_one_transaction_may_commit_for_two_groups() -> None:
    finder = FeedFinder()
    finder.add_commits(transaction(1, 0, 100, 110), {"g", "h"})
    finder.add_written("t", 0, transaction(1, 0, 80, 111))
    assert [(feed.group, feed.transactions) for feed in finder.feeds()] == [("g", 1), ("h", 1)]
    assert finder.groups == {"g", "h"}


def test_of_each_topic_it_is_known_how_much_is_of_whom() -> None:
    finder = FeedFinder()
    finder.add_commits(transaction(1, 0, 100, 110), {"g"})
    finder.add_written("t", 0, transaction(1, 0, 80, 111, records=3))
    finder.add_written("t", 0, transaction(1, 0, 200, 211, records=4))
    finder.add_written("t", 0, transaction(9, 0, 80, 111, records=5))
    finder.add_outside("t", 6)
    assert finder.writers() == (TopicWriters(topic="t", by_groups=3, in_others=9, outside=6),)
