"""Damage and odd records met while decoding: the first places are named, the rest counted."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from kgroup.log.files.damage_text import damage_text, named
from kgroup.log.files.entries import ReadRecord
from kgroup.log.format.batch import Damage
from kgroup.report.table import counted

# Such records are shown, each with its reason, so only the first are also listed here.
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

    def add_unread(self, line: str) -> None:
        """Name a folder that could not be listed: what is in it is damage to whoever wants all."""
        self.damaged += 1
        self.say(line)

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

    def unnamed(self) -> Iterator[str]:
        """A line for each kind of problem with the number of records not named."""
        for number, fault in ((self.undecodable, "that cannot be decoded"), (self.odd, "with something odd")):
            if number > _NAMED_MAX:
                yield f"{counted(number - _NAMED_MAX, 'more record')} {fault}, not named here"

    def _name(self, read: ReadRecord, reason: str) -> None:
        offset = "" if read.record is None else f"offset {read.record.offset}: "
        self.say(f"{named(read.segment.path)}: byte {read.batch.position}: {offset}{reason}")
