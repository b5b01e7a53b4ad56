"""The exceptions of kgroup. Only `cli/shell/app.py` catches them, prints one line on stderr and exits.

Damage in a log and records of unknown types are *results* (`log.batch.Damage`,
`protocol.entries.Undecodable`), not exceptions: a scan continues past them.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import PurePath
from traceback import extract_tb
from typing import Final

_MISSPELT: Final = 0.92


class KgroupError(Exception):
    """kgroup could not do what was asked; the message says what, where, and what to try."""

    exit_code = 1


class DecodeError(KgroupError):
    """Bytes that do not hold what they should.

    `field` is the dotted path of what was being read, `at` the byte position in the buffer given
    to the decoder (not in a file), `why` the reason in plain words.
    """

    def __init__(self, field: str, *, at: int, why: str) -> None:
        super().__init__(f"{field} at byte {at}: {why}")
        self.field = field
        self.at = at
        self.why = why


class SourceError(KgroupError):
    """A path, stream or cluster that cannot be read as what it was given for."""


class NoMatchError(SourceError):
    """A source that was read, and has nothing of the name that was asked for."""


class InputError(KgroupError):
    """A flag or input file whose content makes no sense; names the field or member at fault."""

    exit_code = 2


class RefusedError(KgroupError):
    """A change that was not begun, with the reason; nothing is different from before."""


class FindingsError(KgroupError):
    """Everything was done and printed, but `--strict` or `--fail-on` found what the caller asked to fail on.

    The message says what was found and how many.
    """

    exit_code = 3


def fault_line(error: BaseException) -> str:
    """One line on an exception that nobody counted on: its kind and words, and the code it comes from."""
    words = " ".join(str(error).split())
    frames = extract_tb(error.__traceback__)
    at = f" ({PurePath(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"a fault of kgroup's own, {type(error).__name__}{at}: {words}".rstrip(": ")


def nearest_or_all(name: str, known: Iterable[str], shown_max: int = 30) -> str:
    """`did you mean orders-app?`, or `there are ...` where no known name is like this one."""
    names = list(known)
    return did_you_mean(name, names).removeprefix("; ") or f"there are {', '.join(names[:shown_max])}"


def misspelt(name: str, known: Iterable[str]) -> str | None:
    """The known property that a name is but a letter or two from, of names as long as Kafka's; else None.

    Others may be properties of other programs. No two of Kafka's names that matter here are that close.
    """
    near = get_close_matches(name, list(known), n=1, cutoff=_MISSPELT)
    return near[0] if near and near[0] != name else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean orders-app?` for the end of an error, or nothing if no known name is like this one."""
    nearest = get_close_matches(name.lower(), list(known), n=1)
    return f"; did you mean {nearest[0]}?" if nearest else ""
