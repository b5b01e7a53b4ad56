"""Damage in words, the same in every command, for standard error."""

from kgroup.log.files.sources import STDIN
from kgroup.log.format.batch import Damage
from kgroup.protocol.records.entries import LoggedEntry, Undecodable


def named(path: str) -> str:
    """A source as people call it."""
    return "standard input" if path == STDIN else path


def damage_text(damage: Damage) -> str:
    """The file, the byte, how much is left out, and why."""
    unit = "byte" if damage.size == 1 else "bytes"
    left_out = f"{damage.size} {unit} left out: " if damage.size else ""
    return f"{named(damage.segment)}: byte {damage.position}: {left_out}{damage.why}"


def undecodable_text(logged: LoggedEntry, entry: Undecodable) -> str:
    """The record, its offsets partition, and why it says nothing."""
    return f"offsets partition {logged.partition}: offset {logged.offset}: {entry.why}"
