"""`lag-report --spark`: what the command asks of Spark instead of reading logs itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgroup.cli.progress import activity

if TYPE_CHECKING:
    from kgroup.log.scan import Newest
    from kgroup.log.scan_last import LastCommits
    from kgroup.log.sources import Sources

DEFAULT_MASTER = "local[*]"


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkOptions:
    """Which Spark, and its settings as `key=value`."""

    master: str = DEFAULT_MASTER
    conf: Sequence[str] = ()


def read_on_spark(
    options: SparkOptions, sources: "Sources", window_commits: int | None, *, quiet: bool
) -> "tuple[Newest, LastCommits | None]":
    """The newest records, and if asked for the last `window_commits` of each key, in one job."""
    from kgroup.spark import jobs
    from kgroup.spark.reductions import Both, LastCommitsOfEach, NewestRecords
    from kgroup.spark.session import open_session, parse_conf

    with (
        activity(f"Spark ({options.master}) is reading", quiet=quiet),
        open_session(options.master, parse_conf(options.conf)) as session,
    ):
        if window_commits is None:
            return jobs.newest(session, sources.segments), None
        from kgroup.log.scan_last import Keep, counting

        keep = Keep(slots=window_commits)
        newest, last = jobs.reduced(session, sources.segments, Both(NewestRecords(), LastCommitsOfEach(keep)))
        return newest, counting(last, keep)
