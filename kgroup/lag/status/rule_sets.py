"""The two sets of status rules to choose from, Burrow's and kgroup's, and their settings.

The rules themselves are in `rules.py`. What kgroup's change of Burrow's, and why, is in
`docs/lag_status.md`.
"""

from dataclasses import dataclass
from typing import assert_never

from kgroup.lag.patience import PATIENCE_MS
from kgroup.lag.status.burrow_rules import as_float32, completeness
from kgroup.lag.status.model import Verdict
from kgroup.lag.status.rule_set import RuleSet
from kgroup.lag.status.rules import BURROW_CLAUSES, KGROUP_CLAUSES, decide
from kgroup.lag.status.window import CommitWindow
from kgroup.lag.status.window_evidence import Case


@dataclass(frozen=True, slots=True, kw_only=True)
class BurrowRules:
    """Burrow's evaluator and the two settings it has, with their defaults.

    A lag of `allowed_lag` is never a fault; a window filled to less than `minimum_complete` is never judged.
    """

    allowed_lag: int = 0
    minimum_complete: float = 0.0

    def judge(self, window: CommitWindow, end_offset: int, now_ms: int) -> Verdict:
        """Judge a partition whose log ends at `end_offset`."""
        case = Case(
            window=window,
            end_offset=end_offset,
            now_ms=now_ms,
            allowed_lag=self.allowed_lag,
            minimum_complete=self.minimum_complete,
        )
        status, reason = decide(BURROW_CLAUSES, case)
        return Verdict(status=status, reason=reason, lag=case.lag, complete=completeness(window))


@dataclass(frozen=True, slots=True, kw_only=True)
class KgroupRules:
    """Burrow's rules without the faults that make people distrust them.

    A lag of `allowed_lag` is never a fault. `patience_ms` is how long a healthy group may leave unread
    records alone.
    """

    allowed_lag: int = 0
    patience_ms: int = PATIENCE_MS

    def judge(self, window: CommitWindow, end_offset: int, now_ms: int) -> Verdict:
        """Judge a partition whose log ends at `end_offset`."""
        case = Case(
            window=window,
            end_offset=end_offset,
            now_ms=now_ms,
            allowed_lag=self.allowed_lag,
            patience_ms=self.patience_ms,
        )
        status, reason = decide(KGROUP_CLAUSES, case)
        complete = as_float32(len(window.commits) / window.slots) if window.slots else 0.0
        return Verdict(status=status, reason=reason, lag=case.lag, complete=complete)


LagRules = BurrowRules | KgroupRules


def judge(window: CommitWindow, end_offset: int, now_ms: int, rules: LagRules) -> Verdict:
    """The status of one partition at `now_ms` (epoch ms), whose log ends at `end_offset`."""
    return rules.judge(window, end_offset, now_ms)


def rules_named(name: RuleSet, allowed_lag: int = 0) -> LagRules:
    """A rule set with its defaults but for the lag that is never a fault."""
    match name:
        case RuleSet.BURROW:
            return BurrowRules(allowed_lag=allowed_lag)
        case RuleSet.KGROUP:
            return KgroupRules(allowed_lag=allowed_lag)
    assert_never(name)
