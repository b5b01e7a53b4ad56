"""Facts and statuses of many partitions at once, computed on columns.

What `partition_facts.py` and `proven_status.judged_one_by_one` say of one partition after the other, and many
times as fast. Only what a group as a whole proves, `proven_status.py`, goes through its partitions one by
one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kgroup.lag.findings.model import GroupFacts, PartitionFacts
from kgroup.lag.findings.partition_facts import RHYTHM_COMMITS, is_judged
from kgroup.lag.findings.proven_status import are_waited_for, judged_end, proofs_of
from kgroup.lag.findings.seen_ends_columns import SeenColumns, SeenNumbers, seen_numbers
from kgroup.lag.measures.rows import LagRow
from kgroup.lag.status.columns import (
    FURTHEST,
    RULES,
    STATUSES,
    UNKNOWN,
    Flags,
    Int64s,
    Seen,
    WindowColumns,
    judge_columns,
    look,
)
from kgroup.lag.status.model import Judged, PartitionStatus, Proof, Rewound, Rule, numbers_of
from kgroup.lag.status.numbers import PROVEN, ChangedBetween, Numbers, RuleNumbers, verdict_numbers
from kgroup.lag.status.rule_sets import KgroupRules, LagRules
from kgroup.lag.status.window import CommitWindow
from kgroup.lag.status.window_evidence import COMMITS_BEHIND, SHORTEST_MS

NumbersByName = dict[str, int | float | bool | None]
_REWOUND: Final = RULES.index(Rule.REWOUND)
_ALLOWED_LAG: Final = 0
_ROOM: Final = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionColumns:
    """Rows of whole groups, and the windows of their commits, one for each row and without more knowledge.

    `groups` has the number of each row's group, from 0 on and rising. `ends` are log end offsets, UNKNOWN
    where they are None; `can_be_judged` are the rows that findings judge: they have a log end and commits,
    and are of a topic that exists; `lagging` those of them with something unread. `window_of` finds a row's
    commits one by one, `changed_between` is for the windows here. Times are epoch ms.
    """

    rows: Sequence[LagRow]
    groups: Int64s
    windows: WindowColumns
    now_ms: int
    window_of: Callable[[LagRow], CommitWindow]
    changed_between: ChangedBetween
    ends: Int64s
    can_be_judged: Flags
    lagging: Flags
    looked: Seen

    @classmethod
    def of(
        cls,
        rows: Sequence[LagRow],
        groups: Int64s,
        windows: WindowColumns,
        now_ms: int,
        window_of: Callable[[LagRow], CommitWindow],
        changed_between: ChangedBetween,
    ) -> "PartitionColumns":
        """Look at all of them once."""
        ends = np.array(
            [UNKNOWN if row.log_end_offset is None else row.log_end_offset for row in rows], np.int64
        )
        can_be_judged = np.array([is_judged(row) for row in rows], np.bool_) & (windows.counts > 0)
        return cls(
            rows=rows,
            groups=groups,
            windows=windows,
            now_ms=now_ms,
            window_of=window_of,
            changed_between=changed_between,
            ends=ends,
            can_be_judged=can_be_judged,
            lagging=can_be_judged & np.array([(row.lag or 0) > 0 for row in rows], np.bool_),
            looked=look(windows, slice(None), ends, _ALLOWED_LAG),
        )

    def is_strange(self) -> bool:
        """Whether some number here is far from anything real, and so has no place in columns."""
        numbers = (*self.looked.times, *self.looked.offsets, self.ends)
        return any(bool(((values > FURTHEST) | (values < -FURTHEST)).any()) for values in numbers)

    def seen(self, ends: SeenColumns) -> SeenNumbers:
        """The conclusions of each row's past log ends; none for rows without a lag."""
        windows = self.windows
        return seen_numbers(
            ends.only(self.lagging), self.ends, windows.commits, windows.stops, windows.counts
        )

    def worth_reading(self, steps: Sequence[int]) -> Int64s:
        """The rows of which a look into the own log can matter; `steps` are those of each group."""
        looked, lag = self.looked, np.where(self.lagging, self.looked.lag, 0)
        stands = (looked.count > 1) & (looked.offsets[0] == looked.offsets[-1])
        silent = self.now_ms - looked.last_ms >= SHORTEST_MS
        usual = np.array(steps, np.int64)[self.groups] if len(self.groups) else np.empty(0, np.int64)
        return np.flatnonzero(self.lagging & (stands | silent | (lag >= COMMITS_BEHIND * usual)))

    def usual_steps(self, number: int) -> list[int]:
        """The number of records by which commits usually advance, for each of `number` groups."""
        steps = [
            np.where(self.windows.counts > 0, after - before, 0)
            for before, after in pairwise(self.looked.offsets)
        ]
        step = np.concatenate([np.empty(0, np.int64), *steps])
        group = np.tile(self.groups, len(steps))[step > 0]
        step = step[step > 0]
        most = int(step.max(initial=0)) + 1
        if most * number < _ROOM:  # as one number, which is sorted ten times as fast
            both = np.sort(group * most + step)
            group, step = both // most, both % most
        else:
            order = np.lexsort((step, group))
            step, group = step[order], group[order]
        begins = np.searchsorted(group, np.arange(number + 1)).tolist()
        return [
            int(step[(begin + end - 1) // 2] + step[(begin + end) // 2]) // 2 if begin < end else 1
            for begin, end in pairwise(begins)
        ]

    def facts(self, seen: SeenNumbers | None) -> list[PartitionFacts]:
        """The facts on each row; without `seen` nothing is judged."""
        if not self.rows:
            return []
        number, windows = len(self.rows), self.windows
        statuses: list[PartitionStatus | None] = [None] * number
        rewound: list[Rewound | None] = [None] * number
        if seen is not None:
            statuses, rewound = self._judged_alone(seen)
        nothing = np.full(number, UNKNOWN)
        unread = nothing if seen is None else seen.unread_by_ms
        passed = nothing if seen is None else seen.passed_until_ms
        written = [None] * number if seen is None else seen.written_per_s()
        looked = self.looked
        back = np.logical_or.reduce(
            [np.zeros(number, np.bool_), *(after < before for before, after in pairwise(looked.offsets))]
        ) & (windows.counts > 0)
        return [
            PartitionFacts(
                row=row,
                commits=commits,
                first_offset=first_offset,
                first_ms=first_ms,
                last_offset=last_offset,
                last_ms=last_ms,
                reached_ms=reached_ms,
                longest_interval_ms=longest_ms,
                status=status,
                rewound=reason,
                unread_by_ms=unread_by_ms,
                passed_until_ms=passed_until_ms,
                written_per_s=written_per_s,
                window=self.window_of(row) if goes_back else None,
            )
            if commits
            else PartitionFacts(row=row)
            for (
                row,
                commits,
                first_offset,
                first_ms,
                last_offset,
                last_ms,
                reached_ms,
                longest_ms,
                status,
                reason,
                unread_by_ms,
                passed_until_ms,
                written_per_s,
                goes_back,
            ) in zip(
                self.rows,
                windows.counts.tolist(),
                looked.offsets[0].tolist(),
                looked.first_ms.tolist(),
                looked.offsets[-1].tolist(),
                looked.last_ms.tolist(),
                _reached_ms(looked).tolist(),
                _optional(_rhythms_ms(looked.times, windows.counts)),
                statuses,
                rewound,
                _optional(unread),
                _optional(passed),
                written,
                back.tolist(),
                strict=True,
            )
        ]

    def _judged_alone(self, seen: SeenNumbers) -> tuple[list[PartitionStatus | None], list[Rewound | None]]:
        """The status of each row by itself, and the reason of those that went back."""
        rows, rules = np.flatnonzero(self.can_be_judged), KgroupRules()
        windows = replace(self.windows, unread_by_ms=seen.unread_by_ms)
        looked = self._looked_at(rows, rules)
        verdicts = judge_columns(windows.at(rows), self.ends[rows], self.now_ms, rules, looked)
        statuses: list[PartitionStatus | None] = [None] * len(self.rows)
        for row, status in zip(rows.tolist(), verdicts.statuses.tolist(), strict=True):
            statuses[row] = STATUSES[status]
        rewound: list[Rewound | None] = [None] * len(self.rows)
        for row, judged in self._judged(windows, rows[verdicts.rules == _REWOUND], rules):
            rewound[row] = Rewound(**judged.numbers)  # type: ignore[arg-type]  # the rule's own fields
        return statuses, rewound

    def judged(
        self, groups: Sequence[GroupFacts], seen: SeenNumbers | None, rules: LagRules
    ) -> list[Judged | None]:
        """The status of each row whose log end is known; `groups` have the facts of these rows."""
        statuses: list[Judged | None] = [None] * len(self.rows)
        proofs: list[Proof | None] = []
        is_waited_for: list[bool] = []
        for facts in groups:
            of_group = proofs_of(facts, rules)
            proofs += (
                [of_group.get(partition.topic_partition) for partition in facts.partitions]
                if of_group
                else [None] * len(facts.partitions)
            )
            is_waited_for += are_waited_for(facts)
        partitions = chain.from_iterable(facts.partitions for facts in groups)
        rows = np.flatnonzero(
            np.array([judged_end(partition) is not None for partition in partitions], np.bool_)
        )
        windows = replace(
            self.windows,
            unread_by_ms=self.windows.unread_by_ms
            if seen is None
            else np.where(np.array(is_waited_for, np.bool_), seen.unread_by_ms, UNKNOWN),
            proofs=np.array(
                [UNKNOWN if proof is None else RULES.index(proof.rule) for proof in proofs], np.int8
            ),
        )
        for row, judged in self._judged(windows, rows, rules):
            proof = proofs[row] if judged.rule in PROVEN else None
            statuses[row] = judged if proof is None else replace(judged, numbers=numbers_of(proof))
        return statuses

    def _looked_at(self, rows: Int64s, rules: LagRules) -> Seen | None:
        """The look at all rows, if these, which rise, are all, and if the rules want no other one."""
        is_same = len(rows) == len(self.rows) and rules.allowed_lag == _ALLOWED_LAG
        return self.looked if is_same else None

    def _judged(self, windows: WindowColumns, rows: Int64s, rules: LagRules) -> Iterator[tuple[int, Judged]]:
        """Judge some of the rows; the numbers of proofs are left out."""
        chosen, ends, looked = windows.at(rows), self.ends[rows], self._looked_at(rows, rules)
        verdicts = judge_columns(chosen, ends, self.now_ms, rules, looked)
        numbers: list[NumbersByName] = [{}] * len(rows)

        def changed_between(here: Int64s, before: Int64s, after: Int64s) -> Numbers:
            return self.changed_between(rows[here], before, after)

        times = np.full(len(rows), self.now_ms)
        for of_rule in verdict_numbers(chosen, ends, times, rules, verdicts, changed_between, looked):
            for index, named in zip(of_rule.rows.tolist(), _by_name(of_rule), strict=True):
                numbers[index] = named
        said = zip(rows.tolist(), verdicts.statuses.tolist(), verdicts.rules.tolist(), numbers, strict=True)
        for row, status, rule, named in said:
            yield row, Judged(STATUSES[status], RULES[rule], named)


def _by_name(of_rule: RuleNumbers) -> Iterator[NumbersByName]:
    """The numbers of each window that a rule decided."""
    names = tuple(of_rule.fields)
    if not names:
        yield from ({} for _ in of_rule.rows)
        return
    columns = []
    for numbers in of_rule.fields.values():
        values = numbers.values.tolist()
        if numbers.known is not None:
            values = [
                value if is_known else None
                for value, is_known in zip(values, numbers.known.tolist(), strict=True)
            ]
        columns.append(values)
    for row in zip(*columns, strict=True):
        yield dict(zip(names, row, strict=True))


def _rhythms_ms(times: Sequence[Int64s], counts: Int64s) -> Int64s:
    """The longest interval of each window; a window that is not full repeats its first commit."""
    if len(times) < RHYTHM_COMMITS:
        return np.full(len(counts), UNKNOWN)
    intervals = [after - before for before, after in pairwise(times)]
    longest, shortest = np.maximum.reduce(intervals), np.minimum.reduce(intervals)
    return np.where((counts >= RHYTHM_COMMITS) & (shortest >= 0) & (longest > 0), longest, UNKNOWN)


def _reached_ms(looked: Seen) -> Int64s:
    """The time of the first of the commits that end a window with its last offset."""
    reached, is_same = looked.last_ms, np.ones(len(looked.last_ms), np.bool_)
    for times, offsets in zip(reversed(looked.times), reversed(looked.offsets), strict=True):
        is_same = is_same & (offsets == looked.offsets[-1])
        reached = np.where(is_same, times, reached)
    return reached


def _optional(values: NDArray[np.int64]) -> list[int | None]:
    return [None if value == UNKNOWN else value for value in values.tolist()]
