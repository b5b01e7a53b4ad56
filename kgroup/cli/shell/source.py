"""The source a command line names, and how to open it. No heavy imports."""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kgroup.api.opened import OpenedLogs
    from kgroup.net.connect.properties import ConnectionOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Paths, or a cluster if there is a connection; or the paths of several clusters, by their names."""

    paths: tuple[str, ...]
    connection: "ConnectionOptions | None"
    clusters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def is_live(self) -> bool:
        """Whether it is a cluster."""
        return self.connection is not None


def opened(source: Given, *, remote: bool = False, spark: "SparkSession | None" = None) -> "OpenedLogs":
    """The logs of the paths, or of the cluster. Raises SourceError if there is nothing to read.

    With `remote` a path may be a URI, which only Spark can read; `spark` then looks what is there.
    """
    if source.connection is None:
        return opened_paths(source.paths, remote=remote, spark=spark)
    from kgroup.api.live import LiveLogs

    return LiveLogs(source.connection)


def opened_paths(
    paths: Iterable[str], *, remote: bool = False, spark: "SparkSession | None" = None
) -> "OpenedLogs":
    """The same of paths, of which `-` is this process's standard input."""
    from kgroup.api.opened import open_logs
    from kgroup.log.files.sources import STDIN

    given = tuple(paths)
    return open_logs(*given, stdin=sys.stdin.buffer if STDIN in given else None, remote=remote, spark=spark)
