"""What Burrow's rules and kgroup's say of the same window, and why."""

import pytest

from kgroup.lag.status.model import (
    BehindTransaction,
    GroupStatus,
    LagGrew,
    NoMembers,
    PartitionStatus,
    ReaderStandsStill,
    ReadInTurn,
    Repeated,
    RhythmBroken,
    Rule,
    group_status,
)
from kgroup.lag.status.rule_set import RuleSet
from kgroup.lag.status.rule_sets import BurrowRules, KgroupRules, judge, rules_named
from kgroup.lag.status.rules import BURROW_CLAUSES, KGROUP_CLAUSES, STATUS_RULES
from kgroup.lag.status.window_evidence import Case, deepest_rewind
from tests.lag.windows import NOW, ago, window

STEADY = [(50, 100, 5), (40, 120, 6), (30, 140, 5), (20, 160, 6), (10, 180, 5)]
BROKEN = RhythmBroken(
    last_commit_ms=ago(120),
    unread_by_ms=ago(110),
    went_on_until_ms=ago(1),
    silent_ms=109_000,
    limit_ms=100_000,
    longest_interval_ms=10_000,
    usual_step=10,
)
REPEATED = Repeated(offset=100, since_ms=ago(600), unread_by_ms=ago(500))
BEHIND = BehindTransaction(producer_id=7, producer_epoch=0, first_offset=110, since_ms=ago(115))
IDLE = [(3600, 100, 0), (3590, 110, 0), (3580, 120, 0)]  # caught up an hour ago, nothing committed since

# window, log end, what Burrow says, what kgroup says
TABLE = {
    "nothing committed": (window(slots=0), 500, "OK no-commits", "UNKNOWN no-commits"),
    "nothing to read": (window(*IDLE), 120, "OK within-allowed", "OK within-allowed"),
    "commit beyond the end that was read": (window(*STEADY), 170, "OK within-allowed", "OK within-allowed"),
    "healthy": (window(*STEADY), 185, "OK lag-fell", "OK lag-fell"),
    # A record comes after an idle hour.
    "slow topic, the record was just seen to come": (
        window(*IDLE, heads=[(12, 120), (2, 121)]),
        121,
        "OK was-within-allowed",
        "OK was-within-allowed",
    ),
    "slow topic, its last idle end is forgotten": (
        window(*IDLE, heads=[(2, 121)], unread_since=2),
        121,
        "STOP stopped",
        "OK was-within-allowed",
    ),
    "slow topic, no idle end was ever read": (window(*IDLE), 121, "STOP stopped", "UNKNOWN perhaps-stopped"),
    "slow topic, its reader is gone": (
        window(*IDLE, unread_since=600),
        121,
        "STOP stopped",
        "STOP stopped",
    ),
    "slow topic, unread for long by a log end": (
        window(*IDLE, heads=[(900, 120), (600, 121)]),
        121,
        "OK was-within-allowed",
        "STOP stopped",
    ),
    "left something unread at its last commit": (
        window((3600, 100, 9), (3590, 110, 9)),
        400,
        "STOP stopped",
        "STOP stopped",
    ),
    # Windows too short to say anything.
    "one commit, a second old": (window((1, 100, 9)), 109, "STOP stopped", "UNKNOWN lag-trend-unknown"),
    "one commit of a clock ahead": (window((-5, 100, 9)), 109, "STALL stalled", "UNKNOWN lag-trend-unknown"),
    "one commit, long ago": (window((301, 100, 9)), 109, "STOP stopped", "STOP stopped"),
    "one commit, as long ago as a poll may take": (
        window((300, 100, 9)),
        109,
        "STOP stopped",
        "UNKNOWN lag-trend-unknown",
    ),
    "two commits of one offset within seconds": (
        window((5, 100, 9), (2, 100, 9)),
        109,
        "STALL stalled",
        "OK lag-kept",
    ),
    "clocks that disagree": (
        window((5, 100, 9), (20, 110, 8), (10, 120, 7)),
        127,
        "STOP stopped",
        "OK lag-fell",
    ),
    # Stalls.
    "a full window of one offset": (
        window((50, 100, 9), (27, 100, 9), (5, 100, 9), slots=3),
        109,
        "STALL stalled",
        "STALL stalled",
    ),
    "a full window of one offset, for less than a batch may take": (
        window((50, 100, 9), (27, 100, 9), (6, 100, 9), slots=3),
        109,
        "STALL stalled",
        "UNKNOWN perhaps-stalled",
    ),
    "a long window of one offset": (
        window((400, 100, 9), (200, 100, 9), (1, 100, 9)),
        109,
        "STALL stalled",
        "STALL stalled",
    ),
    "a full window of one offset, no lag known": (
        window((12, 100, None), (9, 100, None), (6, 100, None), slots=3),
        109,
        "STALL stalled",
        "UNKNOWN perhaps-stalled",
    ),
    "the same, and the next record has waited since before": (
        window((50, 100, None), (27, 100, None), (5, 100, None), slots=3, unread_since=51),
        109,
        "STALL stalled",
        "STALL stalled",
    ),
    "the same, by the latest that it can have come": (
        window((50, 100, None), (27, 100, None), (5, 100, None), slots=3, unread_by=50),
        109,
        "STALL stalled",
        "STALL stalled",
    ),
    "the same, but it is proven for a part of that time only": (
        window((50, 100, None), (27, 100, None), (5, 100, None), slots=3, unread_by=30),
        109,
        "STALL stalled",
        "UNKNOWN perhaps-stalled",
    ),
    "the same, and the next record has only come": (
        window((12, 100, None), (9, 100, None), (6, 100, None), slots=3, unread_since=2),
        109,
        "STALL stalled",
        "UNKNOWN lag-trend-unknown",
    ),
    "commits far apart, and the next record came among them long ago": (
        window((1200, 100, None), (600, 100, None), (1, 100, None), slots=3, unread_since=700),
        109,
        "STALL stalled",
        "STALL stalled",
    ),
    "full, of one offset, and caught up at first": (
        window((12, 100, 0), (9, 100, 9), (6, 100, 9), slots=3),
        109,
        "OK was-within-allowed",
        "OK was-within-allowed",
    ),
    "one slot": (window((1, 100, 9), slots=1), 109, "STOP stopped", "UNKNOWN lag-trend-unknown"),
    # Rewinds.
    "back, and not up again": (
        window((50, 100, 5), (30, 40, 70), (10, 60, 60)),
        120,
        "REWIND rewound",
        "REWIND rewound",
    ),
    "back, and up again": (
        window((50, 100, 5), (30, 40, 70), (10, 100, 20)),
        120,
        "OK lag-fell",
        "OK lag-fell",
    ),
    "back a second time": (
        window((50, 100, 5), (40, 90, 20), (30, 120, 25), (10, 30, 120)),
        150,
        "WARN lag-never-fell",
        "REWIND rewound",
    ),
    "back, then silent for long": (
        window((3600, 100, 5), (3590, 40, 70)),
        120,
        "STOP stopped",
        "STOP stopped",
    ),
    "back, silent, since when unread is not known": (
        window((3600, 100, None), (3590, 40, None)),
        120,
        "STOP stopped",
        "REWIND rewound",
    ),
    # Trends.
    "lag grows": (
        window((30, 100, 5), (20, 110, 10), (10, 120, 20)),
        150,
        "WARN lag-never-fell",
        "WARN lag-never-fell",
    ),
    "lag stays": (
        window((30, 100, 5), (20, 110, 5), (10, 120, 5)),
        125,
        "WARN lag-never-fell",
        "OK lag-kept",
    ),
    "no lag is known, and less is unread than ten commits take": (
        window((30, 100, None), (20, 110, None), (10, 120, None)),
        219,
        "WARN lag-never-fell",
        "OK few-unread",
    ),
    "no lag is known, and much is unread": (
        window((30, 100, None), (20, 110, None), (10, 120, None)),
        220,
        "WARN lag-never-fell",
        "UNKNOWN lag-trend-unknown",
    ),
    "the lag of one commit is known, and much is unread": (
        window((30, 100, None), (20, 110, None), (10, 120, 100)),
        220,
        "WARN lag-never-fell",
        "UNKNOWN lag-trend-unknown",
    ),
    # Proofs, which are for kgroup's rules alone.
    "others read on, and the group has broken its rhythm": (
        window((130, 100, None), (120, 110, None), proof=BROKEN),
        400,
        "STOP stopped",
        "STOP rhythm-broken",
    ),
    "the same, after going back": (
        window((130, 110, None), (120, 100, None), proof=BROKEN),
        400,
        "STOP stopped",
        "STOP rhythm-broken",
    ),
    "the same, for longer than a poll may take": (
        window((430, 100, None), (420, 110, None), unread_by=400, proof=BROKEN),
        400,
        "STOP stopped",
        "STOP stopped",
    ),
    "all that is unread lies behind an open transaction": (
        window((130, 100, None), (120, 110, None), proof=BEHIND),
        400,
        "STOP stopped",
        "WARN open-transaction",
    ),
    "that, for longer than a poll may take": (
        window((430, 100, None), (420, 110, None), unread_by=400, proof=BEHIND),
        400,
        "STOP stopped",
        "WARN open-transaction",
    ),
    "the same, and it has ended since": (
        window((430, 100, None), (420, 110, None), proof=BEHIND),
        110,
        "OK within-allowed",
        "OK within-allowed",
    ),
    "a proof of what has been read since": (
        window((30, 100, None), (20, 110, None), proof=BROKEN),
        110,
        "OK within-allowed",
        "OK within-allowed",
    ),
    "ten seconds of commits of one offset, which older ones had, too": (
        window((10, 100, None), (1, 100, None), proof=REPEATED),
        400,
        "STALL stalled",
        "STALL repeated",
    ),
    "the same, and it has moved since": (
        window((10, 100, None), (1, 400, None), proof=REPEATED),
        400,
        "OK within-allowed",
        "OK within-allowed",
    ),
    "more is written than the group reads": (
        window((30, 100, None), (20, 110, None), proof=LagGrew(read_per_s=1.0, written_per_s=9.0)),
        400,
        "STOP stopped",
        "WARN lag-grew",
    ),
    "the group stands still elsewhere": (
        window((30, 100, None), (20, 110, None), proof=ReaderStandsStill(partitions=3, since_ms=ago(20))),
        111,
        "STOP stopped",
        "UNKNOWN reader-stands-still",
    ),
    "its member is busy elsewhere, whatever its commits say": (
        window((400, 100, 9), (200, 100, 9), (1, 100, 9), proof=ReadInTurn(since_ms=ago(400))),
        109,
        "STALL stalled",
        "UNKNOWN read-in-turn",
    ),
    "nobody is in the group": (
        window((30, 100, None), (20, 110, None), proof=NoMembers(since_ms=ago(19))),
        111,
        "STOP stopped",
        "UNKNOWN no-members",
    ),
    "going back is worse than what is unknown": (
        window((30, 110, None), (20, 100, None), proof=NoMembers(since_ms=ago(19))),
        111,
        "STOP stopped",
        "REWIND rewound",
    ),
}


def said(verdict):
    return f"{verdict.status} {verdict.rule}"


@pytest.mark.parametrize(("commits", "end", "burrow", "kgroup"), TABLE.values(), ids=TABLE)
def test_the_two_rule_sets_say(commits, end, burrow, kgroup):
    verdicts = [judge(commits, end, NOW, rules_named(name)) for name in (RuleSet.BURROW, RuleSet.KGROUP)]
    assert [said(verdict) for verdict in verdicts] == [burrow, kgroup]


@pytest.mark.parametrize("rules", [BurrowRules(allowed_lag=20), KgroupRules(allowed_lag=20)])
def test_an_allowed_lag_is_no_fault(rules):
    stalled = window((400, 100, 30), (200, 100, 30), (1, 100, 30))
    assert judge(stalled, 120, NOW, rules).status is PartitionStatus.OK
    assert judge(stalled, 121, NOW, rules).status is PartitionStatus.STALL


def test_burrow_judges_no_window_that_is_emptier_than_it_was_told_to_want():
    stopped = window((3600, 100, 9), (3590, 110, 9), slots=4)
    assert said(judge(stopped, 500, NOW, BurrowRules(minimum_complete=0.5))) == "STOP stopped"
    verdict = judge(stopped, 500, NOW, BurrowRules(minimum_complete=0.6))
    assert said(verdict) == "OK incomplete-window"
    assert verdict.numbers() == {"complete": 0.5, "minimum_complete": pytest.approx(0.6)}


class TestNumbers:
    def test_a_stop_says_how_long_and_how_long_it_may_be(self):
        verdict = judge(window(*IDLE, heads=[(900, 120), (600, 121)]), 121, NOW, KgroupRules())
        assert verdict.lag == 1
        assert verdict.numbers() == {
            "last_commit_ms": ago(3580),
            "unread_by_ms": ago(600),
            "silent_ms": 600_000,
            "limit_ms": 300_000,
        }

    def test_the_limit_is_the_windows_length_where_that_is_more(self):
        hourly = window(*((3600 * hours, 100 - hours, 1) for hours in range(9, 0, -1)))
        verdict = judge(hourly, 100, NOW, KgroupRules())
        assert said(verdict) == "OK lag-kept"
        later = judge(hourly, 100, NOW + 8 * 3_600_000, KgroupRules())
        assert later.status is PartitionStatus.STOP
        assert later.numbers()["limit_ms"] == 8 * 3_600_000

    def test_a_doubt_says_between_what_and_what_the_truth_lies(self):
        verdict = judge(window(*IDLE, heads=[(1000, 120), (10, 121)]), 121, NOW, KgroupRules())
        assert verdict.status is PartitionStatus.UNKNOWN
        assert verdict.numbers() == {
            "last_commit_ms": ago(3580),
            "silent_min_ms": 10_000,
            "silent_max_ms": 1_000_000,
            "limit_ms": 300_000,
        }

    def test_a_log_that_was_cut_back_is_unread_since_it_grew_again(self):
        heads = [(900, 125), (20, 118), (10, 121)]
        verdict = judge(window(*IDLE, heads=heads), 121, NOW, KgroupRules())
        assert said(verdict) == "OK was-within-allowed"

    def test_a_stall_says_where_and_since_when(self):
        stalled = window((400, 100, 9), (200, 100, 9), (1, 100, 9))
        verdict = judge(stalled, 109, NOW, KgroupRules())
        assert verdict.numbers() == {"offset": 100, "since_ms": ago(400), "commits": 3}

    def test_completeness_is_the_share_of_slots_as_a_float_of_32_bits(self):
        verdict = judge(window(*STEADY[:3]), 185, NOW, KgroupRules())
        assert verdict.complete == 0.30000001192092896


class TestRewind:
    COMMITS = ((50, 100, 5), (40, 90, 20), (30, 80, 25), (20, 95, 30))

    def test_it_goes_from_the_highest_offset_to_the_lowest_after_it(self):
        rewind = deepest_rewind(window(*self.COMMITS), 110)
        assert (rewind.from_offset, rewind.to_offset, rewind.at_ms) == (100, 80, ago(40))

    @pytest.mark.parametrize(
        ("changes", "changed"),
        [
            (None, None),
            ((), False),
            ((15,), True),
            ((5, 25), False),  # before the commit of 100, and after that of 90
        ],
    )
    def test_it_says_whether_membership_changed_between_the_two_commits(self, changes, changed):
        rewind = deepest_rewind(window(*self.COMMITS, membership_changes=changes), 110)
        assert rewind.membership_changed is changed

    @pytest.mark.parametrize("offsets", [(), (5,), (5, 5), (1, 2, 3), (3, 1, 3), (3, 1, 2, 4)])
    def test_there_is_none_where_the_highest_offset_is_reached_again(self, offsets):
        commits = [(90 - index, offset, 1) for index, offset in enumerate(offsets)]
        assert deepest_rewind(window(*commits), 10) is None

    def test_a_commit_beyond_the_log_end_is_no_place_to_come_back_from_or_to(self):
        commits = ((50, 90, 5), (40, 9999, 0), (30, 95, 5))
        assert deepest_rewind(window(*commits), 100) is None
        rewind = deepest_rewind(window((60, 99, 5), *commits), 100)
        assert (rewind.from_offset, rewind.to_offset, rewind.at_ms) == (99, 90, ago(50))


@pytest.mark.parametrize(
    ("partitions", "group"),
    [
        ("", GroupStatus.OK),
        ("OK OK", GroupStatus.OK),
        ("OK UNKNOWN", GroupStatus.UNKNOWN),
        ("UNKNOWN WARN OK", GroupStatus.WARN),
        ("WARN STOP", GroupStatus.ERR),
        ("STALL OK", GroupStatus.ERR),
        ("REWIND UNKNOWN", GroupStatus.ERR),
    ],
)
def test_a_group_is_as_bad_as_its_worst_partition(partitions, group):
    assert group_status(PartitionStatus(status) for status in partitions.split()) is group


def test_every_rule_decides_some_row_of_the_table():
    deciding = {row.split()[1] for _, _, burrow, kgroup in TABLE.values() for row in (burrow, kgroup)}
    assert deciding | {Rule.INCOMPLETE_WINDOW} == {rule.value for rule in Rule}


@pytest.mark.parametrize("rules", [(BurrowRules(), BURROW_CLAUSES), (KgroupRules(), KGROUP_CLAUSES)])
def test_the_first_rule_of_the_page_that_holds_decides(rules):
    rule_set, clauses = rules
    decided = set()
    for commits, end, _, _ in TABLE.values():
        case = Case(window=commits, end_offset=end, now_ms=NOW, allowed_lag=0, patience_ms=300_000)
        first = next(rule for rule, clause in clauses.items() if clause.holds(case) is not None)
        verdict = judge(commits, end, NOW, rule_set)
        assert (verdict.rule, verdict.status) == (first, clauses[first].status)
        decided.add(first)
    assert decided | {Rule.INCOMPLETE_WINDOW} == clauses.keys() | {Rule.INCOMPLETE_WINDOW}


def test_the_page_has_every_rule_once():
    names = [rule.name for rule in STATUS_RULES]
    assert sorted(names) == sorted(Rule)
    assert all(rule.burrow or rule.kgroup for rule in STATUS_RULES)
