"""Changes from one sample of a cluster to the next, and the state they add up to."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from kgroup.log.files.recording import Sample, TopicSample


def changes(before: Sample | None, now: Sample) -> Sample:
    """The differences of `now`, a full sample, from `before`; all of it without a `before`."""
    if before is None:
        return replace(now, is_full=True)
    return replace(
        now,
        is_full=False,
        topics={
            name: changed
            for name, topic in now.topics.items()
            if (changed := _changed(before.topics.get(name), topic)) is not None
        },
        gone=tuple(sorted(before.topics.keys() - now.topics.keys())),
        brokers=None if now.brokers == before.brokers else now.brokers,
        leaders=None if now.leaders == before.leaders else now.leaders,
    )


def states(samples: Iterable[Sample]) -> Iterator[Sample]:
    """The whole state at each sample. Those before the first that says everything are left out."""
    state: Sample | None = None
    for sample in samples:
        if sample.is_full:
            state = sample
        elif state is not None:
            state = _added(state, sample)
        if state is not None:
            yield state


def _changed(before: TopicSample | None, now: TopicSample) -> TopicSample | None:
    if before is None or before.topic_id != now.topic_id or now.partitions < before.partitions:
        return now
    changed = replace(
        now,
        starts=_differing(before.starts, now.starts),
        ends=_differing(before.ends, now.ends),
        stable=_differing(before.stable, now.stable) | _ends_again(before, now),
    )
    is_same = not (changed.starts or changed.ends or changed.stable or now.unknown or before.unknown)
    return None if is_same and before.partitions == now.partitions else changed


def _ends_again(before: TopicSample, now: TopicSample) -> dict[int, int]:
    """-1 for each partition whose last stable offset is its end again, as no transaction is open any more.

    Written once: partitions without an open transaction are not mentioned. One that gave no answer keeps its
    last offset.
    """
    return dict.fromkeys((before.stable.keys() - now.stable.keys()) & now.ends.keys(), -1)


def _differing(before: Mapping[int, int], now: Mapping[int, int]) -> dict[int, int]:
    return {partition: offset for partition, offset in now.items() if before.get(partition) != offset}


def _added(state: Sample, sample: Sample) -> Sample:
    topics = dict(state.topics)
    for name in sample.gone:
        topics.pop(name, None)
    for name, changed in sample.topics.items():
        topics[name] = _topic_added(topics.get(name), changed)
    for name, topic in topics.items():
        if topic.unknown and name not in sample.topics:
            topics[name] = replace(topic, unknown=frozenset())
    return replace(
        sample,
        is_full=True,
        topics=topics,
        gone=(),
        brokers=state.brokers if sample.brokers is None else sample.brokers,
        leaders=state.leaders if sample.leaders is None else sample.leaders,
    )


def _topic_added(before: TopicSample | None, changed: TopicSample) -> TopicSample:
    if before is None or before.topic_id != changed.topic_id or changed.partitions < before.partitions:
        return changed
    stable = {**before.stable, **changed.stable}
    return replace(
        changed,
        starts={**before.starts, **changed.starts},
        ends={**before.ends, **changed.ends},
        stable={partition: offset for partition, offset in stable.items() if offset >= 0},
    )
