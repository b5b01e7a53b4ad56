"""Who feeds whom, of a real pipeline whose clients kept a diary of every transaction."""

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

import kgroup
from kgroup.api.feeds import Feeds
from kgroup.errors import InputError, SourceError
from kgroup.history.feeds.model import FeedKind, MatchedBy
from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.late import Because
from tests.log.truth import FIXTURES

PIPELINE = FIXTURES / "pipeline/4.3.1"
DIARY = [json.loads(line) for line in (PIPELINE / "diary.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def found() -> Feeds:
    with kgroup.open_logs(PIPELINE) as logs:
        return kgroup.feeds(logs)


def test_each_edge_has_the_transactions_and_records_of_the_diary(found: Feeds) -> None:
    transactions: Counter[tuple[str, str]] = Counter()
    records: Counter[tuple[str, str]] = Counter()
    aborted: Counter[tuple[str, str]] = Counter()
    for entry in DIARY:
        for topic, count in entry["writes"].items():
            if entry["group"] is not None:
                edge = entry["group"], topic
                (transactions if entry["committed"] else aborted)[edge] += 1
                records[edge] += count if entry["committed"] else 0
    recorded = [feed for feed in found.feeds if feed.kind is FeedKind.WRITES and feed.grade is Grade.RECORDED]
    assert {(feed.group, feed.topic): feed.transactions for feed in recorded} == transactions
    assert {(feed.group, feed.topic): feed.records for feed in recorded} == records
    assert {(feed.group, feed.topic): feed.aborted for feed in recorded if feed.aborted} == aborted


def test_transactions_that_commit_nothing_make_no_recorded_edge(found: Feeds) -> None:
    """Each client also had transactions of one record for a log of its own, without offsets."""
    beside = Counter(topic for entry in DIARY if entry["group"] is None for topic in entry["writes"])
    inferred = [feed for feed in found.feeds if feed.grade is Grade.INFERRED]
    assert {feed.topic: feed.beside for feed in inferred} == beside
    assert all(feed.transactions == 0 for feed in inferred)


def test_epochs_tell_transactions_apart_where_clients_raise_them(found: Feeds) -> None:
    by = {feed.topic: feed.matched_by for feed in found.feeds if feed.matched_by is not None}
    assert by == {"orders-enriched": MatchedBy.EPOCH, "invoices": MatchedBy.TIME}


def test_who_reads_what(found: Feeds) -> None:
    reads = {(feed.topic, feed.group) for feed in found.feeds if feed.kind is FeedKind.READS}
    assert reads == {
        ("orders", "enrich"),
        ("orders", "copier"),
        ("orders-enriched", "bill"),
        ("invoices", "mailer"),
    }


def test_who_writes_without_transactions_is_unknown(found: Feeds) -> None:
    """The group copier writes orders-copy, and no log says so."""
    assert not any(feed.topic == "orders-copy" for feed in found.feeds)
    (copy,) = (writers for writers in found.writers if writers.topic == "orders-copy")
    assert (copy.by_groups, copy.in_others, copy.outside) == (0, 0, 371)
    assert found.remarks == ("2 groups of 4 commit without transactions: what they write is unknown",)


def test_two_groups_get_nothing_since_the_first_one_died(found: Feeds) -> None:
    assert [(late.group, late.because, late.cause) for late in found.late] == [
        ("bill", Because.SOURCE_BEHIND, "enrich"),
        ("mailer", Because.SOURCE_BEHIND, "enrich"),
    ]


def test_before_that_nobody_waited() -> None:
    with kgroup.open_logs(PIPELINE) as logs:
        feeds = kgroup.feeds(logs, now_ms=max(entry["t"] for entry in DIARY) + 2_000)
    assert not feeds.late


def test_only_what_leads_to_a_group() -> None:
    with kgroup.open_logs(PIPELINE) as logs:
        feeds = kgroup.feeds(logs, groups="copier")
    assert [(feed.topic, feed.group) for feed in feeds.feeds] == [("orders", "copier")]
    assert not feeds.late


def test_as_a_table(found: Feeds) -> None:
    table = found.to_arrow()
    assert table.num_rows == len(found.feeds)
    assert table["from_kind"].to_pylist().count("topic") == 4


def test_without_data_logs_nobody_knows_what_was_written(tmp_path: Path) -> None:
    for folder in PIPELINE.glob("__consumer_offsets-*"):
        shutil.copytree(folder, tmp_path / folder.name)
    with kgroup.open_logs(tmp_path) as logs:
        feeds = kgroup.feeds(logs)
    assert {feed.kind for feed in feeds.feeds} == {FeedKind.READS}
    assert "no data topic's log lies next to the offsets topic" in feeds.remarks[-1]


def test_groups_that_are_not_there_and_streams_are_refused(tmp_path: Path) -> None:
    with kgroup.open_logs(PIPELINE) as logs, pytest.raises(SourceError, match="enrihc"):
        kgroup.feeds(logs, groups="enrihc")
    with (
        (next(PIPELINE.glob("__consumer_offsets-0/*.log"))).open("rb") as stream,
        kgroup.open_logs("-", stdin=stream) as logs,
        pytest.raises(InputError, match="standard input is read once"),
    ):
        kgroup.feeds(logs)
