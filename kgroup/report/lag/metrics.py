"""A lag report as metrics for Prometheus, in its text exposition format 0.0.4.

Names and labels are kafka-lag-exporter's where it has the same, so that its dashboards and alerts go on
working; what it does not have begins with `kgroup_`. A number that is unknown has no sample; how many of a
group's lags are unknown is a sample of its own.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kgroup.report.emit import Row
from kgroup.report.lag.sums import By, sum_rows
from kgroup.report.table import printable

_Sample = tuple[Mapping[str, object], float | int]
"""Labels and value; a label that is None is empty."""

_PREFIX: Final = "kafka_consumergroup_group_"


@dataclass(frozen=True, slots=True, kw_only=True)
class LookSummary:
    """The look itself. `at_ms` is its time (epoch ms), None if it failed; `problems` is how many it met."""

    at_ms: int | None
    seconds: float
    problems: int = 0


def lag_metrics(rows: Sequence[Row], summary: LookSummary) -> Iterator[str]:
    """Lines of metrics of rows that have the fields of a report for programs, without line ends."""
    for name, unit, help_text in _OF_PARTITIONS:
        yield from gauge(name, help_text, _partition_samples(rows, unit))
    yield from _of_logs(rows)
    sums = list(sum_rows(rows, By.GROUP))
    for name, unit, help_text in _OF_GROUPS:
        yield from gauge(name, help_text, _samples(sums, unit, lambda row: {"group": row["group"]}))
    yield from gauge(
        f"{_PREFIX}topic_sum_lag",
        "Unread records of a group in a topic, partitions with unknown lags left out.",
        _topic_samples(rows),
    )
    yield from gauge(
        "kgroup_group_info",
        "1; kind and state of a group.",
        [
            ({"group": row["group"], "kind": row["group_kind"], "state": row["group_state"]}, 1)
            for row in sums
        ],
    )
    yield from gauge("kgroup_partition_status", "1; status and the rule that decided.", _statuses(rows))
    yield from failed_metrics(summary)


def failed_metrics(summary: LookSummary) -> Iterator[str]:
    """The figures of the look itself, all that is left when it failed."""
    up = summary.at_ms is not None
    yield from gauge("kgroup_up", "1 if the last report succeeded, 0 if it failed.", [({}, int(up))])
    yield from gauge("kgroup_look_duration_seconds", "How long the report took.", [({}, summary.seconds)])
    if summary.at_ms is not None:
        yield from gauge(
            "kgroup_look_timestamp_seconds", "When the report was made.", [({}, summary.at_ms / 1000)]
        )
        yield from gauge("kgroup_look_problems", "Places that could not be read.", [({}, summary.problems)])


_OF_PARTITIONS: Final = (
    (f"{_PREFIX}offset", ("current_offset", 1), "Committed offset of a group in a partition."),
    (
        f"{_PREFIX}lag",
        ("lag", 1),
        "Log end offset less committed offset; below 0 if that is beyond the end.",
    ),
    (
        f"{_PREFIX}lag_seconds",
        ("time_lag_ms", 1000),
        "How long the first unread record has waited; the label method says how that was found.",
    ),
    (
        "kgroup_group_lag_growth",
        ("growth_per_s", 1),
        "Records per second by which the lag grows; negative if it shrinks.",
    ),
)
_OF_GROUPS: Final = (
    (f"{_PREFIX}max_lag", ("lag_max", 1), "The largest known lag of a group."),
    (f"{_PREFIX}max_lag_seconds", ("time_lag_ms", 1000), "The longest known time lag of a group."),
    (f"{_PREFIX}sum_lag", ("lag", 1), "Unread records of a group, partitions with unknown lags left out."),
    (
        "kgroup_group_unknown_lag_partitions",
        ("lag_unknown", 1),
        "Partitions of a group whose lag is unknown, as of one without a commit.",
    ),
)
_Unit = tuple[str, int]
"""A field, and how many of it make one of the metric."""


def _partition_samples(rows: Iterable[Row], unit: _Unit) -> Iterator[_Sample]:
    with_method = unit[0] == "time_lag_ms"

    def labels(row: Row) -> dict[str, object]:
        named = {
            "group": row["group"],
            "topic": row["topic"],
            "partition": row["partition"],
            "member_host": row["host"],
            "consumer_id": row["member_id"],
            "client_id": row["client_id"],
        }
        return named | ({"method": row["time_lag_method"]} if with_method else {})

    return _samples(rows, unit, labels)


def _samples(
    rows: Iterable[Row], unit: _Unit, labels: Callable[[Row], Mapping[str, object]]
) -> Iterator[_Sample]:
    name, of_one = unit
    for row in rows:
        number = row.get(name)
        if isinstance(number, (int, float)):
            yield labels(row), number if of_one == 1 else number / of_one


def _of_logs(rows: Sequence[Row]) -> Iterator[str]:
    """The log starts and ends, which all groups share."""
    for name, column, help_text in (
        ("kafka_partition_earliest_offset", "log_start_offset", "The first offset that a partition has."),
        (
            "kafka_partition_latest_offset",
            "log_end_offset",
            "The offset of a partition's next record.",
        ),
    ):
        offsets = {(str(row["topic"]), int(str(row["partition"]))): row[column] for row in rows}
        yield from gauge(
            name,
            help_text,
            [
                ({"topic": topic, "partition": partition}, offset)
                for (topic, partition), offset in sorted(offsets.items(), key=lambda item: item[0])
                if isinstance(offset, int)
            ],
        )


def _topic_samples(rows: Iterable[Row]) -> list[_Sample]:
    sums: dict[tuple[object, object], int] = {}
    for row in rows:
        lag = row["lag"]
        if isinstance(lag, int):
            key = row["group"], row["topic"]
            sums[key] = sums.get(key, 0) + max(lag, 0)
    return [({"group": group, "topic": topic}, lag) for (group, topic), lag in sums.items()]


def _statuses(rows: Iterable[Row]) -> Iterator[_Sample]:
    for row in rows:
        if row.get("status") is not None:
            names = ("group", "topic", "partition", "status", "rule")
            yield {name: row[name] for name in names}, 1


def gauge(name: str, help_text: str, samples: Iterable[_Sample], kind: str = "gauge") -> Iterator[str]:
    """A metric with its samples, which the format wants together; nothing without any."""
    heading = [f"# HELP {name} {help_text}", f"# TYPE {name} {kind}"]
    for labels, number in samples:
        yield from heading
        heading = []
        shown = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        yield f"{name}{{{shown}}} {number}" if shown else f"{name} {number}"


def _escaped(text: object) -> str:
    """A label's value: what a client calls itself may hold anything, also what a terminal obeys."""
    plain = "" if text is None else "\n".join(map(printable, str(text).split("\n")))
    return plain.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
