"""Samples written as changes add up to what was sampled; notes and samples are read as they were written."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from kgroup.log.files.recording import Sample, TopicSample
from kgroup.log.files.sample_changes import changes, states

OFFSETS = st.dictionaries(st.integers(0, 3), st.integers(1, 5))


@st.composite
def topics(draw: st.DrawFn) -> TopicSample:
    ends = draw(OFFSETS)
    return TopicSample(
        topic_id=draw(st.sampled_from([UUID(int=1), UUID(int=2), None])),
        partitions=4,
        starts=dict.fromkeys(ends, 0),
        ends=ends,
        stable={partition: end - 1 for partition, end in ends.items() if draw(st.booleans())},
        unknown=frozenset(range(4)) - ends.keys(),
    )


@st.composite
def samples(draw: st.DrawFn) -> list[Sample]:
    return [
        Sample(
            at_ms=1000 * number,
            every_ms=1000,
            is_full=True,
            topics=draw(st.dictionaries(st.sampled_from("abc"), topics(), max_size=3)),
            brokers=draw(st.dictionaries(st.integers(1, 2), st.just("host:9092"))),
            leaders=draw(st.dictionaries(st.integers(0, 2), st.integers(1, 2))),
        )
        for number in range(draw(st.integers(1, 5)))
    ]


@given(samples())
def test_changes_add_up_to_what_was_sampled(sampled: list[Sample]) -> None:
    written = [changes(before, now) for before, now in zip([None, *sampled], sampled, strict=False)]
    for state, truth in zip(states(written), sampled, strict=True):
        assert (state.at_ms, state.brokers, state.leaders) == (truth.at_ms, truth.brokers, truth.leaders)
        assert state.topics.keys() == truth.topics.keys()
        for name, topic in truth.topics.items():
            told = state.topics[name]
            assert (told.topic_id, told.partitions, told.unknown) == (topic.topic_id, 4, topic.unknown)
            # Of a partition that gave no answer the last one stays.
            assert {each: told.ends[each] for each in topic.ends} == topic.ends
            assert told.ends.keys() - topic.ends.keys() <= topic.unknown
            assert {each: end for each, end in told.stable.items() if each in topic.ends} == topic.stable


def sample(at_ms: int, **ends: dict[int, int]) -> Sample:
    return Sample(
        at_ms=at_ms,
        every_ms=1000,
        is_full=True,
        topics={name: TopicSample(topic_id=None, partitions=len(of), ends=of) for name, of in ends.items()},
        brokers={},
        leaders={},
    )


def test_what_did_not_change_is_not_written() -> None:
    change = changes(sample(0, a={0: 1, 1: 2}, b={0: 3}), sample(1000, a={0: 1, 1: 5}, b={0: 3}))
    assert (change.topics.keys(), change.topics["a"].ends) == ({"a"}, {1: 5})
    assert (change.brokers, change.leaders, change.gone) == (None, None, ())


def with_stable(at_ms: int, stable: dict[int, int], *answering: int) -> Sample:
    topic = TopicSample(
        topic_id=None,
        partitions=2,
        ends=dict.fromkeys(answering, 9),
        stable=stable,
        unknown=frozenset({0, 1}) - set(answering),
    )
    return Sample(at_ms=at_ms, every_ms=1000, is_full=True, topics={"a": topic}, brokers={}, leaders={})


def test_a_transaction_that_ended_is_open_no_longer() -> None:
    sampled = [
        with_stable(0, {0: 4, 1: 5}, 0, 1),
        with_stable(1000, {1: 5}, 0, 1),
        with_stable(2000, {1: 5}, 0, 1),
    ]
    written = [changes(before, now) for before, now in zip([None, *sampled], sampled, strict=False)]
    assert written[1].topics["a"].stable == {0: -1}
    assert written[2].topics == {}
    assert [state.topics["a"].stable for state in states(written)] == [{0: 4, 1: 5}, {1: 5}, {1: 5}]


def test_of_a_partition_that_gives_no_answer_the_last_stable_offset_stays() -> None:
    sampled = [with_stable(0, {0: 4}, 0, 1), with_stable(1000, {}, 1)]
    written = [changes(None, sampled[0]), changes(*sampled)]
    assert [state.topics["a"].stable for state in states(written)] == [{0: 4}, {0: 4}]


def test_a_topic_that_is_gone_is_said_to_be() -> None:
    assert changes(sample(0, a={0: 1}, b={0: 1}), sample(1000, a={0: 1})).gone == ("b",)


def test_changes_without_their_beginning_say_nothing() -> None:
    first, second = sample(0, a={0: 1}), sample(1000, a={0: 2})
    assert list(states([changes(first, second)])) == []
