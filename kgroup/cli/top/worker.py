"""The thread that reads while the screen answers keys: jobs in, events out."""

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final

from kgroup.report.top.model import Event

Job = Callable[[], Event]

_AT_ONCE: Final = 4096


class Worker:
    """Does jobs one after the other; `fileno` is readable when there are `events`.

    Its thread is a daemon: a cluster that does not answer keeps nobody from leaving.
    """

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Job] = SimpleQueue()
        self._done: SimpleQueue[Event | BaseException] = SimpleQueue()
        self._read_end, self._write_end = os.pipe()
        threading.Thread(target=self._work, name="kgroup-top", daemon=True).start()

    def fileno(self) -> int:
        """The descriptor to wait on with select."""
        return self._read_end

    def submit(self, job: Job) -> None:
        """Have a job done after those that wait already."""
        self._jobs.put(job)

    def events(self) -> list[Event]:
        """The events since the last call; waits if there is none. Raises what a job raised."""
        events: list[Event] = []
        for _ in os.read(self._read_end, _AT_ONCE):
            done = self._done.get()
            if isinstance(done, BaseException):
                raise done
            events.append(done)
        return events

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            try:
                self._done.put(job())
            except BaseException as error:  # raised again where somebody sees it
                self._done.put(error)
            os.write(self._write_end, b".")
