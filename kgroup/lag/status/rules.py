"""All rules of a partition's status, in the order they are tried: the first that holds decides.

A rule is a pure function of a `Case` that returns its reason where it holds, with the numbers it goes by, and
else None. Each may rely on those before it: after `no-commits` there are commits, after `within-allowed`
something is unread, after `lag-trend-unknown` two lags are known. Verdicts on one window walk `STATUS_RULES`
(`rule_sets.py`), those on columns take order and statuses from it (`columns.py`), and the table in
`docs/lag_status.md` is drawn from it (`python -m tests.drawn_tables`). What the rules measure is in
`burrow_rules.py` and `window_evidence.py`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from kgroup.lag.status import burrow_rules
from kgroup.lag.status.model import (
    BehindTransaction,
    FewUnread,
    IncompleteWindow,
    LagGrew,
    LagKept,
    LagTrendUnknown,
    NoCommits,
    NoMembers,
    PartitionStatus,
    PerhapsStalled,
    Proof,
    ReaderStandsStill,
    ReadInTurn,
    Reason,
    Repeated,
    Rewound,
    RhythmBroken,
    Rule,
    Stopped,
    WasWithinAllowed,
    WithinAllowed,
)
from kgroup.lag.status.window_evidence import COMMITS_BEHIND, Case, deepest_rewind, known_lags

Predicate = Callable[[Case], Reason | None]


def _no_commits(case: Case) -> Reason | None:
    return None if case.window.commits else NoCommits()


def _incomplete_window(case: Case) -> Reason | None:
    complete = burrow_rules.completeness(case.window)
    minimum = burrow_rules.as_float32(case.minimum_complete)
    return IncompleteWindow(complete=complete, minimum_complete=minimum) if complete < minimum else None


def _within_allowed(case: Case) -> Reason | None:
    is_within = case.lag <= case.allowed_lag
    return WithinAllowed(lag=case.lag, allowed_lag=case.allowed_lag) if is_within else None


def _burrow_stopped(case: Case) -> Reason | None:
    commits, last_ms = case.window.commits, case.window.commits[-1].timestamp
    if not burrow_rules.is_stopped(commits, case.now_ms):
        return None
    if burrow_rules.was_caught_up(commits, case.window.heads):
        return None
    silent_ms = case.now_ms // 1000 * 1000 - last_ms
    limit_ms = case.window.span_ms
    return Stopped(last_commit_ms=last_ms, unread_by_ms=None, silent_ms=silent_ms, limit_ms=limit_ms)


def _stopped(case: Case) -> Reason | None:
    silence = case.silence
    return silence.stopped(case.limit_ms) if case.is_too_long(silence.min_ms) else None


def _perhaps_stopped(case: Case) -> Reason | None:
    silence = case.silence
    return silence.perhaps_stopped(case.limit_ms) if case.is_too_long(silence.max_ms) else None


def _proven(kind: type[Proof]) -> Predicate:
    """The rule that holds where `lag/findings/proven_status.py` has found such a proof."""

    def is_proven(case: Case) -> Reason | None:
        return case.window.proof if isinstance(case.window.proof, kind) else None

    return is_proven


def _burrow_rewound(case: Case) -> Reason | None:
    commits = case.window.commits
    index = burrow_rules.rewind_index(commits)
    if index < 0 or burrow_rules.is_rewind_recovered(commits, index):
        return None
    before, back = commits[index - 1], commits[index]
    return Rewound(
        from_offset=before.offset, to_offset=back.offset, at_ms=back.timestamp, membership_changed=None
    )


def _rewound(case: Case) -> Reason | None:
    return deepest_rewind(case.window, case.end_offset)


def _was_within_allowed(case: Case) -> Reason | None:
    commits = case.window.commits
    index = burrow_rules.within_allowed_index(commits, case.allowed_lag)
    if index < 0:
        return None
    lag = commits[index].lag
    assert lag is not None
    return WasWithinAllowed(lag=lag, allowed_lag=case.allowed_lag, at_ms=commits[index].timestamp)


def _burrow_stalled(case: Case) -> Reason | None:
    commits = case.window.commits
    return burrow_rules.stalled(commits) if burrow_rules.is_stalled(commits) else None


def _stalled(case: Case) -> Reason | None:
    return burrow_rules.stalled(case.window.commits) if case.stands_still_on_unread else None


def _perhaps_stalled(case: Case) -> Reason | None:
    if case.stands_still_on_unread is not None:
        return None
    still = burrow_rules.stalled(case.window.commits)
    return PerhapsStalled(offset=still.offset, since_ms=still.since_ms, commits=still.commits)


def _lag_fell(case: Case) -> Reason | None:
    return burrow_rules.lag_fall(case.window.commits)


def _few_unread(case: Case) -> Reason | None:
    commits = case.window.commits
    if len(known_lags(commits)) > 1:
        return None
    advanced = commits[-1].offset - commits[0].offset
    is_few = case.lag * (len(commits) - 1) < COMMITS_BEHIND * advanced
    return FewUnread(lag=case.lag, advanced=advanced, commits=len(commits)) if is_few else None


def _lag_trend_unknown(case: Case) -> Reason | None:
    count = len(known_lags(case.window.commits))
    return LagTrendUnknown(known_lags=count) if count < 2 else None


def _lag_kept(case: Case) -> Reason | None:
    lags = known_lags(case.window.commits)
    return LagKept(lag=lags[-1]) if lags[0] == lags[-1] else None


def _lag_never_fell(case: Case) -> Reason | None:
    return burrow_rules.lag_never_fell(case.window.commits)


@dataclass(frozen=True, slots=True)
class Clause:
    """The meaning of a rule in a rule set: the status, when it holds, and the same as the docs say it."""

    status: PartitionStatus
    holds: Predicate
    says: str = ""


@dataclass(frozen=True, slots=True)
class StatusRule:
    """A rule and its clause in each rule set; None means not asked, shown in the docs as `not_asked`."""

    name: Rule
    burrow: Clause | None
    kgroup: Clause | None
    not_asked: str = "–"


def _of_both(name: Rule, status: PartitionStatus, holds: Predicate, says: str) -> StatusRule:
    clause = Clause(status, holds, says)
    return StatusRule(name, clause, clause)


def _of_kgroup(name: Rule, status: PartitionStatus, holds: Predicate, says: str) -> StatusRule:
    return StatusRule(name, None, Clause(status, holds, says))


_OK, _UNKNOWN, _WARN = PartitionStatus.OK, PartitionStatus.UNKNOWN, PartitionStatus.WARN
_STOP, _STALL, _REWIND = PartitionStatus.STOP, PartitionStatus.STALL, PartitionStatus.REWIND

STATUS_RULES: Final = (
    StatusRule(Rule.NO_COMMITS, Clause(_OK, _no_commits), Clause(_UNKNOWN, _no_commits)),
    StatusRule(
        Rule.INCOMPLETE_WINDOW,
        Clause(_OK, _incomplete_window, "if fewer slots are filled than `minimum_complete`"),
        None,
        "not asked: each rule requires its own evidence",
    ),
    _of_both(Rule.WITHIN_ALLOWED, _OK, _within_allowed, "if the lag is now no more than allowed (0)"),
    _of_kgroup(
        Rule.OPEN_TRANSACTION,
        _WARN,
        _proven(BehindTransaction),
        "if the group stands still at an open transaction and everything unread lies behind it (finding "
        "`open-transaction`)",
    ),
    StatusRule(
        Rule.STOPPED,
        Clause(
            _STOP,
            _burrow_stopped,
            "if the last commit is older than the window is long, unless one of the remembered log ends "
            "was not beyond it",
        ),
        Clause(
            _STOP,
            _stopped,
            "if unread records have *certainly* been waiting for longer than the window is long, and for "
            "longer than 5 minutes",
        ),
    ),
    _of_kgroup(
        Rule.RHYTHM_BROKEN,
        _STOP,
        _proven(RhythmBroken),
        "if others, or the log, provably kept going for far longer than the group ever paused: see below",
    ),
    _of_kgroup(
        Rule.REPEATED,
        _STALL,
        _proven(Repeated),
        "if the same offset has been committed for 45 seconds or longer while records waited, so often that "
        "the window shows less of it",
    ),
    StatusRule(
        Rule.REWOUND,
        Clause(
            _REWIND,
            _burrow_rewound,
            "if no commit after the first step back reached the offset before it",
        ),
        Clause(
            _REWIND,
            _rewound,
            "if the last commits are below the highest; says from, to, when, and whether membership changed "
            "in between",
        ),
    ),
    _of_kgroup(
        Rule.PERHAPS_STOPPED,
        _UNKNOWN,
        _perhaps_stopped,
        "if unread records may have been waiting that long",
    ),
    _of_kgroup(
        Rule.LAG_GREW,
        _WARN,
        _proven(LagGrew),
        "if the group reads less of the topic than is provably written (finding `lag-growing`)",
    ),
    _of_kgroup(
        Rule.READER_STANDS_STILL,
        _UNKNOWN,
        _proven(ReaderStandsStill),
        "if the group, or the member that owns the partition, stands still on other partitions, and for this "
        "one that is not proven",
    ),
    _of_kgroup(
        Rule.READ_IN_TURN,
        _UNKNOWN,
        _proven(ReadInTurn),
        "if nothing moves, but the member is busy with another partition that is as far behind",
    ),
    _of_kgroup(Rule.NO_MEMBERS, _UNKNOWN, _proven(NoMembers), "if the group has no members"),
    _of_both(
        Rule.WAS_WITHIN_ALLOWED, _OK, _was_within_allowed, "if any commit's lag was no more than allowed"
    ),
    StatusRule(
        Rule.STALLED,
        Clause(_STALL, _burrow_stalled, "if all commits are of one offset"),
        Clause(
            _STALL,
            _stalled,
            "if so for two or more commits that fill the window or span 5 minutes, including 45 seconds with "
            "something to read",
        ),
    ),
    _of_kgroup(
        Rule.PERHAPS_STALLED,
        _UNKNOWN,
        _perhaps_stalled,
        "if so, but it is not known whether there was something to read for that long",
    ),
    _of_both(Rule.LAG_FELL, _OK, _lag_fell, "if the lag fell from one commit to a later one"),
    _of_kgroup(
        Rule.FEW_UNREAD,
        _OK,
        _few_unread,
        "if fewer than two commits have a known lag, commits advance, and less is unread than ten of them "
        "cover",
    ),
    _of_kgroup(
        Rule.LAG_TREND_UNKNOWN, _UNKNOWN, _lag_trend_unknown, "if fewer than two commits have a known lag"
    ),
    _of_kgroup(Rule.LAG_KEPT, _OK, _lag_kept, "if the lag is known and the same throughout"),
    _of_both(Rule.LAG_NEVER_FELL, _WARN, _lag_never_fell, "otherwise"),
)
"""All rules, in the order they are asked. The last one holds always."""

Clauses = Mapping[Rule, Clause]
BURROW_CLAUSES: Final[Clauses] = {rule.name: rule.burrow for rule in STATUS_RULES if rule.burrow}
KGROUP_CLAUSES: Final[Clauses] = {rule.name: rule.kgroup for rule in STATUS_RULES if rule.kgroup}


def decide(clauses: Clauses, case: Case) -> tuple[PartitionStatus, Reason]:
    """The first rule that holds decides."""
    for clause in clauses.values():
        reason = clause.holds(case)
        if reason is not None:
            return clause.status, reason
    raise AssertionError("the last rule holds always")
