"""The numbers over columns are those that the rules give of each window by itself."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kgroup.lag.status.columns import judge_columns
from kgroup.lag.status.model import Rule
from kgroup.lag.status.numbers import PROVEN, Numbers, verdict_numbers
from kgroup.lag.status.rule_sets import BurrowRules, KgroupRules
from kgroup.lag.status.window import CommitWindow, WindowCommit
from tests.lag.status.test_columns import RULE_SETS, WINDOWS, columns
from tests.lag.windows import NOW, window

ENDS = st.integers(0, 8)


def numbers(windows, end, rules, changed_between=None):
    """What is said of each window, in the order of the windows."""
    as_columns = columns(windows)
    ends, times = np.full(len(windows), end), np.full(len(windows), NOW)
    verdicts = judge_columns(as_columns, ends, times, rules)
    more = () if changed_between is None else (changed_between,)
    said = {}
    for of_rule in verdict_numbers(as_columns, ends, times, rules, verdicts, *more):
        for index, row in enumerate(of_rule.rows.tolist()):
            said[row] = {
                name: field.values[index].item() if field.known is None or field.known[index] else None
                for name, field in of_rule.fields.items()
            }
    return [said.get(row) for row in range(len(windows))]


@settings(max_examples=300)
@given(WINDOWS, ENDS, RULE_SETS)
def test_each_window_has_the_numbers_that_it_has_by_itself(windows, end, rules):
    verdicts = [rules.judge(one, end, NOW) for one in windows]
    expected = [None if verdict.rule in PROVEN else verdict.numbers() for verdict in verdicts]
    computed = numbers(windows, end, rules)
    assert computed == expected
    assert [one and list(one) for one in computed] == [one and list(one) for one in expected]


def test_the_two_commits_of_a_rewind_are_those_that_membership_is_asked_about():
    rewinds = []

    def changed_between(windows, before, after):
        rewinds.extend(zip(windows.tolist(), before.tolist(), after.tolist(), strict=True))
        return Numbers(np.array([True, False]))

    back = window((30, 5, None), (20, 9, None), (10, 3, None))
    ahead = CommitWindow(slots=10, commits=(WindowCommit(offset=1, timestamp=NOW),))
    back_at_once = window((40, 7, None), (20, 6, None), (10, 5, None))
    computed = numbers([back, ahead, back_at_once], 100, KgroupRules(), changed_between)
    assert rewinds == [(0, 1, 2), (2, 4, 5)]
    assert computed[0] == {
        "from_offset": 9,
        "to_offset": 3,
        "at_ms": NOW - 10_000,
        "membership_changed": True,
    }
    assert computed[2]["membership_changed"] is False
    assert "membership_changed" not in computed[1]


OF_EACH_RULE = [
    (window(), KgroupRules()),
    (window((9, 1, None)), BurrowRules(minimum_complete=0.5)),
    (window((9, 100, None)), KgroupRules()),
    (window((4000, 5, 9)), KgroupRules()),
    (window((60, 3, None), (30, 3, None)), BurrowRules()),
    (window((4000, 5, None)), KgroupRules()),
    (window((90, 50, 2), (60, 70, 2), (30, 60, 2), (20, 20, 3)), KgroupRules()),
    (window((90, 50, 2), (60, 70, 0), (30, 80, 2)), KgroupRules()),
    (window((500, 5, 9), (10, 5, 9)), KgroupRules()),
    (window((500, 5, None), (10, 5, None)), KgroupRules()),
    (window((60, 5, 9), (30, 6, None), (20, 7, 9), (10, 8, 11)), BurrowRules()),
    (window((60, 5, None), (30, 6, None), (20, 7, 9), (10, 8, 4)), KgroupRules()),
    (window((60, 5, 3), (30, 6, None), (20, 7, 3)), KgroupRules()),
    (window((60, 5, None), (30, 6, 3)), KgroupRules()),
    (window((60, 5, None), (30, 90, None)), KgroupRules()),
]


def test_of_each_rule_the_numbers_are_those_by_themselves():
    expected = [rules.judge(one, 100, NOW) for one, rules in OF_EACH_RULE]
    assert {verdict.rule for verdict in expected} == set(Rule) - PROVEN
    computed = [numbers([one], 100, rules)[0] for one, rules in OF_EACH_RULE]
    assert computed == [verdict.numbers() for verdict in expected]
