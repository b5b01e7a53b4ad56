"""Progress of work that takes over a second: an argument of the library, a bar on stderr for commands.

The library is silent unless it is handed something else than `NO_PROGRESS`.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

Advance = Callable[[int], None]
"""Takes how much was done since the last call."""

_PATIENCE_S = 1.0
_POLL_S = 0.5


class Progress(Protocol):
    """Hears how far work is. Each method gives a context manager that lasts as long as the work."""

    def counted_bytes(self, task: str, total: int) -> AbstractContextManager[Advance]:
        """Work on this many bytes; yields a function to call with the number done since the last call."""

    def counted(self, task: str, total: int) -> AbstractContextManager[Advance]:
        """The same for things that are counted."""

    def activity(self, task: str) -> AbstractContextManager[None]:
        """Work that cannot say how far it is."""

    def polled(self, task: str, poll: Callable[[], tuple[int, int]]) -> AbstractContextManager[None]:
        """Work that something else does: `poll` says how many steps are done, of how many."""


class _NoProgress:
    def counted_bytes(self, task: str, total: int) -> AbstractContextManager[Advance]:
        return nullcontext(_pass_over)

    def counted(self, task: str, total: int) -> AbstractContextManager[Advance]:
        return nullcontext(_pass_over)

    def activity(self, task: str) -> AbstractContextManager[None]:
        return nullcontext()

    def polled(self, task: str, poll: Callable[[], tuple[int, int]]) -> AbstractContextManager[None]:
        return nullcontext()


def _pass_over(done: int) -> None:
    """Ignore progress: there is no listener."""


NO_PROGRESS: Final[Progress] = _NoProgress()
"""Shows nothing and tells nobody."""


class TerminalProgress:
    """Bars on standard error, where that is a terminal and work takes over a second; none if `quiet`."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet

    def counted_bytes(self, task: str, total: int) -> AbstractContextManager[Advance]:
        """See Progress."""
        return byte_progress(task, total, quiet=self._quiet)

    def counted(self, task: str, total: int) -> AbstractContextManager[Advance]:
        """See Progress."""
        return count_progress(task, total, quiet=self._quiet)

    def activity(self, task: str) -> AbstractContextManager[None]:
        """See Progress."""
        return activity(task, quiet=self._quiet)

    def polled(self, task: str, poll: Callable[[], tuple[int, int]]) -> AbstractContextManager[None]:
        """See Progress; asked twice a second, from another thread."""
        return polled_progress(task, poll, quiet=self._quiet)


@contextmanager
def byte_progress(task: str, total_bytes: int, *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of bytes done since the last call.

    Nothing is shown in the first second, with `quiet`, or if standard error is no terminal.
    """
    with _progress(task, total_bytes, in_bytes=True, quiet=quiet) as advance:
        yield advance


@contextmanager
def count_progress(task: str, total: int, *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """The same for things that are counted."""
    with _progress(task, total, in_bytes=False, quiet=quiet) as advance:
        yield advance


@contextmanager
def _progress(task: str, total: int, *, in_bytes: bool, quiet: bool) -> Iterator[Callable[[int], None]]:
    if quiet or not sys.stderr.isatty():
        yield lambda done: None
        return
    bar = _Bar(task, total, in_bytes=in_bytes)
    try:
        yield bar.advance
    finally:
        bar.stop()


@contextmanager
def activity(task: str, *, quiet: bool) -> Iterator[None]:
    """Show that `task` is running, where its progress is unknown."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(task):
        yield


@contextmanager
def polled_progress(task: str, poll: Callable[[], tuple[int, int]], *, quiet: bool) -> Iterator[None]:
    """Show how far `task` is while something else does it: `poll` says how many steps are done, of how many.

    It is asked twice a second, from another thread, and only on a terminal.
    """
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    ended = threading.Event()
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        bar = shown.add_task(task, total=None)

        def watch() -> None:
            while not ended.wait(_POLL_S):
                done, total = poll()
                shown.update(bar, completed=done, total=total or None)

        watching = threading.Thread(target=watch, name="progress", daemon=True)
        watching.start()
        try:
            yield
        finally:
            ended.set()
            watching.join()


class _Bar:
    """Brings rich in only when the first second is over."""

    def __init__(self, task: str, total: int, *, in_bytes: bool) -> None:
        self._task = task
        self._total = total
        self._in_bytes = in_bytes
        self._done = 0
        self._began = time.monotonic()
        self._shown: RichProgress | None = None

    def advance(self, done: int) -> None:
        self._done += done
        if self._shown is None and time.monotonic() - self._began > _PATIENCE_S:
            self._shown = self._start()
        if self._shown is not None:
            self._shown.update(self._shown.task_ids[0], completed=self._done)

    def stop(self) -> None:
        if self._shown is not None:
            self._shown.stop()

    def _start(self) -> "RichProgress":
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        shown = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn() if self._in_bytes else MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        shown.add_task(self._task, total=self._total)
        shown.start()
        return shown
