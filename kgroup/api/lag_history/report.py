"""Each group's lag at the end of each time window, from the whole log."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final, Self

from kgroup.api.lag.options import WINDOW_COMMITS, matcher
from kgroup.api.lag_history.history import HistoryHere, HistoryOptions, UnknownEnds, history_here
from kgroup.api.lag_history.rows import batches_of
from kgroup.api.names import member_of, names_given
from kgroup.api.opened import OpenedLogs, failed, left_out
from kgroup.api.tabular import Tabular
from kgroup.errors import InputError, SourceError
from kgroup.lag.status.rule_set import RuleSet
from kgroup.lag.status.rule_sets import rules_named
from kgroup.log.topics.past_ends import BetweenSamples
from kgroup.report.emit import Column, arrow_schema
from kgroup.report.html_table import html_table
from kgroup.report.lag.history_columns import COLUMNS, TABLE_COLUMNS
from kgroup.report.progress import NO_PROGRESS, Progress
from kgroup.report.table import counted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from kgroup.api.lag_history.on_spark import HistoryThere

_ROWS_AT_ONCE: Final = 64  # as rows of Python, of which a notebook shows a few


def lag_history(
    logs: OpenedLogs,
    window_ms: int,
    *,
    groups: str | Sequence[str] | None = None,
    topics: str | Sequence[str] | None = None,
    since_ms: int | None = None,
    until_ms: int | None = None,
    rules: str | RuleSet = RuleSet.KGROUP,
    only_lagging: bool = False,
    progress: Progress = NO_PROGRESS,
    spark: "SparkSession | None" = None,
) -> "LagHistory":
    """A row for each partition of a group and each window of `window_ms`, as it was when the window ended.

    `groups` and `topics` are names or a shell's patterns; `since_ms` and `until_ms` (epoch ms) are as far as
    the log goes by default. With `spark` executors read the log and make the rows, and keep them until the
    history is closed: it is a context manager.

    Raises SourceError if the log cannot be read, holds no commit, or none of what was given; InputError for
    windows that are no length or too many, and for rules that there are not.
    """
    if window_ms < 1:
        raise InputError(f"window_ms {window_ms}: a window lasts 1 ms or longer")
    group_names, topic_names = names_given(groups), names_given(topics)
    options = HistoryOptions(
        length_ms=window_ms,
        since_ms=since_ms,
        until_ms=until_ms,
        slots=WINDOW_COMMITS,
        rules=rules_named(member_of(RuleSet, rules, "rules")),
        wanted_group=matcher(group_names),
        wanted_topic=matcher(topic_names),
        only_lagging=only_lagging,
        groups=group_names or (),
        topics=topic_names or (),
    )
    if spark is not None:
        from kgroup.api.lag_history.on_spark import history_on_spark

        opened = ExitStack()
        there = opened.enter_context(history_on_spark(spark, logs, options, progress))
        return LagHistory(logs, there, opened)
    here = history_here(logs.sources, options, progress=progress)
    missing = here.missing(options)
    if missing and not here.commits.commits.keys:
        raise SourceError("; ".join(missing))
    return LagHistory(logs, here, ExitStack(), missing)


class LagHistory(Tabular):
    """Rows of the past, by group, topic, partition, offsets partition and window, made again at each call.

    `missing` are lines that say which of the names given nothing matches; Spark does not look for them.
    """

    def __init__(
        self,
        logs: OpenedLogs,
        made: "HistoryHere | HistoryThere",
        opened: ExitStack,
        missing: Sequence[str] = (),
    ) -> None:
        self._logs = logs
        self._made = made
        self._opened = opened
        self.missing = tuple(missing)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> bool | None:
        return self._opened.__exit__(*error)  # type: ignore[arg-type]  # as a with statement gives them

    def close(self) -> None:
        """Give up what Spark keeps."""
        self._opened.close()

    @property
    def is_empty(self) -> bool:
        """Whether it is known that no commit here is of what was asked for."""
        return isinstance(self._made, HistoryHere) and not self._made.commits.commits.keys

    @property
    def problems(self) -> tuple[str, ...]:
        """Places that could not be read."""
        problems = (*failed(self._logs.sources), *self._made.problems)
        return tuple(map(self._logs.message, problems))

    @property
    def remarks(self) -> tuple[str, ...]:
        """A line for each thing left out, and why, and how far log ends between samples may be off.

        Complete when the rows have been made.
        """
        here = self._made if isinstance(self._made, HistoryHere) else None
        between = None if here is None else here.between_samples
        taken = () if between is None or not between.count else (inexact(between),)
        return (*map(self._logs.message, left_out(self._logs.sources)), *taken)

    @property
    def unknown_ends(self) -> UnknownEnds | None:
        """The partitions without a past log end. Complete when the rows have been made."""
        if isinstance(self._made, HistoryHere):
            return UnknownEnds.of(self._made.ends.unknown)
        return self._made.unknown

    def raw_batches(self) -> "Iterator[pa.RecordBatch]":
        """The rows as they were made: times are epoch ms, and names and statuses are dictionaries."""
        if isinstance(self._made, HistoryHere):
            return batches_of(self._made.rows())
        return self._made.batches()

    def arrow_columns(self) -> Sequence[Column]:
        """See Tabular."""
        return COLUMNS

    def batches(self) -> "Iterator[pa.RecordBatch]":
        """The rows as Arrow batches, with the types that a Parquet file of them has."""
        schema = arrow_schema(COLUMNS)
        return (batch.select(schema.names).cast(schema) for batch in self.raw_batches())

    def save(self, name: str) -> int:
        """Let executors write the rows as a table of Spark's catalog; return how many they are.

        Raises InputError if Spark did not make them.
        """
        if isinstance(self._made, HistoryHere):
            raise InputError("rows that were made here are no table of Spark: give spark")
        return self._made.save(name)

    def _repr_html_(self) -> str:
        batches = (
            batch.slice(start, _ROWS_AT_ONCE) for batch in self.raw_batches() for start in _starts(batch)
        )
        return html_table((row for some in batches for row in some.to_pylist()), TABLE_COLUMNS, repr(self))

    def __repr__(self) -> str:
        windows = self._made.history.windows if isinstance(self._made, HistoryHere) else self._made.windows
        return f"<LagHistory of {len(windows)} window{'' if len(windows) == 1 else 's'}>"


def _starts(batch: "pa.RecordBatch") -> range:
    return range(0, batch.num_rows, _ROWS_AT_ONCE)


def inexact(between: BetweenSamples) -> str:
    """How many log ends are not exact, and how far one can be off."""
    parts = []
    if between.place is not None:
        topic, partition = between.place
        parts.append(f"up to {counted(between.most, 'record')} off ({topic} {partition})")
    if between.without_bound:
        parts.append(f"{between.without_bound} by an unknown number, with no sample on the other side")
    return (
        f"{counted(between.count, 'log end')} taken from the nearer sample, as those before and after differ:"
        f" {', '.join(parts)}"
    )
