"""The status columns of a lag report: windows of commits from the log, judged by a rule set."""

from collections.abc import Mapping
from dataclasses import dataclass

from kgroup.group.commit_window import CommitWindow, WindowCommit
from kgroup.group.lag import LagRow
from kgroup.group.lag_rules import LagRules, judge
from kgroup.group.log_ends import TopicState
from kgroup.log.scan_gather import values_of
from kgroup.log.scan_last import LastCommits

_Place = tuple[str, str, int]
_NO_COMMITS = CommitWindow(slots=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusJudge:
    """Judges rows of a report at `now_ms` (epoch ms) by windows as `windows_of` makes them."""

    windows: Mapping[_Place, CommitWindow]
    rules: LagRules
    now_ms: int

    def fields(self, row: LagRow) -> dict[str, object]:
        """Status, rule and evidence of a row; all None where there is no log end to judge by."""
        if row.log_end_offset is None or row.topic_state in (TopicState.DELETED, TopicState.RECREATED):
            return {"status": None, "rule": None, "evidence": None}
        window = self.windows.get((row.group, row.topic, row.partition), _NO_COMMITS)
        if row.current_offset is None:  # a logged offset of -1 is none, either
            window = _NO_COMMITS
        verdict = judge(window, row.log_end_offset, self.now_ms, self.rules)
        return {"status": verdict.status.value, "rule": verdict.rule.value, "evidence": verdict.numbers()}


def windows_of(last: LastCommits, slots: int) -> dict[_Place, CommitWindow]:
    """The windows of all keys, without log ends of the past, which are not in a log.

    Of a group's commits in two offsets partitions those with the newer last commit count, as in the report.
    """
    table = last.commits
    places = [
        (str(group), str(topic), partition)
        for group, topic, partition in zip(
            table["group"].to_pylist(),
            table["topic"].to_pylist(),
            values_of(table["partition"]).tolist(),
            strict=True,
        )
    ]
    offsets_partitions = values_of(table["offsets_partition"])
    commits = [
        WindowCommit(offset=offset, timestamp=timestamp, order=order)
        for offset, timestamp, order in zip(
            values_of(table["offset"]).tolist(),
            values_of(table["commit_timestamp"]).tolist(),
            values_of(table["log_offset"]).tolist(),
            strict=True,
        )
    ]
    keys = list(zip(places, offsets_partitions.tolist(), strict=True))
    begins = [index for index, key in enumerate(keys) if index == 0 or key != keys[index - 1]]
    windows: dict[_Place, CommitWindow] = {}
    for start, end in zip(begins, [*begins[1:], len(keys)], strict=True):
        place, offsets_partition = keys[start]
        known = windows.get(place)
        if known is None or commits[end - 1].timestamp > known.commits[-1].timestamp:
            windows[place] = CommitWindow(
                slots=slots,
                commits=tuple(commits[start:end]),
                membership_changes=last.membership_changes.get((offsets_partition, place[0]), ()),
            )
    return windows
