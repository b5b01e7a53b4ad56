from uuid import UUID

import pytest

from kgroup.lag.measures.log_ends import LogEnds, TopicState
from kgroup.protocol.log_listing import LogEndSource, LogListing, PartitionLog

OLD, NEW = UUID(int=1), UUID(int=2)


def orders(partition=0, *, end=None, start=None, topic_id=None, source=LogEndSource.CHECKPOINT):
    return PartitionLog(
        topic="orders",
        partition=partition,
        source=source,
        log_start_offset=start,
        log_end_offset=end,
        topic_id=topic_id,
    )


def listing(*logs, complete=False, **rest):
    return LogListing(logs=logs, complete=complete, **rest)


def test_the_first_listing_that_knows_a_number_is_believed():
    said = orders(end=50, source=LogEndSource.FILE)
    checkpoint = orders(end=40, start=7, topic_id=NEW)
    log_end = LogEnds([listing(said), listing(checkpoint)]).find("orders", 0)
    assert log_end == orders(end=50, start=7, topic_id=NEW, source=LogEndSource.FILE)


def test_a_folder_without_segments_leaves_the_log_end_to_the_checkpoint():
    folder = orders(topic_id=NEW, source=LogEndSource.SEGMENTS)
    log_end = LogEnds([listing(folder), listing(orders(end=40))]).find("orders", 0)
    assert log_end == orders(end=40, topic_id=NEW, source=LogEndSource.CHECKPOINT)


def test_a_log_end_of_zero_is_known():
    log_end = LogEnds([listing(orders(end=0, source=LogEndSource.SEGMENTS)), listing(orders(end=9))]).find(
        "orders", 0
    )
    assert log_end is not None
    assert log_end.log_end_offset == 0


def test_numbers_of_two_topics_of_one_name_are_not_mixed():
    ends = LogEnds([listing(orders(topic_id=NEW)), listing(orders(end=40, topic_id=OLD))])
    assert ends.find("orders", 0) == orders(topic_id=NEW)


def test_of_several_replicas_the_one_that_got_furthest_is_believed():
    ends = LogEnds([listing(orders(end=40), orders(end=45), orders(end=41), orders())])
    assert ends.find("orders", 0) == orders(end=45)


@pytest.mark.parametrize(
    ("listings", "committed_topic_id", "state"),
    [
        ([], None, TopicState.UNKNOWN),
        ([listing()], None, TopicState.UNKNOWN),
        ([listing(complete=True)], None, TopicState.DELETED),
        ([listing(complete=True)], OLD, TopicState.DELETED),
        ([listing(complete=True), listing(orders())], None, TopicState.EXISTS),
        ([listing(orders())], OLD, TopicState.EXISTS),
        ([listing(orders(topic_id=NEW))], None, TopicState.EXISTS),
        ([listing(orders(topic_id=NEW))], NEW, TopicState.EXISTS),
        ([listing(orders(topic_id=NEW))], OLD, TopicState.RECREATED),
        ([listing(orders(1))], None, TopicState.EXISTS),
        ([listing(orders(1), complete=True)], None, TopicState.RECREATED),
        ([listing(complete=True, hidden=frozenset({"orders"}))], OLD, TopicState.NOT_AUTHORIZED),
        ([listing(complete=True, hidden=frozenset({"others"}))], None, TopicState.DELETED),
        ([listing(complete=True, unsure=frozenset({"orders"}))], None, TopicState.UNKNOWN),
        (
            [listing(complete=True, hidden=frozenset({"orders"})), listing(orders())],
            None,
            TopicState.EXISTS,
        ),
    ],
)
def test_what_became_of_a_topic(listings, committed_topic_id, state):
    assert LogEnds(listings).topic_state("orders", 0, committed_topic_id) is state


def test_topic_names_are_those_whose_id_a_source_gave():
    ends = LogEnds([listing(orders(topic_id=NEW), orders(1, topic_id=NEW))])
    assert ends.topic_names() == {NEW: "orders"}


def test_sources_are_those_that_gave_a_log_end():
    ends = LogEnds([listing(orders(source=LogEndSource.SEGMENTS)), listing(orders(end=3))])
    assert ends.sources() == {LogEndSource.CHECKPOINT}
