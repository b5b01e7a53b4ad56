"""Messages apart from a command's results: lines on standard error."""

import sys
from collections.abc import Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from kgroup.errors import FindingsError
from kgroup.report.table import printable

_HEARD: Final[ContextVar[list[str] | None]] = ContextVar("heard", default=None)


def say(line: str) -> None:
    """Print a line; what a terminal might obey, as in a client's id, shows as an escape."""
    heard = _HEARD.get()
    if heard is not None:
        heard.append(line)
        return
    print(f"kgroup: {printable(line)}", file=sys.stderr, flush=True)


@contextmanager
def overheard() -> Iterator[list[str]]:
    """Yield what this thread says meanwhile, instead of printing it: the caller prints it in time."""
    lines: list[str] = []
    token = _HEARD.set(lines)
    try:
        yield lines
    finally:
        _HEARD.reset(token)


def fail_if_strict(problems: Sized, *, strict: bool) -> None:
    """Raises FindingsError if there are problems of reading and --strict asks for it."""
    if strict and len(problems):
        raise FindingsError(f"damaged or undecodable places: {len(problems)}")
