"""`--reset-offsets`: new offsets for groups without members."""

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kgroup.assignors.java_order import hash_order, partition_hash, string_order
from kgroup.cli.compat.carried_out import carried_out
from kgroup.cli.compat.exceptions import exception, message
from kgroup.cli.compat.failure import ToolError, print_error
from kgroup.cli.compat.given import Given, ToolUsageError

if TYPE_CHECKING:
    from kgroup.history.groups.model import Group
    from kgroup.net.admin.cluster import Cluster
    from kgroup.operations.model import GroupOffsets, PartitionLimits, PlanRow
    from kgroup.operations.targets import Strategy
    from kgroup.protocol.topic_partition import TopicPartition

_NO_SCENARIO: Final = (
    "Option '[reset-offsets]' requires one of the following scenarios: [[to-earliest], [to-current],"
    " [to-latest], [by-duration], [to-datetime], [from-file], [shift-by], [to-offset]]"
)
_UNKNOWN: Final = "UNKNOWN_TOPIC_OR_PARTITION"
_INTEGER: Final = r"[+-]?[0-9]+"
_INT: Final = range(-(2**31), 2**31)
_LONG: Final = range(-(2**63), 2**63)
_NO_SCOPE: Final = "One of the reset scopes should be defined: --all-topics, --topic."


def run(given: Given, cluster: "Cluster") -> None:
    """Print what the offsets are, or will be."""
    from kgroup.cli.compat.describe_groups import chosen_groups
    from kgroup.history.groups.model import GroupKind
    from kgroup.net.admin.group_states import is_idle
    from kgroup.report.compat.changes import export_lines, reset_lines

    reset = _Reset(given, cluster)
    offsets: dict[str, dict[TopicPartition, int]] = {}
    for group in string_order(chosen_groups(given, cluster)):
        found = _present(cluster, group)
        offsets[group] = {}
        if found is not None and found.kind is GroupKind.STREAMS:
            print_error(
                f"Group '{group}' is a streams group. Use kafka-streams-groups.sh to reset its offsets."
            )
        elif found is not None and not is_idle(found):
            print_error(
                f"Assignments can only be reset if the group '{group}' is inactive, but the current state is"
                f" {found.state.value}."
            )
        else:
            offsets[group] = reset.group(group, existed=found is not None)
    if given.has("export"):
        lines = export_lines(offsets, with_groups=len(given.all("group")) != 1)
    else:
        lines = reset_lines(offsets)
    for line in lines:
        print(line)


def _present(cluster: "Cluster", group: str) -> "Group | None":
    from kgroup.cli.compat.describe_groups import failure_of
    from kgroup.net.admin.coordinated import CoordinatorError
    from kgroup.net.admin.group_asks import Refused
    from kgroup.net.admin.group_states import present_group

    try:
        return present_group(cluster, group)
    except CoordinatorError as error:
        failure = failure_of(cluster, group, Refused(error.code, str(error)))
        if isinstance(failure, ToolError):
            raise failure.within_runtime_exception() from None
        raise


class _Reset:
    """The reset that a command line asks for."""

    def __init__(self, given: Given, cluster: "Cluster") -> None:
        self._given = given
        self._cluster = cluster
        self._to_offset = _integer(given, "to-offset")
        self._shift_by = _integer(given, "shift-by")

    def group(self, group: str, *, existed: bool) -> "dict[TopicPartition, int]":
        """The new offsets of a group, in the order in which the tool has them; with --execute committed."""
        from kgroup.api.operations.asked import limits_of
        from kgroup.net.admin.committed import fetch_offsets
        from kgroup.operations.plan import Outside, make_plan
        from kgroup.operations.targets import ShiftBy, ToCurrent, targets

        offsets = fetch_offsets(self._cluster, group)
        partitions = self._partitions(offsets)
        strategy = self._strategy(group)
        if strategy is None:
            return {}
        if self._given.has("from-file"):
            partitions = list(strategy.positions)  # type: ignore[union-attr]
        self._require(partitions)
        if isinstance(strategy, ShiftBy):
            _require_commits(partitions, offsets)
        limits = limits_of(self._cluster, partitions)
        in_order = hash_order(list(dict.fromkeys(partitions)), partition_hash)
        found = targets(strategy, offsets, in_order, limits, self._at_time(strategy, limits, in_order))
        # What is committed is committed again, wherever it is.
        outside = Outside.KEPT if isinstance(strategy, ToCurrent) else Outside.CLAMPED
        rows = make_plan(offsets, found, limits, outside=outside)
        if self._given.has("execute"):
            self._execute(group, rows, existed=existed)
        new = {row.change.place: row.change.new.offset for row in rows if row.change.new is not None}
        return {place: new[place] for place in in_order}

    def _partitions(self, offsets: "GroupOffsets") -> "list[TopicPartition]":
        """The partitions, numbered ones first. Raises ToolUsageError without --topic and --all-topics."""
        if self._given.has("all-topics"):
            return list(offsets.commits)
        if self._given.has("topic"):
            return named_partitions(self._given.all("topic"), self._cluster)
        if not self._given.has("from-file"):
            raise ToolUsageError(_NO_SCOPE)
        return []

    def _strategy(self, group: str) -> "Strategy | None":
        from kgroup.cli.compat.plan_file import read_plan
        from kgroup.cli.compat.times import date_time_ms, duration_ms
        from kgroup.operations import targets

        given = self._given
        if self._to_offset is not None:
            return targets.ToOffset(self._to_offset)
        if given.has("to-earliest"):
            return targets.ToEarliest()
        if given.has("to-latest"):
            return targets.ToLatest()
        if self._shift_by is not None:
            return targets.ShiftBy(self._shift_by)
        if given.has("to-datetime"):
            return targets.ToTime(date_time_ms(given.one("to-datetime") or ""))
        if given.has("by-duration"):
            now_ms = int(time.time() * 1000)
            return targets.ToTime(now_ms - duration_ms(given.one("by-duration") or ""))
        if given.has("from-file"):
            plan = read_plan(given.one("from-file") or "", given.all("group"))
            if group not in plan:
                print_error(f"No reset plan for group {group} found")
                return None
            return targets.ToPositions(positions=plan[group], source="--from-file")
        if given.has("to-current"):
            return targets.ToCurrent()
        raise ToolUsageError(_NO_SCENARIO)

    def _require(self, partitions: "Sequence[TopicPartition]") -> None:
        """Raises ToolError for partitions that there are not, or that have no leader."""
        topics = self._cluster.topics({topic for topic, _ in partitions}) if partitions else {}
        gone = next(((topic, number) for topic, number in partitions if topic not in topics), None)
        if gone is not None:
            raise self._unknown(*gone)
        missing = [(topic, number) for topic, number in partitions if number not in topics[topic].leaders]
        if missing:
            why = f'The partitions "{",".join(_names(missing))}" do not exist'
            raise ToolError(why, exception(_UNKNOWN, why))
        leaderless = [place for place in partitions if topics[place[0]].leaders[place[1]] is None]
        if leaderless:
            raise ToolError(f'The partitions "{",".join(_names(leaderless))}" have no leader')

    def _unknown(self, topic: str, partition: int) -> ToolError:
        """The error for an unknown partition named by an option or a file: its log is asked for unchecked."""
        text = message(_UNKNOWN)
        if self._given.has("from-file"):
            text = (
                f"Failed to fetch metadata for partition {topic}-{partition} because metadata for topic"
                f" `{topic}` could not be found"
            )
        return ToolError.of_future("UnknownTopicOrPartitionException", text).within_runtime_exception()

    def _at_time(
        self,
        strategy: "Strategy",
        limits: "Mapping[TopicPartition, PartitionLimits]",
        partitions: "Sequence[TopicPartition]",
    ) -> "dict[TopicPartition, int | None] | None":
        from kgroup.api.operations.reset import first_at
        from kgroup.operations.targets import ToTime

        if not isinstance(strategy, ToTime):
            return None
        found = first_at(self._cluster, strategy.time_ms, limits)
        for topic, partition in partitions:
            if found[topic, partition] is None:
                print(
                    f"\nWarn: Partition {partition} from topic {topic} is empty."
                    " Falling back to latest known offset."
                )
        return found

    def _execute(self, group: str, rows: "Sequence[PlanRow]", *, existed: bool) -> None:
        """Commit, with an undo file as `kgroup reset-offsets` has it."""
        from kgroup.api.operations.planned import PlannedOperation, steps_of

        planned = PlannedOperation(
            command="compat-reset-offsets",
            rows=tuple(rows),
            steps=tuple(steps_of(row.change for row in rows)),
            existed={group: existed},
        )
        failed = carried_out(self._cluster, planned)
        assert not isinstance(failed, str), "a commit is refused partition by partition"
        if failed:
            why = f"Failed altering group offsets for the following partitions: [{', '.join(_names(failed))}]"
            raise ToolError(why, exception(next(iter(failed.values())), why))


def named_partitions(topics: Sequence[str], cluster: "Cluster") -> "list[TopicPartition]":
    """The partitions of `--topic`, those that are named with their numbers first. Raises ToolError."""
    whole = [topic for topic in topics if ":" not in topic]
    named = [place for topic in topics if ":" in topic for place in _numbered(topic)]
    known = cluster.topics(whole) if whole else {}
    for topic in whole:
        if topic not in known:
            raise _unknown_topic()
        named += [(topic, number) for number in sorted(known[topic].leaders)]
    return named


def _numbered(text: str) -> "list[TopicPartition]":
    parts = text.split(":")
    if len(parts) != 2 or not parts[1]:
        raise _illegal(f"Invalid topic arg '{text}', expected topic name and partitions")
    topic, numbers = parts
    for number in numbers.split(","):
        if not re.fullmatch(_INTEGER, number) or int(number) not in _INT:
            raise _illegal(f"Invalid partition '{number}' specified in topic arg '{text}''")
    return [(topic, int(number)) for number in numbers.split(",")]


def _require_commits(partitions: "Iterable[TopicPartition]", offsets: "GroupOffsets") -> None:
    for topic, partition in partitions:
        if (topic, partition) not in offsets.commits:
            raise _illegal(
                f"Cannot shift offset for partition {topic}-{partition} since there is no current committed"
                " offset"
            )


def _integer(given: Given, option: str) -> int | None:
    text = given.one(option)
    if text is None:
        return None
    if re.fullmatch(_INTEGER, text) and int(text) in _LONG:
        return int(text)
    why = f"Cannot parse argument '{text}' of option {option}"
    raise ToolError(why, f"joptsimple.OptionArgumentConversionException: {why}")


def _unknown_topic() -> ToolError:
    return ToolError(message(_UNKNOWN), exception(_UNKNOWN))


def _illegal(why: str) -> ToolUsageError:
    """An IllegalArgumentException, which the tool takes for a wrong use of it."""
    return ToolUsageError(why)


def _names(places: "Iterable[TopicPartition]") -> list[str]:
    return [f"{topic}-{partition}" for topic, partition in places]
