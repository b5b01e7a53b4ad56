"""Advice by a group's own history: what it is given for, with which numbers, and when there is none."""

from dataclasses import replace

import pytest

from kgroup.history.advise.advise import advise
from kgroup.history.advise.model import Setting
from kgroup.history.advise.pauses import PauseReader
from kgroup.history.timeline.model import Cause, CauseKind, Grade, Occurrence
from kgroup.lag.measures.offset_expiry import RETENTION_MS
from kgroup.protocol.records.entries import LoggedEntry
from tests.history.group_log import GROUP, GroupLog, member

DAY = 86_400


def pauses_of(log):
    reader = PauseReader()
    reader.begin()
    for entry in log.entries:
        if isinstance(entry, LoggedEntry):
            reader.add(entry)
    return reader.pauses().get(GROUP)


def on(log, setting, *, retention_ms=RETENTION_MS, pauses=None):
    advice = advise(log.timeline(), pauses or pauses_of(log), retention_ms)
    return [piece for piece in advice if piece.setting is setting]


def restarted(times, *, instance=None, away=3):
    """Of two members one is gone for some seconds, again and again."""
    log = GroupLog()
    both = member("a", 0, 1, instance=None), member("b", 2, 3, instance=instance)
    log.generation(0, 1, *both)
    for number in range(times):
        log.generation(100 * number + 50, 2 * number + 2, member("a", 0, 1, 2, 3))
        log.generation(100 * number + 50 + away, 2 * number + 3, *both)
    return log


class TestInstanceIds:
    def test_restarts_that_static_members_would_have_spared_the_group(self):
        (advice,) = on(restarted(3), Setting.INSTANCE_ID)
        assert (advice.now, advice.advised, advice.grade) == (
            "-",
            "one of its own for each member",
            Grade.INFERRED,
        )
        assert advice.evidence == (
            "3 restarts, the longest of 3s; with static members: rebalances 7 -> 1, moves of partitions"
            " 12 -> 0, stops of members 6 -> 0"
        )
        assert (advice.numbers["recorded_rebalances"], advice.numbers["supposed_rebalances"]) == (7, 1)

    @pytest.mark.parametrize(
        ("why", "log"),
        [
            ("once is no habit", restarted(1)),
            ("they were away for longer than their session", restarted(3, away=20)),
        ],
        ids=lambda case: case if isinstance(case, str) else "",
    )
    def test_not(self, why, log):
        assert not on(log, Setting.INSTANCE_ID), why


class TestMembers:
    def test_more_than_partitions(self):
        log = GroupLog()
        log.generation(0, 1, member("a", 0), member("b", 1), member("c"))
        (advice,) = on(log, Setting.MEMBERS)
        assert (advice.now, advice.advised, advice.grade) == ("3", "2, or more partitions", Grade.RECORDED)
        assert advice.evidence == "1 of 3 members have no partition: only 2 to share"

    def test_not_where_everybody_has_one_nor_where_nobody_is_left(self):
        log = GroupLog()
        log.generation(0, 1, member("a", 0), member("b", 1))
        assert not on(log, Setting.MEMBERS)
        log.generation(9, 2)
        assert not on(log, Setting.MEMBERS)


class TestAssignor:
    def test_one_that_stops_only_what_moves(self):
        log = GroupLog()
        log.generation(0, 1, member("a", 0, 1, 2, 3))
        log.generation(100, 2, member("a", 0, 1), member("b", 2, 3))
        log.generation(200, 3, member("a", 0, 1), member("b", 2), member("c", 3))
        log.generation(300, 4, member("a", 0), member("b", 1), member("c", 2), member("d", 3))
        (advice,) = on(log, Setting.ASSIGNOR)
        assert (advice.now, advice.advised) == ("range", "cooperative-sticky")
        assert advice.numbers["recorded_members_stopped"] == 6
        assert int(str(advice.numbers["supposed_members_stopped"])) <= 3
        (protocol,) = on(log, Setting.PROTOCOL)
        assert (protocol.now, protocol.advised) == ("classic", "consumer")

    def test_a_group_that_hardly_rebalances_is_left_as_it_is(self):
        log = GroupLog()
        log.generation(0, 1, member("a", 0, 1))
        log.generation(100, 2, member("a", 0), member("b", 1))
        assert not on(log, Setting.ASSIGNOR)
        assert not on(log, Setting.PROTOCOL)


class TestRetention:
    def away_for(self, days):
        log = GroupLog()
        log.generation(0, 1, member("a", 0))
        log.generation(10, 2)
        log.generation(10 + days * DAY, 3, member("a", 0))
        return log

    def test_a_time_without_members_that_comes_near(self):
        (advice,) = on(self.away_for(4), Setting.OFFSETS_RETENTION)
        assert (advice.now, advice.advised, advice.grade) == ("10080", "20160", Grade.INFERRED)
        assert advice.evidence == "without members for up to 96.0 h, and offsets are kept for 168.0 h then"

    def test_not_a_short_one(self):
        assert not on(self.away_for(3), Setting.OFFSETS_RETENTION)
        assert on(self.away_for(3), Setting.OFFSETS_RETENTION, retention_ms=5 * DAY * 1000)

    def test_offsets_that_did_expire(self):
        timeline = self.away_for(1).timeline()
        cause = Cause(kind=CauseKind.OFFSETS_EXPIRED, grade=Grade.INFERRED, evidence="gone")
        timeline.occurrences.append(
            Occurrence(at_ms=1, offset=1, offsets_partition=0, generation=1, cause=cause)
        )
        (advice,) = advise(timeline, None, RETENTION_MS)
        assert (advice.setting, advice.grade) == (Setting.OFFSETS_RETENTION, Grade.RECORDED)
        assert advice.evidence.startswith("offsets expired 1 times; without members for up to 24.0 h")


class TestPauses:
    def test_they_are_between_commits_of_one_member_in_one_generation(self):
        log = GroupLog()
        log.generation(0, 1, member("a", 0, 1), member("b", 2))
        for at, partition, offset in ((1, 0, 10), (4, 1, 10), (6, 0, 20), (9, 2, 5), (13, 1, 30)):
            log.commit(at, partition, offset)
        log.commit(40, 0, 20)  # no further: there was nothing to read
        log.generation(50, 2, member("a", 0, 1, 2))
        log.commit(90, 2, 90)
        pauses = pauses_of(log)
        assert pauses is not None
        assert [(each.from_ms // 1000, each.length_ms // 1000) for each in pauses.longest] == [
            (6 + _began(log), 7),
            (4 + _began(log), 2),
        ]
        assert (pauses.count, pauses.longest[0].partition, pauses.longest[0].offset) == (2, 1, 10)

    def test_a_clock_that_goes_back_makes_none_longer(self):
        log = GroupLog()
        log.generation(0, 1, member("a", 0, 1))
        for at, partition, offset in ((1, 0, 10), (1, 1, 10), (10, 0, 20), (8, 1, 20), (20, 0, 30)):
            log.commit(at, partition, offset)
        pauses = pauses_of(log)
        assert pauses is not None
        assert [each.length_ms // 1000 for each in pauses.longest] == [10, 9]

    def test_who_no_longer_owns_a_partition_pauses_no_more(self):
        log = GroupLog()
        log.generation(0, 1, member("a", 0, 1))
        log.commit(1, 0, 10)
        log.commit(2, 1, 10)
        log.generation(50, 2, member("a", 0))
        log.commit(90, 1, 20)
        assert pauses_of(log) is None

    def test_of_many_the_longest_are_kept(self):
        log = GroupLog()
        log.generation(0, 1, member("a", 0))
        for at in (*range(1, 60), 300):
            log.commit(at, 0, at)
        pauses = pauses_of(log)
        assert pauses is not None
        assert (pauses.count, len(pauses.longest)) == (59, 20)
        assert [each.length_ms // 1000 for each in pauses.longest][:2] == [241, 1]

    def test_a_member_that_took_nearly_all_of_its_time(self):
        log = GroupLog()
        log.generation(0, 1, member("a", 0))
        log.commit(1, 0, 10)
        log.commit(251, 0, 20)  # of 300 s
        (advice,) = on(log, Setting.MAX_POLL_INTERVAL)
        assert (advice.now, advice.advised, advice.grade) == ("300000", "375000", Grade.UNKNOWN)
        assert (
            advice.evidence
            == "a did not commit for 4m 10s, of 5m 0s that it may take from one poll to the next"
        )
        known = pauses_of(log)
        assert known is not None
        for worked_ms, grades in ((245_000, [Grade.INFERRED]), (200_000, [])):
            worked = replace(known, longest=(replace(known.longest[0], worked_ms=worked_ms),))
            assert [piece.grade for piece in on(log, Setting.MAX_POLL_INTERVAL, pauses=worked)] == grades

    def test_members_that_were_late(self):
        log = GroupLog()
        log.generation(0, 1, member("a", 0))
        timeline = log.timeline()
        late = Cause(kind=CauseKind.REBALANCE_TIMEOUT, grade=Grade.INFERRED, evidence="it was late")
        timeline.generations[0].causes = (late, late)
        (advice,) = advise(timeline, None, RETENTION_MS)
        assert (advice.setting, advice.grade) == (Setting.MAX_POLL_INTERVAL, Grade.INFERRED)
        assert advice.evidence == "members did not poll in time 2 times, the last: it was late"


class TestSessions:
    def test_a_member_that_expired_and_came_back_was_not_dead(self):
        log = GroupLog()
        both = member("a", 0), member("b", 1)
        log.generation(0, 1, *both)
        log.commits(1, 100, 1, 0, 1)
        log.commits(101, 111, 1, 0)
        log.generation(111, 2, member("a", 0, 1))
        log.commits(112, 115, 1, 0, 1)
        log.generation(116, 3, member("a", 0), member("b-again", 1, client="b"))
        timeline = log.timeline()
        assert CauseKind.SESSION_EXPIRED in {cause.kind for cause in timeline.generations[1].causes}
        (advice,) = on(log, Setting.SESSION_TIMEOUT)
        assert (advice.now, advice.advised, advice.grade) == ("10000", "25000", Grade.INFERRED)
        assert advice.evidence.startswith(
            "1 of 1 members that expired came back, b after 15s of silence; with this: rebalances 3 -> 2"
        )

    def test_one_that_stays_away_says_nothing(self):
        log = GroupLog()
        log.generation(0, 1, member("a", 0), member("b", 1))
        log.commits(1, 100, 1, 0, 1)
        log.commits(101, 111, 1, 0)
        log.generation(111, 2, member("a", 0, 1))
        assert not on(log, Setting.SESSION_TIMEOUT)


def _began(log):
    return (log.timeline().generations[0].roster.at_ms or 0) // 1000
