"""Facts and statuses from columns are those of each partition by itself."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgroup.history.groups.model import GroupKind
from kgroup.lag.findings import fact_columns
from kgroup.lag.findings.fact_columns import PartitionColumns
from kgroup.lag.findings.proven_status import judged_one_by_one
from kgroup.lag.findings.seen_ends_columns import SeenColumns
from kgroup.lag.measures.log_ends import TopicState
from kgroup.lag.status.columns import FURTHEST, UNKNOWN
from kgroup.lag.status.numbers import Numbers
from kgroup.lag.status.rule_sets import BurrowRules, KgroupRules
from kgroup.lag.status.window import CommitWindow, LogEnd, WindowCommit
from tests.lag.facts import facts, partition, steadily
from tests.lag.status.test_columns import columns
from tests.lag.windows import NOW, ago

GOES_ON = [(110, 150), (60, 300), (1, 490)]  # somebody read on to 490 while others stand still

COMMITS = st.lists(st.tuples(st.integers(0, 700), st.integers(0, 120)), max_size=6)
STEADY = st.builds(
    steadily, st.integers(0, 400), st.integers(60, 200), step=st.integers(0, 5), commits=st.integers(1, 10)
)
SEEN = st.lists(st.tuples(st.integers(0, 700), st.integers(0, 300)), max_size=6)


@st.composite
def groups_of_partitions(draw):
    made = []
    for number in range(draw(st.integers(0, 4))):
        end = draw(st.none() | st.integers(0, 400))
        state = draw(st.sampled_from([TopicState.EXISTS, TopicState.EXISTS, TopicState.DELETED]))
        seen = draw(SEEN)
        commits = draw(COMMITS | STEADY)
        # Log ends are looked for where something is known to be unread.
        is_lagging = commits and end is not None and end > commits[-1][1] and state is TopicState.EXISTS
        seen = [one for one in seen if is_lagging and one[1] <= end]
        member = draw(st.sampled_from([None, "m1", "m2"]))
        one = partition(number, commits, end, member=member, seen=seen, topic=draw(TOPICS), state=state)
        made.append((one, seen))
    made.sort(key=lambda one: one[0].topic_partition)
    kind = draw(st.sampled_from([GroupKind.CLASSIC, GroupKind.SIMPLE]))
    group = facts(*(one for one, _ in made), kind=kind, since=draw(st.sampled_from([None, 10, 3600])))
    return group, [seen for _, seen in made]


TOPICS = st.sampled_from(["orders", "orders", "payments"])
RULE_SETS = st.sampled_from([KgroupRules(), KgroupRules(allowed_lag=5), BurrowRules()])


def window_of(partition):
    return partition.window or CommitWindow(slots=0)


def in_columns(groups, seen):
    """The columns of partitions of groups whose facts are known, with log ends that were seen of each."""
    partitions = [one for group in groups for one in group.partitions]
    windows = {one.topic_partition: window_of(one) for one in partitions}
    as_columns = columns([*map(window_of, partitions), CommitWindow(slots=10)])
    as_columns = replace(as_columns, slots=10, unread_by_ms=np.full(len(partitions) + 1, UNKNOWN))
    made = PartitionColumns.of(
        [one.row for one in partitions],
        np.repeat(np.arange(len(groups)), [len(group.partitions) for group in groups]),
        as_columns.at(np.arange(len(partitions))),
        NOW,
        lambda row: windows[row.topic, row.partition],
        lambda rows, _before, _after: Numbers(np.zeros(len(rows), np.bool_)),
    )
    ends = [sorted((ago(seconds), offset) for seconds, offset in of_row) for of_row in seen]
    as_ends = [[LogEnd(offset=offset, timestamp=at) for at, offset in of_row] for of_row in ends]
    return made, made.seen(SeenColumns.of(as_ends))


@settings(max_examples=300)
@given(st.lists(groups_of_partitions(), min_size=1, max_size=3), RULE_SETS)
def test_each_partition_has_the_facts_and_the_status_that_it_has_by_itself(given_groups, rules):
    groups = [group for group, _ in given_groups]
    made, seen = in_columns(groups, [of_row for _, of_group in given_groups for of_row in of_group])
    partitions = [one for group in groups for one in group.partitions]
    assert [replace(one, window=None) for one in made.facts(seen)] == [
        replace(one, window=None) for one in partitions
    ]
    assert made.usual_steps(len(groups)) == [group.usual_step for group in groups]
    assert made.judged(groups, seen, rules) == [
        judged for group in groups for judged in judged_one_by_one(group, rules)
    ]


@pytest.mark.parametrize("room", [0, fact_columns._ROOM], ids=["far steps", "near steps"])
@given(given_groups=st.lists(groups_of_partitions(), min_size=1, max_size=4))
def test_usual_steps_are_in_the_middle_of_each_group(room, given_groups):
    groups = [group for group, _ in given_groups]
    made, _ = in_columns(groups, [of_row for _, of_group in given_groups for of_row in of_group])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fact_columns, "_ROOM", room)
        assert made.usual_steps(len(groups)) == [group.usual_step for group in groups]


def test_a_broken_rhythm_has_the_numbers_of_its_proof():
    group = facts(partition(0, steadily(120, 100), 500, seen=GOES_ON))
    made, seen = in_columns([group], [GOES_ON])
    (judged,) = made.judged([group], seen, KgroupRules())
    assert (judged.status, judged.rule) == ("STOP", "rhythm-broken")
    assert judged.numbers["silent_ms"] == 109_000


def test_what_was_unread_at_each_commit_is_judged_by_what_the_rules_allow():
    commits = tuple(WindowCommit(offset=at, timestamp=ago(20 - at), lag=3) for at in (5, 9))
    one = replace(partition(0, [(15, 5), (11, 9)], 50), window=CommitWindow(slots=10, commits=commits))
    made, seen = in_columns([facts(one)], [[]])
    judged = {
        allowed: made.judged([facts(one)], seen, KgroupRules(allowed_lag=allowed)) for allowed in (0, 3)
    }
    rules = {allowed: of_group[0].rule for allowed, of_group in judged.items()}
    assert rules == {0: "lag-kept", 3: "was-within-allowed"}


def test_the_commits_are_kept_where_an_offset_goes_back():
    ahead, back = partition(0, [(20, 5), (10, 9)], 50), partition(1, [(20, 9), (10, 5)], 50)
    made, seen = in_columns([facts(ahead, back)], [[], []])
    assert [one.window is not None for one in made.facts(seen)] == [False, True]


@pytest.mark.parametrize(
    "commit",
    [
        WindowCommit(offset=2**63 - 1, timestamp=NOW),
        WindowCommit(offset=5, timestamp=2**63 - 1),
        WindowCommit(offset=-FURTHEST - 1, timestamp=NOW),
    ],
)
def test_what_columns_cannot_reckon_with_is_told(commit):
    one = partition(0, [(20, 5), (10, 9)], 50)
    strange = replace(one, window=CommitWindow(slots=10, commits=(commit,)))
    assert in_columns([facts(strange)], [[]])[0].is_strange()
    assert not in_columns([facts(one)], [[]])[0].is_strange()
