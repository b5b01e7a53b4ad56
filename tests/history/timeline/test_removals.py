"""Why offsets are gone: what a tombstone leaves open, and what narrows it down."""

from kgroup.history.timeline.commits import CommitTrack
from kgroup.history.timeline.model import CauseKind, Grade, Partition
from kgroup.history.timeline.removals import why_group_removed, why_offsets_removed
from tests.history.group_log import GroupLog, member

K = CauseKind
P0 = Partition("t", 0)


def track(at_ms: int, expire_timestamp_ms: int = -1, value_version: int = 3) -> CommitTrack:
    return CommitTrack(
        at_ms=at_ms,
        offset=5,
        log_offset=1,
        expire_timestamp_ms=expire_timestamp_ms,
        value_version=value_version,
    )


def test_offsets_with_a_time_to_expire_expired_when_it_had_come() -> None:
    tracks = {P0: track(0, expire_timestamp_ms=100_000, value_version=1)}
    expired = why_offsets_removed(100_000, [P0], tracks, None)
    assert (expired.kind, expired.grade) == (K.OFFSETS_EXPIRED, Grade.INFERRED)
    sooner = why_offsets_removed(99_999, [P0], tracks, None)
    assert (sooner.kind, sooner.grade) == (K.OFFSETS_REMOVED, Grade.UNKNOWN)


def test_nothing_expires_within_a_minute() -> None:
    for waited_ms, may_have_expired in ((59_940, False), (59_999, False), (60_000, True)):
        cause = why_offsets_removed(waited_ms, [P0], {P0: track(0)}, None)
        assert (K.OFFSETS_EXPIRED in cause.alternatives) is may_have_expired
        after = "59.9s" if waited_ms == 59_940 else "1m 0s"
        assert f"removed {after} after the last commit" in cause.evidence


def test_without_a_time_or_a_commit_everything_is_possible() -> None:
    for at_ms, tracks in ((None, {P0: track(0)}), (100_000, {})):
        cause = why_offsets_removed(at_ms, [P0], tracks, None)
        assert (cause.grade, cause.evidence) == (Grade.UNKNOWN, "offsets of t removed")
        assert set(cause.alternatives) == {K.TOPIC_DELETED, K.OFFSETS_DELETED, K.OFFSETS_EXPIRED}


def test_a_group_with_offsets_of_two_topics_that_goes_at_once_was_deleted() -> None:
    both = [P0, Partition("u", 0)]
    assert why_group_removed(10_000, 1_000, both, {}).kind is K.GROUP_DELETED
    # Of one topic, a coordinator before Kafka 4 drops the group along with the topic.
    old = why_group_removed(10_000, 1_000, [P0], {P0: track(1_000)})
    assert (old.kind, K.TOPIC_DELETED in old.alternatives) == (K.GROUP_REMOVED, True)
    assert why_group_removed(10_000, 1_000, [P0], {P0: track(1_000, value_version=4)}).kind is K.GROUP_DELETED


def test_a_group_gives_its_last_sign_of_life_when_its_last_member_is_gone() -> None:
    log = GroupLog()
    log.generation(0, 1, member("a", 0))
    log.commit(50, 0, 5)
    log.generation(100, 2)
    log.remove_commit(200, 0)
    log.remove_group(200)
    (removed,) = log.timeline().occurrences
    assert (removed.cause.kind, removed.cause.evidence) == (
        K.GROUP_REMOVED,
        "removed 1m 40s after its last sign of life",
    )


def test_a_group_without_any_time_is_just_removed() -> None:
    cause = why_group_removed(None, None, [], {})
    assert (cause.grade, cause.evidence) == (Grade.UNKNOWN, "removed")
    assert K.GROUP_EXPIRED in cause.alternatives
