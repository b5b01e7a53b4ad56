"""The facts of a cluster as text: a journal over any state of the whole gives how things are last."""

from uuid import UUID

import pytest

from kgroup.broker.cluster_file import (
    ClusterSpec,
    TopicSpec,
    apply_journal,
    decode_spec,
    encode_change,
    encode_spec,
    garbled_bytes,
)
from kgroup.errors import SourceError


def topic(name: str, partitions: int = 1) -> TopicSpec:
    return TopicSpec(name=name, topic_id=UUID(int=1), partitions=partitions, replication_factor=1)


def state(*topics: TopicSpec, next_producer_id: int = 0) -> ClusterSpec:
    return ClusterSpec(
        cluster_id="abc", topics={each.name: each for each in topics}, next_producer_id=next_producer_id
    )


STATES = [
    (state(topic("a")), ["a"]),
    (state(topic("a"), topic("b"), next_producer_id=3), ["b"]),
    (state(topic("a", 5), topic("b"), next_producer_id=4), ["a"]),
    (state(topic("a", 5), next_producer_id=7), ["b"]),
]
JOURNAL = "".join(encode_change(spec, names) for spec, names in STATES).encode()


@pytest.mark.parametrize("start", [state(), *(spec for spec, _ in STATES)])
def test_a_journal_over_any_state_gives_the_last_one(start: ClusterSpec) -> None:
    """A crash may leave the journal beside a file that has all of it."""
    last, _ = STATES[-1]
    whole = decode_spec(encode_spec(start).encode(), "facts")
    assert apply_journal(whole, JOURNAL, "journal") == last


def test_a_journal_takes_no_producer_id_back() -> None:
    newer = state(topic("a", 5), next_producer_id=20)
    assert apply_journal(newer, JOURNAL, "journal").next_producer_id == 20


@pytest.mark.parametrize(("known", "last"), [(-1, 3), (2, 3), (5, 5)])
def test_a_journal_takes_no_leader_epoch_back(known: int, last: int) -> None:
    """KIP-320: clients take no metadata with an older epoch."""
    spec = state(topic("a"))
    spec.leader_epoch = 3
    journal = encode_change(spec, ["a"]).encode()
    spec.leader_epoch = known
    assert apply_journal(spec, journal, "journal").leader_epoch == last


def test_what_no_sound_line_follows_is_a_change_that_nobody_heard_of() -> None:
    lines = JOURNAL.splitlines(keepends=True)
    noise = b"\xff\xfe\n" + lines[-1].replace(b"nextProducerId", b"nextproducerid")
    garbled = b"".join(lines[:-1]) + noise
    assert apply_journal(state(), garbled, "journal") == apply_journal(
        state(), b"".join(lines[:-1]), "journal"
    )
    assert garbled_bytes(garbled) == len(noise)
    assert garbled_bytes(JOURNAL) == 0


@pytest.mark.parametrize("number", range(len(STATES) - 1))
def test_each_line_of_a_journal_is_checked(number: int) -> None:
    lines = JOURNAL.splitlines(keepends=True)
    lines[number] = lines[number].replace(b'"nextProducerId":', b'"nextProducerId":1')
    with pytest.raises(SourceError, match=f"^journal:{number + 1}: not what kgroup wrote: its checksum"):
        apply_journal(state(), b"".join(lines), "journal")


def test_settings_of_groups_are_in_the_whole_and_outlive_the_journal() -> None:
    spec = state(topic("a"))
    assert '"groups"' not in encode_spec(spec)  # so that an older kgroup's file stays as it was
    spec.group_configs = {"g": {"consumer.session.timeout.ms": "50000"}}
    read = decode_spec(encode_spec(spec).encode(), "facts")
    assert read == spec
    assert apply_journal(read, JOURNAL, "journal").group_configs == spec.group_configs


@pytest.mark.parametrize("groups", ["[]", '{"g": []}'])
def test_settings_of_groups_that_are_none_are_named(groups: str) -> None:
    raw = f'{{"version": 1, "clusterId": "abc", "nextProducerId": 0, "topics": {{}}, "groups": {groups}}}'
    with pytest.raises(SourceError, match=r"^facts: not what kgroup wrote"):
        decode_spec(raw.encode(), "facts")
