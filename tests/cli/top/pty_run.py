"""A kgroup in a terminal of its own: what it draws, read by an emulator, and keys for it."""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyte

PATIENCE_S = 120
FRAME_ENDS = b"\x1b[?2026l"


class Terminal:
    """An emulated terminal with a kgroup in it. `screen` is what can be seen."""

    def __init__(self, arguments: list[str], width: int, height: int) -> None:
        self.screen = pyte.Screen(width, height)
        self._stream = pyte.ByteStream(self.screen)
        self.sent = b""
        self.status: int | None = None
        self._pid, self._fd = pty.fork()
        if self._pid == 0:  # pragma: no cover (another process)
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
            # As of a shell that exported them before its window got another size.
            environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "77", "LINES": "11"}
            os.execve(sys.executable, [sys.executable, "-m", "kgroup", *arguments], environment)

    @property
    def lines(self) -> list[str]:
        """The lines of the screen, without blanks at their ends."""
        return [line.rstrip() for line in self.screen.display]

    @property
    def mode(self) -> list[Any]:
        """The terminal's settings, as `stty` shows them."""
        return termios.tcgetattr(self._fd)

    def until(self, is_there: Callable[[list[str]], bool]) -> list[str]:
        """The first whole frame that is as wanted; fails if none ever is."""
        deadline = time.monotonic() + PATIENCE_S
        while not (self.sent.endswith(FRAME_ENDS) and is_there(self.lines)):
            left = deadline - time.monotonic()
            assert left > 0, "\n".join(self.lines)
            assert self._read(left), "it ended:\n" + "\n".join(self.lines)
        return self.lines

    def press(self, keys: str) -> None:
        os.write(self._fd, keys.encode())

    def resize(self, width: int, height: int) -> None:
        self.screen.resize(height, width)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def signal(self, number: signal.Signals) -> None:
        os.kill(self._pid, number)

    def wait_until_stopped(self) -> bool:
        """Whether the process was stopped, as by Ctrl-Z."""
        _, status = os.waitpid(self._pid, os.WUNTRACED)
        return os.WIFSTOPPED(status)

    def ended(self) -> int:
        """The exit status, when it has ended."""
        while self._read(PATIENCE_S):
            pass
        deadline = time.monotonic() + PATIENCE_S
        while (ended := os.waitpid(self._pid, os.WNOHANG))[0] == 0:
            assert time.monotonic() < deadline, "it does not end"
            time.sleep(0.01)
        self.status = os.waitstatus_to_exitcode(ended[1])
        return self.status

    def close(self) -> None:
        if self.status is None:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        os.close(self._fd)

    def _read(self, seconds: float) -> bool:
        """Take what has come; False at the end."""
        ready, _, _ = select.select([self._fd], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self._fd, 65_536)
        except OSError:  # Linux, once nobody has the other side
            return False
        self.sent += data
        self._stream.feed(data)
        return bool(data)


@contextmanager
def in_terminal(*arguments: str, width: int = 200, height: int = 60) -> Iterator[Terminal]:
    """Run kgroup with these arguments in a terminal of this size."""
    terminal = Terminal(list(arguments), width, height)
    try:
        yield terminal
    finally:
        terminal.close()
