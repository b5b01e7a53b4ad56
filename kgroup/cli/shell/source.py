"""Opens the source that a command line names."""

import sys
from collections.abc import Iterable

from kgroup.api.opened import Given, OpenedLogs, open_logs
from kgroup.log.files.sources import STDIN


def opened(source: Given, *, remote: bool = False) -> OpenedLogs:
    """The logs of the paths, or of the cluster. Raises SourceError if there is nothing to read.

    With `remote` a path may be a URI, which only Spark can read.
    """
    if source.connection is None:
        return opened_paths(source.paths, remote=remote)
    from kgroup.api.live import LiveLogs

    return LiveLogs(source.connection)


def opened_paths(paths: Iterable[str], *, remote: bool = False) -> OpenedLogs:
    """The same of paths, of which `-` is this process's standard input."""
    given = tuple(paths)
    return open_logs(*given, stdin=sys.stdin.buffer if STDIN in given else None, remote=remote)
