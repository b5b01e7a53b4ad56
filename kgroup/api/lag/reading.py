"""The part of the offsets topic that a lag report reads, here or on Spark, and its evaluation time."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kgroup.api.lag.options import LagOptions
from kgroup.api.lag.plain_commits import PlainNewest
from kgroup.api.opened import OpenedLogs
from kgroup.lag.patience import PATIENCE_MS
from kgroup.log.files.small import read_small, small_bytes
from kgroup.report.progress import Progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kgroup.scan.reductions.scanned import Scanned, ScanPlan

_SLICE_BYTES: Final = 256 * 1024 * 1024  # between two looks at the progress bar


@dataclass(frozen=True, slots=True, kw_only=True)
class AsOf:
    """The time a report is as of, epoch ms.

    `log_ms` is the same for reports that pass judgement; others measure files as of the clock's time, and
    the past of a log that ended long ago is shown up to its end. `ended_ago_ms` is how long
    before the clock's time the log was written to last, if that decided. With `log_goes_on` there are
    records of a later time in the log.
    """

    now_ms: int
    log_ms: int
    ended_ago_ms: int | None = None
    log_goes_on: bool = False

    @classmethod
    def of(
        cls,
        options: LagOptions,
        newest_ms: int | None,
        *,
        live: bool,
        now_ms: int | None,
        clock_ms: int | None,
    ) -> "AsOf":
        """`now_ms` if given; otherwise the clock's time, unless the log ended long before.

        A copy of such a log would show nothing but stopped groups. Without a clock the log's newest record
        counts.
        """
        if now_ms is not None:
            return cls(now_ms=now_ms, log_ms=now_ms, log_goes_on=(newest_ms or now_ms) > now_ms)
        if clock_ms is None:
            return cls(now_ms=newest_ms or 0, log_ms=newest_ms or 0)
        if live or newest_ms is None or clock_ms - newest_ms <= PATIENCE_MS:
            return cls(now_ms=clock_ms, log_ms=clock_ms)
        if not options.judges:
            return cls(now_ms=clock_ms, log_ms=newest_ms)
        return cls(now_ms=newest_ms, log_ms=newest_ms, ended_ago_ms=clock_ms - newest_ms)


def read_plainly(logs: OpenedLogs, options: LagOptions, progress: Progress) -> PlainNewest | None:
    """The state at the end of a small log; None where more is asked than that, or the log is not for it."""
    if logs.remote is not None or options.judges or options.time_lag is not None:
        return None
    log = read_small(logs.sources)
    if log is None:
        return None
    size = small_bytes(logs.sources) or 0
    with progress.counted_bytes("reading", size) as advance:  # done before anybody could have seen it
        advance(size)
    return PlainNewest(log)


def read_log(
    logs: OpenedLogs, plan: "ScanPlan", progress: Progress, spark: "SparkSession | None"
) -> "Scanned":
    """Read the logs, in this process without `spark`, once for all that the plan needs."""
    if spark is not None:
        from kgroup.api.lag.on_spark import read_on_spark

        return read_on_spark(spark, logs, plan, progress)
    import pyarrow as pa

    from kgroup.scan.reductions.scan import split_among_others
    from kgroup.scan.reductions.scanned import read_slices

    # Arrow's own allocator keeps what it freed, and a tenth of this process's memory with it.
    pa.set_memory_pool(pa.system_memory_pool())
    slices = [
        part
        for segment in logs.sources
        for part in split_among_others(segment.path, segment.partition, _SLICE_BYTES)
    ]
    with progress.counted_bytes("reading", sum(part.end - part.start for part in slices)) as advance:
        return read_slices(slices, plan, advance)
