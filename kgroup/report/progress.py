"""How far long work is: a progress bar on standard error for whoever watches a terminal, or nothing."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

_PATIENCE_S = 1.0
_POLL_S = 0.5

Advance = Callable[[int], None]
"""Is called with how much was done since the last call."""
Poll = Callable[[], tuple[int, int]]
"""Says how many steps are done, of how many."""


class Progress(Protocol):
    """Is told how far work is; `what` names the work."""

    def bytes(self, what: str, total: int) -> AbstractContextManager[Advance]:
        """Of work that is measured in bytes."""

    def steps(self, what: str, total: int) -> AbstractContextManager[Advance]:
        """Of work that is counted."""

    def activity(self, what: str) -> AbstractContextManager[None]:
        """Of work that cannot say how far it is."""

    def polled(self, what: str, poll: Poll) -> AbstractContextManager[None]:
        """Of work that is done elsewhere and has to be asked."""


class _NoProgress:
    """Nobody watches."""

    def bytes(self, what: str, total: int) -> AbstractContextManager[Advance]:
        return nullcontext(_ignore)

    def steps(self, what: str, total: int) -> AbstractContextManager[Advance]:
        return nullcontext(_ignore)

    def activity(self, what: str) -> AbstractContextManager[None]:
        return nullcontext()

    def polled(self, what: str, poll: Poll) -> AbstractContextManager[None]:
        return nullcontext()


class _TerminalProgress:
    """Bars on standard error, if that is a terminal; each goes when its work is done."""

    def bytes(self, what: str, total: int) -> AbstractContextManager[Advance]:
        return byte_progress(what, total, quiet=False)

    def steps(self, what: str, total: int) -> AbstractContextManager[Advance]:
        return count_progress(what, total, quiet=False)

    def activity(self, what: str) -> AbstractContextManager[None]:
        return activity(what, quiet=False)

    def polled(self, what: str, poll: Poll) -> AbstractContextManager[None]:
        return polled_progress(what, poll, quiet=False)


NO_PROGRESS: Final[Progress] = _NoProgress()
TERMINAL_PROGRESS: Final[Progress] = _TerminalProgress()


def _ignore(done: int) -> None:
    pass


@contextmanager
def byte_progress(what: str, total_bytes: int, *, quiet: bool) -> Iterator[Advance]:
    """Yield a function to call with the number of bytes done since the last call.

    Nothing is shown in the first second, with `quiet`, or if standard error is no terminal.
    """
    with _progress(what, total_bytes, in_bytes=True, quiet=quiet) as advance:
        yield advance


@contextmanager
def count_progress(what: str, total: int, *, quiet: bool) -> Iterator[Advance]:
    """The same for things that are counted."""
    with _progress(what, total, in_bytes=False, quiet=quiet) as advance:
        yield advance


@contextmanager
def _progress(what: str, total: int, *, in_bytes: bool, quiet: bool) -> Iterator[Advance]:
    if quiet or not sys.stderr.isatty():
        yield lambda done: None
        return
    bar = _Bar(what, total, in_bytes=in_bytes)
    try:
        yield bar.advance
    finally:
        bar.stop()


@contextmanager
def activity(what: str, *, quiet: bool) -> Iterator[None]:
    """Show that `what` goes on, where there is no telling how far it is."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


@contextmanager
def polled_progress(what: str, poll: Poll, *, quiet: bool) -> Iterator[None]:
    """Show how far `what` is while something else does it: `poll` says how many steps are done, of how many.

    It is asked twice a second, from another thread, and only where somebody watches.
    """
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    ended = threading.Event()
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        bar = shown.add_task(what, total=None)

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

    def __init__(self, what: str, total: int, *, in_bytes: bool) -> None:
        self._what = what
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
        shown.add_task(self._what, total=self._total)
        shown.start()
        return shown
