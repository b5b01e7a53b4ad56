"""Timed actions of a member's user: `10s 'pause orders:0'`, `20s unsubscribe`.

A line is a verb and its words. `FORMS` is what the help shows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kgroup.cli.shell.times import parse_length
from kgroup.errors import InputError, nearest_or_all
from kgroup.net.member.client import GroupMember
from kgroup.protocol.topic_partition import TopicPartition

Act = Callable[[GroupMember], None]
_OFFSET_MAX: Final = (1 << 63) - 1

FORMS: Final[Mapping[str, str]] = {
    "subscribe": "subscribe TOPIC...",
    "unsubscribe": "unsubscribe",
    "assign": "assign TOPIC:PARTITIONS...",
    "pause": "pause TOPIC:PARTITIONS...",
    "resume": "resume TOPIC:PARTITIONS...",
    "seek": "seek TOPIC:PARTITION to OFFSET",
    "rebalance": "rebalance",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedAct:
    """`said` at `at_ms` after the start."""

    at_ms: int
    said: str
    act: Act


def parse_act(text: str) -> TimedAct:
    """Parse `TIME VERB ...`. Raises InputError that says what is valid."""
    time, _, said = text.strip().partition(" ")
    words = said.split()
    if not words:
        raise InputError(f"--at {text}: when, and then what? --at 10s 'pause orders:0'")
    at_ms = parse_length(time, "--at")
    try:
        return TimedAct(at_ms=at_ms, said=" ".join(words), act=_act(words[0], words[1:]))
    except InputError as error:
        raise InputError(f"--at: '{said.strip()}': {error}") from None


def parse_partitions(words: Sequence[str]) -> tuple[TopicPartition, ...]:
    """Parse `orders:0,2 bills:1`. Raises InputError."""
    partitions = []
    for word in words:
        topic, separator, numbers = word.rpartition(":")
        if not separator or not topic:
            raise InputError(f"'{word}' is not TOPIC:PARTITIONS, like orders:0,2")
        for number in numbers.split(","):
            if not _is_number(number, (1 << 31) - 1):
                raise InputError(f"'{word}' is not TOPIC:PARTITIONS, like orders:0,2")
            partitions.append((topic, int(number)))
    return tuple(partitions)


def _act(verb: str, words: list[str]) -> Act:
    if verb not in FORMS:
        raise InputError(f"there is no '{verb}': {nearest_or_all(verb, FORMS)}")
    wrong = InputError(f"say {FORMS[verb]}")
    if bool(words) != (" " in FORMS[verb]):
        raise wrong
    match verb:
        case "subscribe":
            return lambda member: member.subscribe(words)
        case "unsubscribe":
            return lambda member: member.unsubscribe()
        case "rebalance":
            return lambda member: member.enforce_rebalance()
        case "seek":
            if len(words) != 3 or words[1] != "to" or not _is_number(words[2], _OFFSET_MAX):
                raise wrong
            [partition, *more] = parse_partitions(words[:1])
            if more:
                raise wrong
            offset = int(words[2])
            return lambda member: member.seek(partition, offset)
        case "assign":
            partitions = parse_partitions(words)
            return lambda member: member.assign(partitions)
        case "pause":
            partitions = parse_partitions(words)
            return lambda member: member.pause(partitions)
        case _:
            partitions = parse_partitions(words)
            return lambda member: member.resume(partitions)


def _is_number(text: str, most: int) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= most
