"""`kafka-lag`, a row for each partition that a group commits or owns, and `kafka-findings`."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Final

import pyarrow as pa

from kgroup.api.lag.options import LagOptions
from kgroup.api.lag.report import LagReport, report_on
from kgroup.api.opened import OpenedLogs
from kgroup.api.spark_sources.answers import AnswerOptions, AnswerReader, Columns, in_chunks, micros
from kgroup.lag.measures.time_lag_method import TimeLagMethod
from kgroup.lag.status.rule_set import RuleSet
from kgroup.report.lag.finding_rows import finding_rows, with_clients
from kgroup.spark.sources.options import GivenOptions
from kgroup.spark.sources.tables import TIME, TableSource, table

_NUMBERS: Final = pa.map_(pa.string(), pa.float64())

LAG_TABLE: Final = table(
    [
        ("group", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("current_offset", pa.int64()),
        ("log_end_offset", pa.int64()),
        ("lag", pa.int64()),
        ("log_start_offset", pa.int64()),
        ("leader_epoch", pa.int32()),
        ("metadata", pa.string()),
        ("commit_timestamp", TIME),
        ("member_id", pa.string()),
        ("group_instance_id", pa.string()),
        ("host", pa.string()),
        ("client_id", pa.string()),
        ("group_kind", pa.string()),
        ("group_state", pa.string()),
        ("topic_id", pa.string()),
        ("topic_state", pa.string()),
        ("log_end_source", pa.string()),
        ("time_lag_ms", pa.int64()),
        ("time_lag_method", pa.string()),
        ("time_lag_reason", pa.string()),
        ("written_per_s", pa.float64()),
        ("read_per_s", pa.float64()),
        ("growth_per_s", pa.float64()),
        ("drain_ms", pa.int64()),
        ("status", pa.string()),
        ("rule", pa.string()),
        ("evidence", _NUMBERS),
        ("notes", pa.list_(pa.string())),
    ],
    required=("group", "topic", "partition"),
)
"""Version 1. What `kgroup lag-report` has; from `time_lag_ms` on null where the options do not ask for it."""

FINDINGS_TABLE: Final = table(
    [
        ("group", pa.string()),
        ("type", pa.string()),
        ("severity", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("member_id", pa.string()),
        ("client_id", pa.string()),
        ("since", TIME),
        ("grade", pa.string()),
        ("evidence", pa.string()),
        ("numbers", _NUMBERS),
        ("texts", pa.map_(pa.string(), pa.string())),
        ("try_this", pa.string()),
    ],
    required=("group", "type"),
)
"""Version 1. What `kgroup lag-report --stuck` finds; `numbers` and `texts` are the evidence as values."""


class StatusRules(StrEnum):
    """Values of the option `status`."""

    NONE = "none"
    KGROUP = "kgroup"
    BURROW = "burrow"


class TimeLags(StrEnum):
    """Values of the option `timeLag`: the methods that need no cluster."""

    NONE = "none"
    EXACT = "exact"
    INTERPOLATE = "interpolate"


class LagReader(AnswerReader):
    """Reports on some partitions of the offsets topic, or on all of them."""

    def __init__(
        self,
        given: GivenOptions,
        lag: LagOptions,
        table: pa.Schema,
        schema: pa.Schema,
    ) -> None:
        super().__init__(AnswerOptions.of(given), table, schema)
        self._lag = lag
        self._now_ms = given.time_ms("now")

    @property
    def needs_all(self) -> bool:
        """Judgements take what any group has committed as evidence of how far a topic had got.

        And unless the time is given, they are as of the newest record in the log.
        """
        return self._lag.judges or self._lag.time_lag is not None

    def answered(self, logs: OpenedLogs) -> Iterator[Columns]:
        """See AnswerReader."""
        report = report_on(logs, self._lag, now_ms=self._now_ms)
        yield from self.rows(report)
        self.unread(report.problems, logs)

    def rows(self, report: LagReport) -> Iterator[Columns]:
        """The columns of LAG_TABLE."""
        for chunk in report.chunks():
            given = chunk.columns
            nothing = [None] * len(chunk.rows)
            columns: dict[str, list[Any]] = {name: list(given.get(name, nothing)) for name in LAG_TABLE.names}
            columns["commit_timestamp"] = [micros(ms) for ms in columns["commit_timestamp"]]
            columns["evidence"] = [None if each is None else _numbers(each) for each in columns["evidence"]]
            yield columns


class FindingsReader(LagReader):
    """The same report's findings."""

    def rows(self, report: LagReport) -> Iterator[Columns]:
        """The columns of FINDINGS_TABLE."""
        rows = finding_rows(with_clients(report.findings(), report.inputs.groups))
        yield from in_chunks(map(_finding, rows), FINDINGS_TABLE)


class LagSource(TableSource):
    """`kafka-lag`."""

    NAME: ClassVar[str] = "kafka-lag"
    TABLE: ClassVar[pa.Schema] = LAG_TABLE
    OPTIONS: ClassVar[tuple[str, ...]] = ("damage", "logEnds", "now", "status", "timeLag", "topic")

    def table_reader(self, given: GivenOptions, schema: pa.Schema) -> LagReader:
        """See TableSource."""
        rules = given.choice("status", StatusRules.NONE)
        time_lag = given.choice("timeLag", TimeLags.NONE)
        lag = LagOptions(
            log_ends=_file(given),
            rules=None if rules is StatusRules.NONE else RuleSet(rules.value),
            time_lag=None if time_lag is TimeLags.NONE else TimeLagMethod(time_lag.value),
        )
        return LagReader(given, lag, LAG_TABLE, schema)


class FindingsSource(TableSource):
    """`kafka-findings`."""

    NAME: ClassVar[str] = "kafka-findings"
    TABLE: ClassVar[pa.Schema] = FINDINGS_TABLE
    OPTIONS: ClassVar[tuple[str, ...]] = ("damage", "hygiene", "logEnds", "now", "topic")

    def table_reader(self, given: GivenOptions, schema: pa.Schema) -> FindingsReader:
        """See TableSource."""
        lag = LagOptions(log_ends=_file(given), findings=True, hygiene=given.flag("hygiene"))
        return FindingsReader(given, lag, FINDINGS_TABLE, schema)


def _file(given: GivenOptions) -> Path | None:
    path = given.text("logEnds")
    return None if path is None else Path(path)


def _numbers(values: Mapping[str, Any]) -> dict[str, float | None]:
    return {
        name: None if value is None else float(value)
        for name, value in values.items()
        if not isinstance(value, str)
    }


def _finding(row: Mapping[str, Any]) -> Mapping[str, Any]:
    values: Mapping[str, Any] = row["numbers"]
    return {
        **row,
        "type": row["finding"],
        "numbers": _numbers(values),
        "texts": {name: value for name, value in values.items() if isinstance(value, str)},
    }
