"""The terminal: the alternate screen, keys without Enter, its size, and everything restored at the end.

The screen is rich's, which is a dependency anyway. Textual would bring four more packages, take four times
as long to import (0.16 s of CPU against 0.04) and twice the memory (33 MB against 15), and needs 0.2 s to
fill a table of 10,000 rows, where a frame of those on the screen takes rich 3 ms, whatever lies behind them.
What is left to write here is a reader of keys.
"""

import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from kgroup.cli.top.keys import keys_of
from kgroup.cli.top.worker import Worker
from kgroup.errors import InputError
from kgroup.report.top.screen import ScreenLine

if TYPE_CHECKING:
    from rich.live import Live

_AT_ONCE: Final = 4096
_FRAME_BEGINS: Final = "\x1b[?2026h"
_FRAME_ENDS: Final = "\x1b[?2026l"
"""Synchronized output: a terminal that knows it shows a frame when it is whole, others pass over it."""
_SIZE: Final = (80, 24)
"""Of a terminal that does not know its own."""


def check_terminal() -> None:
    """Raises InputError where there is no screen or no keyboard."""
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if not is_terminal or os.environ.get("TERM", "dumb") in ("dumb", ""):
        raise InputError("top needs a terminal; for a pipe or a file: top --once, stuck or watch")


class Terminal:
    """The screen and the keyboard while `on_terminal` lasts. `signals` is readable after a signal."""

    def __init__(self, live: "Live", keyboard: "_Keyboard", signals: int) -> None:
        self._live = live
        self._keyboard = keyboard
        self._signals = signals

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines, as they are now: COLUMNS and LINES of the environment are of before."""
        size = os.get_terminal_size(sys.stdout.fileno())
        return size.columns or _SIZE[0], size.lines or _SIZE[1]

    def show(self, lines: Sequence[ScreenLine]) -> None:
        """Draw a screen full of lines."""
        from rich.console import ConsoleDimensions
        from rich.text import Text

        self._live.console.size = ConsoleDimensions(*self.size)
        text = Text(no_wrap=True, overflow="crop", end="")
        for number, line in enumerate(lines):
            text.append(f"\n{line.text}" if number else line.text, line.style or None)
        sys.stdout.write(_FRAME_BEGINS)
        self._live.update(text, refresh=True)
        sys.stdout.write(_FRAME_ENDS)
        sys.stdout.flush()

    def wait(self, worker: Worker, seconds: float | None) -> tuple[list[str], bool]:
        """Wait for a key, an event of the worker or a signal: the keys, and whether the worker has events.

        Raises KeyboardInterrupt also when the keyboard is gone.
        """
        keyboard, done = self._keyboard.fileno(), worker.fileno()
        ready, _, _ = select.select([keyboard, done, self._signals], [], [], seconds)
        keys = self._keyboard.read() if keyboard in ready else []
        # A new size only wakes us up.
        if self._signals in ready and signal.SIGTSTP in os.read(self._signals, _AT_ONCE):
            self._stop()
        return keys, done in ready

    def _stop(self) -> None:
        """Give the terminal back, and take it again when the process is resumed."""
        self._live.stop()
        self._keyboard.give_back()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._keyboard.take()
        self._live.start()


class _Keyboard:
    """Standard input with keys that come one by one, and are not echoed; Ctrl-C still is a signal."""

    def __init__(self) -> None:
        self._number = sys.stdin.fileno()
        self._before: list[Any] = termios.tcgetattr(self._number)

    def fileno(self) -> int:
        return self._number

    def take(self) -> None:
        tty.setcbreak(self._number, termios.TCSANOW)

    def give_back(self) -> None:
        termios.tcsetattr(self._number, termios.TCSANOW, self._before)

    def read(self) -> list[str]:
        sent = os.read(self._number, _AT_ONCE)
        if not sent:
            raise KeyboardInterrupt
        return keys_of(sent)


@contextmanager
def on_terminal() -> Iterator[Terminal]:
    """Take the terminal over. At the end, also by an error or Ctrl-C, it is as it was."""
    from rich.console import Console
    from rich.live import Live

    keyboard = _Keyboard()
    console = Console(highlight=False, emoji=False, markup=False)
    live = Live(
        console=console,
        screen=True,
        auto_refresh=False,
        vertical_overflow="crop",
        redirect_stdout=False,
        redirect_stderr=False,
    )
    with _noted_signals() as signals:
        try:
            keyboard.take()
            with live:
                yield Terminal(live, keyboard, signals)
        finally:
            keyboard.give_back()


@contextmanager
def _noted_signals() -> Iterator[int]:
    """A file that has a byte, its number, for each signal that came: a new size, Ctrl-Z."""
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    noted = {number: signal.signal(number, _wake) for number in (signal.SIGWINCH, signal.SIGTSTP)}
    before = signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    try:
        yield read_end
    finally:
        signal.set_wakeup_fd(before)
        for number, handler in noted.items():
            signal.signal(number, handler)
        os.close(read_end)
        os.close(write_end)


def _wake(number: int, frame: object) -> None:
    """The byte in the file is all that is wanted."""
