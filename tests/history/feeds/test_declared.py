"""What a streams group's topology declares, of a real one."""

from kgroup.api.opened import open_logs
from kgroup.history.feeds.declared import declared_feeds
from kgroup.log.files.entries import read_entries
from kgroup.protocol.records.entries import LoggedEntry
from tests.log.truth import FIXTURES


def test_sources_and_repartition_topics_go_in_and_internal_topics_come_out() -> None:
    with open_logs(FIXTURES / "4.3.1/lives") as logs:
        entries = [item for item in read_entries(logs.sources) if isinstance(item, LoggedEntry)]
    assert [(feed.group, feed.topic, feed.is_source) for feed in declared_feeds(entries)] == [
        ("flow-tally", "flow-tally-tally-changelog", False),
        ("flow-tally", "flow-tally-tally-repartition", False),
        ("flow-tally", "flow-tally-tally-repartition", True),
        ("flow-tally", "payments", True),
    ]
