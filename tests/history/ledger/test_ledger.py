"""What is skipped and doubled in logs that are written record by record."""

from dataclasses import dataclass, field, replace

import pytest

from kgroup.history.ledger.ledger import ledgers
from kgroup.history.ledger.model import LedgerCause, LedgerKind
from kgroup.history.timeline.model import Grade, Partition
from tests.history.group_log import GROUP, GroupLog, member

SKIPPED, DOUBLED = LedgerKind.SKIPPED, LedgerKind.DOUBLED


@dataclass
class Topic:
    """Topic t: where its logs begin, and how they grew: (seconds, end) in order."""

    start: int | None = None
    ends: list[tuple[float, int]] = field(default_factory=list)
    was_cut: bool = False

    def end(self, partition):
        return self.ends[-1][1] if self.ends else None

    def ends_at(self, partition, times_ms):
        return [
            max((end for at, end in self.ends if at * 1000 <= time_ms), default=None) for time_ms in times_ms
        ]


class Bounds:
    def __init__(self, topic):
        self._topic = topic

    def start(self, partition):
        return self._topic.start

    def end(self, partition):
        return self._topic.end(partition)

    def was_cut_by_request(self, partition):
        return self._topic.was_cut

    def ends_at(self, partition, times_ms):
        return self._topic.ends_at(partition, times_ms)


def made_of(log, start=None, *ends, was_cut=False):
    """Without what is said of every group's first start, which has tests of its own."""
    made = ledgers(log.entries, {}, Bounds(Topic(start, list(ends), was_cut)))[GROUP]
    return [each for each in made.entries if each.cause is not LedgerCause.FIRST_COMMIT]


def entries(log, start=None, *ends, was_cut=False):
    return [
        (each.kind, each.from_offset, each.to_offset, each.is_certain, each.cause)
        for each in made_of(log, start, *ends, was_cut=was_cut)
    ]


def first_commits(log, start=None, *ends):
    made = ledgers(log.entries, {}, Bounds(Topic(start, list(ends))))[GROUP]
    return [
        (each.kind, each.from_offset, each.to_offset, each.is_certain, each.group_was_known)
        for each in made.entries
        if each.cause is LedgerCause.FIRST_COMMIT
    ]


A, B = member("a", 0), member("b", 0)


def reading(log, first=0.0, last=10.0):
    """Generation 1, in which `a` reads 10 records a second."""
    log.generation(first, 1, A)
    log.commits(first + 2, last, 2, 0)


# ---- healthy groups ---------------------------------------------------------------------------------------


def test_a_group_that_reads_on_is_in_no_ledger():
    log = GroupLog()
    reading(log)
    assert entries(log) == []
    assert entries(log, 0, (1, 50), (20, 200)) == []


def test_a_first_commit_above_a_start_that_nobody_knows_is_no_skip():
    log = GroupLog()
    log.generation(0, 1, A)
    log.commit(5, 0, 5_000)
    assert first_commits(log) == []


def test_who_begins_below_the_end_has_begun_at_the_start():
    log = GroupLog()
    log.generation(100, 1, A)
    log.commit(105, 0, 500)
    assert first_commits(log, 0, (10, 2_000), (200, 3_000)) == []


def test_a_caught_up_hand_over_doubles_nothing():
    log = GroupLog()
    reading(log)
    log.generation(20, 2, B)
    log.commit(22, 0, 130)
    assert entries(log, 0, (10, 100), (21, 130)) == []


def test_a_consumer_without_membership_reads_as_any_other():
    log = GroupLog()
    log.commits(1, 9, 2, 0)
    assert entries(log, 0, (1, 5), (10, 100)) == []


def test_what_is_missing_from_the_log_proves_nothing():
    log = GroupLog()
    reading(log)
    log.gap()
    log.commit(20, 0, 9_000)
    assert entries(log, 500, (10, 100), (21, 9_000)) == []


def test_the_first_commit_after_a_gap_is_no_groups_first():
    log = GroupLog()
    log.gap()
    log.generation(100, 1, A)
    log.commit(105, 0, 9_000)
    assert first_commits(log, 0, (10, 100), (110, 9_500)) == []


def test_a_long_way_after_a_pause_is_no_loss_while_the_log_has_it_all():
    log = GroupLog()
    reading(log)
    log.generation(11, 2)
    log.generation(600, 3, B)
    log.commit(602, 0, 6_000)
    assert entries(log, 0, (10, 100), (11, 100), (602, 6_000)) == []


def test_a_log_whose_start_has_passed_by_since_then_is_no_loss():
    """Retention comes by every place that a group has read; only a leap over it is a sign."""
    log = GroupLog()
    reading(log)
    log.generation(11, 2)
    log.generation(13, 3, B)
    log.commits(14, 30, 2, 0)
    assert entries(log, 120, (10, 100), (11, 100), (30, 300)) == []


# ---- skipped ----------------------------------------------------------------------------------------------


def test_a_first_start_at_the_end_may_have_passed_over_all_before():
    log = GroupLog()
    log.generation(100, 1, A)
    log.commit(105, 0, 2_003)
    assert first_commits(log, 7, (10, 2_000), (200, 3_000)) == [(SKIPPED, 7, 2_003, False, False)]


def test_a_partition_that_is_new_to_a_group_may_have_been_begun_at_its_end():
    log = GroupLog()
    reading(log)
    log.generation(100, 2, member("a", 0, 1))
    log.commit(105, 1, 60)
    assert first_commits(log, 0, (-40, 30), (100, 50), (200, 100)) == [(SKIPPED, 0, 60, False, True)]


def test_the_end_at_which_a_reader_begins_may_be_behind_the_logs_own():
    """`latest` is the high watermark, and replicas may be behind for replica.lag.time.max.ms."""
    log = GroupLog()
    reading(log)
    assert first_commits(log, 0, (-35, 30), (-34, 30), (200, 100)) == []
    assert first_commits(log, 0, (-34, 30), (200, 100)) == [(SKIPPED, 0, 20, False, False)]
    assert first_commits(log, 0, (-35, 20), (200, 100)) == [(SKIPPED, 0, 20, False, False)]


def test_a_first_commit_without_membership_is_a_first_start_too():
    log = GroupLog()
    log.commits(5, 9, 2, 0)
    assert first_commits(log, 0, (200, 100)) == [(SKIPPED, 0, 50, False, False)]


def test_an_offset_that_is_set_forward_skips_what_nobody_can_have_read():
    log = GroupLog()
    reading(log)
    log.generation(11, 2)
    log.commit(50, 0, 400)
    log.generation(60, 3, B)
    log.commit(62, 0, 420)
    assert entries(log, 0, (10, 100), (11, 130), (60, 410), (62, 420)) == [
        (SKIPPED, 130, 400, True, LedgerCause.ADMIN_RESET),
        (SKIPPED, 100, 130, False, LedgerCause.ADMIN_RESET),
    ]


def test_who_has_lost_the_partition_may_read_on_until_it_learns_of_it():
    log = GroupLog()
    reading(log)
    log.generation(11, 2)
    log.commit(80, 0, 400)
    ends = (10, 100), (11, 130), (20, 200), (22, 300), (90, 410)
    assert entries(log, 0, *ends) == [
        (SKIPPED, 200, 400, True, LedgerCause.ADMIN_RESET),
        (SKIPPED, 100, 200, False, LedgerCause.ADMIN_RESET),
    ]


def test_without_the_topics_log_it_is_a_bound():
    log = GroupLog()
    reading(log)
    log.generation(11, 2)
    log.commit(50, 0, 400)
    assert entries(log) == [(SKIPPED, 100, 400, False, LedgerCause.ADMIN_RESET)]


def test_what_is_read_after_all_is_not_skipped():
    log = GroupLog()
    reading(log)
    log.generation(11, 2)
    log.commit(50, 0, 400)
    log.commit(55, 0, 300)
    log.generation(60, 3, B)
    log.commits(62, 70, 2, 0)
    skipped = [each for each in entries(log, 0, (10, 100), (11, 100), (80, 700)) if each[0] is SKIPPED]
    assert skipped == [(SKIPPED, 100, 300, True, LedgerCause.ADMIN_RESET)]


def test_several_offsets_in_an_empty_group_are_a_consumers():
    log = GroupLog()
    reading(log)
    log.generation(11, 2)
    log.commits(12, 40, 2, 0)
    assert entries(log, 0, (10, 100), (11, 100), (40, 400)) == []


def test_two_offsets_in_an_empty_group_may_be_set_by_tools():
    log = GroupLog()
    reading(log)
    log.generation(11, 2)
    log.commit(12, 0, 100)
    log.commit(13, 0, 122)
    log.generation(20, 3, B)
    log.commits(22, 30, 2, 0)
    assert entries(log, 0, (10, 100), (11, 100), (13, 130), (30, 300)) == [
        (SKIPPED, 100, 122, False, LedgerCause.ADMIN_RESET),
        (DOUBLED, 122, 130, False, LedgerCause.HAND_OVER),
    ]


def test_a_consumer_without_membership_may_have_begun_where_a_tool_set_the_offset():
    log = GroupLog()
    reading(log)
    log.generation(11, 2)
    log.commit(12, 0, 400)
    for step in range(1, 6):
        log.commit(12 + step, 0, 400 + 10 * step)
    assert entries(log, 0, (10, 100), (11, 100), (20, 500)) == [
        (SKIPPED, 100, 400, False, LedgerCause.ADMIN_RESET)
    ]


@pytest.mark.parametrize(("first", "found"), [(141, [(100, 141)]), (140, [])])
def test_a_first_step_of_a_consumer_without_membership_is_its_own_if_it_is_like_the_others(first, found):
    log = GroupLog()
    reading(log)
    log.generation(11, 2)
    for step in range(6):
        log.commit(12 + step, 0, first + 10 * step)
    made = entries(log, 0, (10, 100), (11, 100), (20, 500))
    assert [each[1:3] for each in made if each[0] is SKIPPED] == found


def test_the_first_offsets_ever_may_be_set_by_tools_in_a_group_that_has_members_later():
    log = GroupLog()
    log.generation(0, 1)
    log.commit(1, 0, 10)
    log.commit(2, 0, 60)
    log.generation(20, 2, B)
    log.commits(22, 30, 2, 0)
    made = [each[:5] for each in entries(log, 0, (2, 100), (30, 300)) if each[0] is SKIPPED]
    assert made == [(SKIPPED, 10, 60, False, LedgerCause.ADMIN_RESET)]


def test_offsets_that_tools_set_back_one_after_the_other_are_no_reading():
    log = GroupLog()
    reading(log)
    log.generation(11, 2)
    for at, offset in (12, 50), (13, 20), (14, 60):
        log.commit(at, 0, offset)
    log.generation(20, 3, B)
    log.commits(22, 30, 2, 0)
    assert (DOUBLED, 60, 100, True, LedgerCause.HAND_OVER) in entries(log, 0, (10, 100), (11, 100), (30, 300))
    assert (SKIPPED, 20, 60, False, LedgerCause.ADMIN_RESET) not in entries(log, 0, (30, 300))


def test_retention_that_overtook_a_group_which_was_away():
    log = GroupLog()
    reading(log)
    log.generation(11, 2)
    log.generation(600, 3, B)
    log.commit(602, 0, 6_000)
    assert entries(log, 3_000, (10, 100), (11, 100), (602, 6_000)) == [
        (SKIPPED, 100, 3_000, True, LedgerCause.OUT_OF_RANGE),
        (SKIPPED, 3_000, 6_000, False, LedgerCause.OUT_OF_RANGE),
    ]


def test_a_log_that_begins_where_the_group_was_has_lost_it_nothing():
    log = GroupLog()
    reading(log)
    log.generation(11, 2)
    log.generation(600, 3, B)
    log.commit(602, 0, 6_000)
    assert entries(log, 100, (10, 100), (11, 100), (602, 5_000)) == []


def test_who_takes_over_at_once_has_not_been_overtaken():
    """Nobody was away, so the log's start came by later, as it comes by every place."""
    log = GroupLog()
    reading(log)
    log.generation(600, 2, B)
    log.commit(602, 0, 6_000)
    made = entries(log, 3_000, (10, 100), (11, 100), (602, 6_000))
    assert LedgerCause.OUT_OF_RANGE not in [cause for *_, cause in made]


@pytest.mark.parametrize(("first", "is_loss"), [(120, False), (121, True)])
def test_only_a_longer_step_than_any_other_is_one_over_deleted_records(first, is_loss):
    """`a` took steps of 20."""
    log = GroupLog()
    reading(log)
    log.generation(11, 2)
    log.generation(12, 3, B)
    log.commit(13, 0, first)
    made = entries(log, 110, (10, 100), (11, 100), (13, 125))
    assert (LedgerCause.OUT_OF_RANGE in [cause for *_, cause in made]) is is_loss


def test_records_that_were_deleted_by_request_while_a_group_was_away():
    log = GroupLog()
    reading(log)
    log.generation(11, 2)
    log.generation(60, 3, B)
    log.commit(62, 0, 600)
    log.commits(64, 90, 2, 0)
    ends = (10, 100), (11, 100), (62, 600), (90, 9_000)
    assert entries(log, 400, *ends) == []
    assert entries(log, 400, *ends, was_cut=True) == [
        (SKIPPED, 100, 400, True, LedgerCause.OUT_OF_RANGE),
        (SKIPPED, 400, 600, False, LedgerCause.OUT_OF_RANGE),
    ]


def test_an_offset_that_had_been_deleted():
    log = GroupLog()
    reading(log)
    log.generation(11, 2)
    log.remove_commit(200, 0)
    log.generation(600, 3, B)
    log.commit(602, 0, 6_000)
    assert entries(log, 0, (10, 100), (11, 100), (602, 6_000)) == [
        (SKIPPED, 100, 6_000, False, LedgerCause.OFFSETS_REMOVED),
        (DOUBLED, 0, 100, False, LedgerCause.OFFSETS_REMOVED),
    ]


def test_an_offset_that_had_been_deleted_before_anything_was_proven():
    """The only commit says where its reader was, and not what it had read: the next one's is a first one."""
    log = GroupLog()
    log.generation(0, 1, A)
    log.commit(5, 0, 50)
    log.generation(11, 2)
    log.remove_commit(200, 0)
    log.generation(600, 3, B)
    log.commit(602, 0, 6_000)
    ends = (4, 50), (11, 100), (602, 6_000)
    assert first_commits(log, 0, *ends) == [(SKIPPED, 0, 50, False, False), (SKIPPED, 0, 6_000, False, True)]


# ---- doubled ----------------------------------------------------------------------------------------------


def test_a_consumer_without_membership_may_have_read_from_the_start_before_its_first_commit():
    log = GroupLog()
    log.commits(5, 9, 2, 0)
    log.remove_commit(15, 0)
    log.generation(30, 1, B)
    log.commits(32, 34, 2, 0)
    made = entries(log, 0, (4, 100), (34, 400))
    assert (DOUBLED, 0, 100, False, LedgerCause.OFFSETS_REMOVED) in made


def test_a_hand_over_may_double_what_was_written_by_then():
    log = GroupLog()
    reading(log)
    log.generation(20, 2, B)
    log.commit(22, 0, 210)
    assert entries(log, 0, (10, 100), (20, 200), (22, 220)) == [
        (DOUBLED, 100, 200, False, LedgerCause.HAND_OVER)
    ]
    assert entries(log) == []  # without an end there is no bound


def test_a_member_that_gets_its_own_back_may_begin_behind_where_it_was():
    log = GroupLog()
    reading(log)
    log.generation(20, 2, A)
    log.commit(22, 0, 210)
    assert entries(log, 0, (10, 100), (20, 200), (22, 220)) == [
        (DOUBLED, 100, 200, False, LedgerCause.REJOIN)
    ]


def test_a_member_that_keeps_what_it_has_goes_on():
    log = GroupLog()
    log.generation(0, 1, A, protocol="cooperative-sticky")
    log.commits(2, 10, 2, 0)
    log.generation(20, 2, member("a", 0, had=(0,)), member("c", 1), protocol="cooperative-sticky")
    log.commit(22, 0, 210)
    assert entries(log, 0, (10, 100), (20, 200), (22, 220)) == []


def test_a_member_that_has_lost_everything_meanwhile_begins_again():
    """Under the same id: its generation was over, and it joins with nothing (`onPartitionsLost`)."""
    log = GroupLog()
    log.generation(0, 1, A, protocol="cooperative-sticky")
    log.commits(2, 10, 2, 0)
    log.generation(20, 2, A, member("c", 1), protocol="cooperative-sticky")
    log.commit(22, 0, 210)
    assert entries(log, 0, (10, 100), (20, 200), (22, 220)) == [
        (DOUBLED, 100, 200, False, LedgerCause.REJOIN)
    ]


def test_a_subscription_that_cannot_be_read_says_nothing_of_what_was_kept():
    log = GroupLog()
    log.generation(0, 1, A, protocol="cooperative-sticky")
    log.commits(2, 10, 2, 0)
    torn = replace(member("a", 0, had=(0,)), subscription=b"\x00")
    log.generation(20, 2, torn, protocol="cooperative-sticky")
    log.generation(30, 3, A, protocol="cooperative-sticky")
    assert entries(log, 0, (10, 100), (20, 200), (30, 300)) == [
        (DOUBLED, 100, 300, False, LedgerCause.REJOIN)
    ]


def test_others_read_on_when_a_static_member_comes_back():
    log = GroupLog()
    log.generation(0, 1, A, member("s", 1, instance="s"))
    log.commits(2, 10, 2, 0, 1)
    again = member("s2", 1, instance="s")
    log.generation(20, 1, A, again)
    log.commit(22, 0, 210)
    log.commit(22, 1, 210)
    assert [(each.partition.partition, each.cause) for each in made_of(log, 0, (10, 100), (20, 200))] == [
        (1, LedgerCause.HAND_OVER)
    ]


def test_an_offset_that_is_set_back_doubles_what_is_committed_again():
    log = GroupLog()
    reading(log)
    log.generation(11, 2)
    log.commit(50, 0, 40)
    log.generation(60, 3, B)
    log.commit(62, 0, 90)
    log.commit(64, 0, 120)
    assert entries(log, 0, (10, 100), (11, 100), (62, 120)) == [
        (DOUBLED, 40, 100, True, LedgerCause.ADMIN_RESET)
    ]


def test_who_goes_back_and_comes_up_again_has_read_twice():
    log = GroupLog()
    reading(log)
    log.commit(12, 0, 40)
    log.commit(14, 0, 80)
    log.commit(16, 0, 120)
    assert entries(log) == [(DOUBLED, 40, 100, True, LedgerCause.REWIND)]


def test_the_same_offset_again_is_no_way_back():
    log = GroupLog()
    reading(log)
    log.commit(12, 0, 100)
    log.commit(14, 0, 140)
    assert entries(log, 0, (10, 100), (12, 130), (14, 140)) == []


def test_one_late_commit_is_no_proof_that_anything_was_read_again():
    log = GroupLog()
    reading(log)
    log.commit(12, 0, 80)
    log.commit(14, 0, 120)
    assert entries(log, 0, (12, 100), (14, 120)) == [(DOUBLED, 80, 100, False, LedgerCause.REWIND)]


@pytest.mark.parametrize(
    ("committed", "found"), [(False, []), (True, [(DOUBLED, 60, 100, False, LedgerCause.REWIND)])]
)
def test_what_an_aborted_transaction_committed_does_not_count(committed, found):
    log = GroupLog()
    reading(log)
    log.commit(12, 0, 60, producer=7)
    log.end_transaction(13, 7, committed=committed)
    log.commit(14, 0, 140)
    assert entries(log, 0, (10, 100), (14, 140)) == found


def test_a_transaction_ends_in_the_offsets_partition_that_it_began_in():
    """The topic has grown, the group is in two of its partitions, and the first has no marker."""
    log, other = GroupLog(), GroupLog()
    reading(log)
    log.commit(12, 0, 20, producer=7)
    other.end_transaction(13, 7, committed=True)
    other.generation(20, 2, B)
    other.commit(22, 0, 130)
    log.entries += [replace(logged, partition=1) for logged in other.entries]
    assert entries(log, 0, (10, 100), (21, 130)) == []


def test_a_broker_whose_clock_is_behind_turns_nothing_back():
    log = GroupLog()
    reading(log)
    log.commit(30, 0, 110)
    log.generation(25, 2, B)
    log.commit(26, 0, 150)
    (entry,) = made_of(log, 0, (10, 100), (21, 130), (27, 200))
    assert (entry.cause, entry.at_ms) == (LedgerCause.HAND_OVER, 30_000)


def test_an_entry_says_whose_it_is_and_what_shows_it():
    log = GroupLog()
    reading(log)
    log.generation(11, 2)
    log.commit(50, 0, 40)
    log.generation(60, 3, B)
    log.commit(62, 0, 100)
    (entry,) = made_of(log, 0, (11, 100), (62, 120))
    assert entry.partition == Partition("t", 0)
    assert entry.owners == (("b-id", "b"),)
    assert (entry.at_least, entry.at_most, entry.grade) == (60, 60, Grade.RECORDED)
    assert (entry.at_ms, entry.from_ms, entry.to_ms) == (60_000, 50_000, 62_000)
    assert entry.generation == 3
    places = {each.offset: each.timestamp_ms for each in log.entries}
    assert [places[place] for place in entry.records] == [50_000, 60_000, 62_000]


# ---- leaps to the end -------------------------------------------------------------------------------------

GREW = ((0, 0), (50, 10_000), (200, 12_000))
"""So the log grew, of which `reading` has 100 offsets by second 10."""


def leaping(at=62, to=11_000, *, step=30, more_before=()):
    """It reads 30 offsets in 10 s for long, and at `at` it commits `to`."""
    log = GroupLog()
    log.generation(0, 1, A)
    for number in range(1, 7):
        log.commit(10 * number, 0, step * number)
    for second, offset in more_before:
        log.commit(second, 0, offset)
    log.commit(at, 0, to)
    return log


def leaps(log, *ends):
    return [
        (each.from_offset, each.to_offset, each.is_certain, each.grade, each.at_ms, each.to_ms)
        for each in made_of(log, 0, *ends)
        if each.cause is LedgerCause.LEAP
    ]


def test_one_step_to_the_end_may_have_skipped_all_of_it():
    log = leaping()
    (leap,) = leaps(log, *GREW)
    assert leap[:4] == (180, 11_000, False, Grade.UNKNOWN)
    assert leap[5] - leap[4] == 2_000


def test_what_a_leap_may_have_skipped_is_doubled_for_certain_by_nobody():
    log = leaping()
    log.generation(100, 2, B)
    log.commit(101, 0, 1_000)
    log.commit(102, 0, 2_000)
    doubled = [each for each in entries(log, 0, *GREW) if each[0] is DOUBLED and each[3]]
    assert doubled == []


def test_only_the_one_that_leapt_has_no_certain_part_in_it():
    log = leaping()
    for generation, at in (2, 100), (4, 300):
        log.generation(at, generation)
        log.commit(at + 60, 0, 180)
        log.generation(at + 70, generation + 1, B)
        for number in range(1, 5):
            log.commit(at + 70 + 2 * number, 0, 180 + 2_500 * number)
        log.commit(at + 80, 0, 11_000)
    certain = [each[1:3] for each in entries(log, 0, *GREW) if each[0] is DOUBLED and each[3]]
    assert certain == [(180, 11_000)], "the second and the third that had the partition"


def test_a_leap_is_held_against_two_other_steps_and_must_be_faster_than_each():
    two = GroupLog()
    two.generation(0, 1, A)
    for second, offset in (10, 30), (20, 60), (62, 11_000):
        two.commit(second, 0, offset)
    assert leaps(two, (0, 5_000), (200, 12_000)) == []
    fast = leaping(at=82, more_before=((60.1, 690),))  # 510 in 0.1 s, and then 10,310 in 21.9 s
    assert leaps(fast, *GREW) == []


def test_the_step_from_the_offset_that_a_reader_found_may_be_the_leap():
    log = GroupLog()
    log.generation(0, 1, A)
    for number in range(1, 7):
        log.commit(10 * number, 0, 30 * number)
    log.generation(61, 2, B)
    log.commit(62, 0, 11_000)
    ((first, end, *_, from_ms, to_ms),) = leaps(log, *GREW)
    assert (first, end, from_ms, to_ms) == (180, 11_000, 60_000, 62_000)


def test_a_leap_is_of_100_offsets_at_least():
    ends = (0, 0), (50, 200), (61, 210), (200, 300)
    assert [each[:2] for each in leaps(leaping(to=220, step=20), *ends)] == [(120, 220)]
    assert leaps(leaping(to=219, step=20), *ends) == []


def test_who_may_have_read_it_has_not_leapt():
    assert leaps(leaping(at=10_000), *GREW, (9_000, 12_000)) == [], "it had the time"
    assert leaps(leaping(to=5_000), *GREW) == [], "it is not at the end"
    assert leaps(leaping(), (0, 0), (50, 180), (61, 11_000)) == [], "nothing was waiting"
    assert leaps(leaping()) == [], "nobody knows where the log ended"
    assert leaps(leaping(more_before=((61, 3_000),)), *GREW) == [], "it takes such steps"
    assert leaps(leaping(to=279), (0, 0), (50, 270), (200, 300)) == [], "it is one fetch"
