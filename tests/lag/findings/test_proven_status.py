"""The status of a group's partitions, by what the whole group and other groups' commits prove."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgroup.history.groups.model import GroupKind
from kgroup.lag.findings.find import find
from kgroup.lag.findings.model import FindingKind
from kgroup.lag.findings.proven_status import judged_one_by_one
from kgroup.lag.measures.log_ends import TopicState
from kgroup.lag.status.rule_sets import BurrowRules, KgroupRules
from tests.lag.facts import facts, partition, steadily
from tests.lag.windows import ago

GOES_ON = [(110, 150), (60, 300), (1, 490)]  # somebody read on to 490 while others stand still
HEALTHY = steadily(1, 495)
ACCUSING = {FindingKind.STOPPED_GROUP, FindingKind.STALLED_MEMBER, FindingKind.STALLED_PARTITION}


def verdicts(group, rules):
    """By place what is said of each partition that can be judged."""
    judged = judged_one_by_one(group, rules)
    said = zip(group.partitions, judged, strict=True)
    return {one.topic_partition: verdict for one, verdict in said if verdict is not None}


def said(group, rules=None):
    """Status and rule of each partition, in order."""
    by_partition = verdicts(group, rules or KgroupRules())
    return [
        f"{by_partition[one.topic_partition].status} {by_partition[one.topic_partition].rule}"
        for one in group.partitions
    ]


class TestStop:
    def test_a_group_that_stops_committing_while_others_read_on(self):
        group = facts(partition(0, steadily(120, 100), 500, seen=GOES_ON))
        assert said(group) == ["STOP rhythm-broken"]
        assert verdicts(group, KgroupRules())["orders", 0].numbers == {
            "last_commit_ms": ago(120),
            "unread_by_ms": ago(110),
            "went_on_until_ms": ago(1),
            "silent_ms": 109_000,
            "limit_ms": 45_000,
            "longest_interval_ms": 2_000,
            "usual_step": 5,
        }

    def test_all_that_a_group_has_each_by_its_own_proof(self):
        silent = partition(0, steadily(120, 100), 500, seen=GOES_ON)
        group = facts(silent, partition(1, [(400, 100)], 500, seen=[(390, 150)]))
        assert said(group) == ["STOP rhythm-broken", "STOP stopped"]

    def test_burrow_is_told_of_no_proof(self):
        group = facts(partition(0, steadily(120, 100), 500, seen=GOES_ON))
        assert said(group, BurrowRules()) == ["STOP stopped"]
        assert said(facts(partition(0, HEALTHY, 500)), BurrowRules()) == ["WARN lag-never-fell"]

    def test_one_partition_under_a_member_that_goes_on(self):
        group = facts(
            partition(0, HEALTHY, 500, seen=GOES_ON), partition(1, steadily(120, 100), 500, seen=GOES_ON)
        )
        assert said(group) == ["OK few-unread", "STOP rhythm-broken"]

    def test_without_membership_too(self):
        silent = partition(0, steadily(120, 100), 500, seen=GOES_ON, member=None)
        assert said(facts(silent, kind=GroupKind.SIMPLE)) == ["STOP rhythm-broken"]

    def test_a_silence_beyond_all_patience_needs_no_rhythm(self):
        group = facts(partition(0, [(400, 100)], 500, seen=[(390, 150)]))
        assert said(group) == ["STOP stopped"]

    def test_a_group_that_all_have_left(self):
        silent = partition(0, steadily(120, 100), 500, seen=GOES_ON, member=None)
        assert said(facts(silent, since=119)) == ["STOP rhythm-broken"]


class TestDoubt:
    def test_a_partition_of_a_stopped_group_of_which_nothing_is_proven(self):
        group = facts(
            partition(0, steadily(120, 100), 500, seen=GOES_ON),
            partition(1, steadily(118, 490), 500),
            partition(2, steadily(118, 500), 500),
        )
        assert said(group) == ["STOP rhythm-broken", "UNKNOWN reader-stands-still", "OK within-allowed"]
        numbers = verdicts(group, KgroupRules())["orders", 1].numbers
        assert numbers == {"partitions": 1, "since_ms": ago(110)}

    def test_a_reader_stands_still_since_the_last_of_its_partitions_does(self):
        group = facts(
            partition(0, [(400, 100)], 500, seen=[(390, 150)]),
            partition(1, steadily(120, 100), 500, seen=GOES_ON),
            partition(2, steadily(118, 490), 500),
        )
        assert said(group)[2] == "UNKNOWN reader-stands-still"
        numbers = verdicts(group, KgroupRules())["orders", 2].numbers
        assert numbers == {"partitions": 2, "since_ms": ago(110)}

    def test_a_partition_of_a_member_that_stands_still(self):
        group = facts(
            partition(0, steadily(120, 100), 500, seen=GOES_ON),
            partition(1, steadily(118, 490), 500),
            partition(2, HEALTHY, 500, member="m2"),
        )
        assert said(group) == ["STOP rhythm-broken", "UNKNOWN reader-stands-still", "OK few-unread"]

    @pytest.mark.parametrize(
        "waiting",
        [
            partition(0, steadily(120, 100), 500, seen=GOES_ON),
            partition(0, steadily(1, 100, step=0, every=40), 500, seen=[(400, 480)]),
        ],
        ids=["silent", "one offset again and again"],
    )
    def test_partitions_that_a_slow_member_reads_in_turn(self, waiting):
        group = facts(waiting, partition(1, steadily(0.5, 100), 500, seen=GOES_ON))
        assert said(group)[0] == "UNKNOWN read-in-turn"

    def test_who_commits_one_offset_again_and_again_is_not_busy_with_it(self):
        silent = partition(0, steadily(120, 100), 500, seen=GOES_ON)
        group = facts(silent, partition(1, steadily(0.5, 100, step=0), 500, seen=GOES_ON))
        assert said(group)[0] == "STOP rhythm-broken"

    def test_nobody_is_in_the_group_and_little_is_unread(self):
        group = facts(partition(0, steadily(30, 499), 500, member=None), since=29)
        assert said(group) == ["UNKNOWN no-members"]

    @pytest.mark.parametrize("commits", [steadily(120, 100), [(400, 100)]], ids=["by rhythm", "by patience"])
    def test_a_restart_is_no_stop(self, commits):
        group = facts(partition(0, commits, 500, seen=[(390, 150), (1, 490)], member=None), since=44)
        assert said(group)[0].startswith("UNKNOWN")

    def test_what_no_member_owns_is_judged_by_its_own_commits(self):
        left = partition(0, [(400, 100)], 500, seen=[(390, 150)], member=None, topic="left")
        assert said(facts(partition(0, HEALTHY, 500), left)) == ["OK few-unread", "UNKNOWN perhaps-stopped"]


def test_a_group_that_reads_less_than_is_written_is_warned_of():
    fast = [(20, 300), (10, 400), (1, 490)]  # ten records a second
    group = facts(partition(0, steadily(1, 100), 500, seen=fast))
    assert said(group) == ["WARN lag-grew"]
    numbers = verdicts(group, KgroupRules())["orders", 0].numbers
    assert numbers == {"read_per_s": 2.5, "written_per_s": 10.0}


def test_it_is_warned_of_what_goes_on_while_another_partition_stands():
    fast = [(20, 300), (10, 400), (1, 490)]
    slow = partition(0, steadily(1, 100), 500, seen=fast)
    assert said(facts(slow, partition(1, [(400, 100)], 500, seen=[(390, 150)]))) == [
        "WARN lag-grew",
        "STOP stopped",
    ]


def test_a_group_far_behind_of_which_nothing_is_proven_is_unknown():
    assert said(facts(partition(0, steadily(1, 100), 500))) == ["UNKNOWN lag-trend-unknown"]


@pytest.mark.parametrize("state", [TopicState.DELETED, TopicState.RECREATED])
def test_what_is_gone_or_has_no_end_has_no_status(state):
    gone = partition(0, HEALTHY, 500, state=state)
    assert verdicts(facts(gone, partition(1, HEALTHY, None)), KgroupRules()) == {}


def test_what_was_never_committed_is_unknown():
    assert said(facts(partition(0, [], 500))) == ["UNKNOWN no-commits"]


# What a partition may be like; groups are a few of these together.
LIKE = {
    "keeps up": HEALTHY,
    "has read all": steadily(120, 500),
    "is far behind": steadily(1, 100),
    "is silent": steadily(120, 100),
    "is silent with little to read": steadily(118, 490),
    "is silent beyond patience": steadily(400, 100),
    "commits one offset": steadily(1, 100, step=0, every=40),
    "commits one offset fast": steadily(1, 100, step=0),
    "committed once": [(400, 100)],
    "went back": [(60, 480), (40, 490), (20, 100), (10, 110)],
}
COMMITS = st.sampled_from(sorted(LIKE)).map(LIKE.__getitem__)
SEEN = st.sampled_from([(), GOES_ON, [(20, 300), (10, 400), (1, 490)], [(390, 480)], [(1, 499)]])
PARTITIONS = st.lists(
    st.tuples(COMMITS, SEEN, st.sampled_from(["m1", "m1", "m2", None])), min_size=1, max_size=4
)
KINDS = st.sampled_from([GroupKind.CLASSIC, GroupKind.CLASSIC, GroupKind.SIMPLE])


@settings(max_examples=400)
@given(PARTITIONS, KINDS, st.sampled_from([None, 10, 3600]))
def test_status_and_findings_never_contradict_each_other(histories, kind, since):
    group = facts(
        *(
            partition(number, commits, 500, seen=seen, member=None if kind is GroupKind.SIMPLE else member)
            for number, (commits, seen, member) in enumerate(histories)
        ),
        kind=kind,
        since=since,
    )
    judged, findings = verdicts(group, KgroupRules()), find(group)

    def about(kinds, row):
        return [
            finding
            for finding in findings
            if finding.kind in kinds
            and finding.partition in (None, row.partition)
            and finding.member_id in (None, row.member_id)
        ]

    for one in group.partitions:
        status = judged[one.topic_partition].status
        is_accused = bool(about(ACCUSING | {FindingKind.DEAD_WITH_LAG}, one.row))
        if status in ("STOP", "STALL"):
            assert is_accused
        if is_accused and one.row.lag:
            assert status != "OK"
        if status == "WARN":
            assert about({FindingKind.LAG_GROWING}, one.row)
    for finding in findings:
        if finding.kind in ACCUSING:
            stopped = [
                one
                for one in group.partitions
                if judged[one.topic_partition].status in ("STOP", "STALL") and about({finding.kind}, one.row)
            ]
            assert len(stopped) >= finding.numbers.get("partitions", 1)
