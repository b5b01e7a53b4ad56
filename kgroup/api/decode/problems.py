"""Damage and odd records that decoding meets: each place named, the rest counted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from kgroup.errors import FindingsError, SourceError
from kgroup.log.files.damage_text import damage_text, named
from kgroup.log.files.entries import ReadRecord
from kgroup.log.format.batch import Damage

# Such records are shown, each with its reason, so only the first are told of twice.
_NAMED_MAX: Final = 10
# A group of many members may say the same of each.
_REASONS_MAX: Final = 3


@dataclass
class Problems:
    """Problems met so far. `say` hears of each damaged place, and of the first records of other kinds.

    `missing` says which names that were asked for are nowhere.
    """

    say: Callable[[str], None]
    damaged: int = 0
    undecodable: int = 0
    odd: int = 0
    shown: int = 0
    missing: list[str] = field(default_factory=list)

    def add_damage(self, damage: Damage) -> None:
        """Name the place."""
        self.damaged += 1
        self.say(damage_text(damage))

    def add_undecodable(self, read: ReadRecord, why: str) -> None:
        """Count a record that nobody can read."""
        self.undecodable += 1
        if self.undecodable <= _NAMED_MAX:
            self._name(read, f"cannot be decoded: {why}")

    def add_odd(self, read: ReadRecord, reasons: Sequence[str]) -> None:
        """Count a record that was decoded, and about which something is odd."""
        self.odd += 1
        if self.odd <= _NAMED_MAX:
            more = len(reasons) - _REASONS_MAX
            shown = [*reasons[:_REASONS_MAX], *([f"and {more} more"] if more > 0 else [])]
            self._name(read, "; ".join(shown))

    def summarize(self, *, strict: bool, quiet: bool) -> None:
        """Say what the screen does not: how many were not named, that nothing was shown.

        Raises SourceError if nothing was, because there is no such group or topic; FindingsError if something
        was wrong and `strict` asks for it.
        """
        for number, what in ((self.undecodable, "that cannot be decoded"), (self.odd, "with something odd")):
            if number > _NAMED_MAX:
                unnamed = _count(number - _NAMED_MAX, "more record")
                self.say(f"{unnamed} {what}, not named here")
        if self.missing and not self.shown:
            raise SourceError("; ".join(self.missing))
        for line in self.missing:
            self.say(line)
        if not self.shown + self.damaged + self.undecodable and not quiet:
            self.say("no record here is what was asked for")
        if strict and self.damaged + self.undecodable + self.odd:
            raise FindingsError(
                f"{_count(self.damaged, 'damaged place')}, "
                f"{_count(self.undecodable, 'record')} that cannot be decoded, "
                f"{_count(self.odd, 'record')} with something odd"
            )

    def _name(self, read: ReadRecord, reason: str) -> None:
        offset = "" if read.record is None else f"offset {read.record.offset}: "
        self.say(f"{named(read.segment.path)}: byte {read.batch.position}: {offset}{reason}")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
