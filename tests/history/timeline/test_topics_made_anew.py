"""Commits that are of a topic of the same name and another id; rejoins after a coordinator moved."""

from uuid import UUID

from kgroup.history.timeline.model import CauseKind, Grade, Partition
from tests.history.group_log import GroupLog, member

K = CauseKind
OLD, NEW, NEWER = UUID(int=1 << 64), UUID(int=2 << 64), UUID(int=3 << 64)


def log_until_it_is_deleted(**members: bool) -> GroupLog:
    log = GroupLog()
    log.generation(0, 1, member("a", 0, 1))
    log.commit(1, 0, 448, topic_id=OLD)
    log.commit(1, 1, 90, topic_id=OLD)
    return log


def occurred(log: GroupLog) -> list[tuple[CauseKind, Grade, tuple[Partition, ...]]]:
    return [(each.cause.kind, each.cause.grade, each.partitions) for each in log.timeline().occurrences]


def test_a_step_back_into_a_topic_made_anew_is_no_rewind() -> None:
    log = log_until_it_is_deleted()
    log.commit(60, 0, 159, topic_id=NEW)
    log.commit(70, 1, 20, topic_id=NEW)
    assert occurred(log) == [(K.TOPIC_RECREATED, Grade.RECORDED, (Partition("t", 0),))]
    evidence = log.timeline().occurrences[0].cause.evidence
    assert evidence.startswith("t was deleted and recreated: its id is ")
    assert evidence.endswith("; t-0: 448 to 159")


def test_it_is_told_of_a_step_forward_and_of_each_time() -> None:
    log = log_until_it_is_deleted()
    log.commit(60, 0, 500, topic_id=NEW)
    log.commit(61, 0, 7, topic_id=NEWER)
    assert [kind for kind, _, _ in occurred(log)] == [K.TOPIC_RECREATED] * 2


def test_with_nobody_in_the_group_it_is_no_reset() -> None:
    log = log_until_it_is_deleted()
    log.generation(30, 2)
    log.commit(60, 0, 159, topic_id=NEW)
    assert [kind for kind, _, _ in occurred(log)] == [K.TOPIC_RECREATED]


def test_after_its_offsets_were_removed_it_is_told_with_the_first_commit() -> None:
    log = log_until_it_is_deleted()
    log.remove_commit(50, 0)
    log.remove_commit(50, 1)
    log.commit(60, 0, 159, topic_id=NEW)
    assert [kind for kind, _, _ in occurred(log)][-1] is K.TOPIC_RECREATED
    assert log.timeline().occurrences[-1].cause.evidence.endswith("t-0: - to 159")


def test_in_the_same_topic_a_step_back_is_a_rewind() -> None:
    log = log_until_it_is_deleted()
    log.commit(60, 0, 159, topic_id=OLD)
    assert [kind for kind, _, _ in occurred(log)] == [K.REWIND]
    log = log_until_it_is_deleted()
    log.commit(60, 0, 159)  # a commit without an id, as of brokers before 4.1
    assert [kind for kind, _, _ in occurred(log)] == [K.REWIND]


def test_a_second_step_back_in_the_new_topic_is_a_rewind_again() -> None:
    log = log_until_it_is_deleted()
    log.commit(60, 0, 159, topic_id=NEW)
    log.commit(61, 0, 100, topic_id=NEW)
    assert [kind for kind, _, _ in occurred(log)] == [K.TOPIC_RECREATED, K.REWIND]


def test_the_same_members_again_after_a_move_joined_again_with_the_new_coordinator() -> None:
    log = GroupLog()
    log.generation(0, 1, member("a", 0), member("b", 1))
    log.leader_epoch = 1
    log.generation(30, 2, member("a", 0), member("b", 1))
    (cause,) = log.timeline().generations[1].causes
    assert (cause.kind, cause.grade) == (K.COORDINATOR_MOVED, Grade.INFERRED)
    assert "leader epoch 1 instead of 0" in cause.evidence


def test_with_the_same_coordinator_it_stays_unexplained() -> None:
    log = GroupLog()
    log.generation(0, 1, member("a", 0), member("b", 1))
    log.generation(30, 2, member("a", 0), member("b", 1))
    (cause,) = log.timeline().generations[1].causes
    assert (cause.kind, cause.grade) == (K.UNEXPLAINED, Grade.UNKNOWN)
