"""Outcomes of changes: by the answers, and by what is committed afterwards."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from kgroup.operations.model import Change, Position
from kgroup.protocol.topic_partition import TopicPartition

_HINTS: Final = {
    "UNKNOWN_MEMBER_ID": "somebody has joined the group meanwhile",
    "ILLEGAL_GENERATION": "somebody has joined the group meanwhile",
    "NON_EMPTY_GROUP": "the group has members",
    "GROUP_SUBSCRIBED_TO_TOPIC": "a member subscribes to the topic",
    "GROUP_ID_NOT_FOUND": "there is no such group",
}


class Result(StrEnum):
    """The result of a change."""

    DONE = "done"
    """It was answered without an error, or not at all, and reads back as it should."""
    REFUSED = "refused"
    """All is as it was."""
    NOT_TRIED = "not tried"
    UNKNOWN = "unknown"
    """No answer came, and what is committed now is neither old nor new, or it cannot be read."""
    DIFFERS = "differs"
    """It was done, and something else is committed now: another client commits there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A result, with the reason if there is one."""

    result: Result
    why: str = ""

    def text(self) -> str:
        """`done`, `refused: GROUP_AUTHORIZATION_FAILED`."""
        return f"{self.result.value}: {self.why}" if self.why else self.result.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to a step's request: the partitions it refused, and Kafka's error name for each.

    `refused` is None where no answer came, or the whole step was refused.
    """

    refused: Mapping[TopicPartition, str] | None


def outcome(change: Change, answer: Answer | None, now: Mapping[TopicPartition, Position] | None) -> Outcome:
    """The outcome of a change, by its step's answer (None if it was not tried) and the group's commits now.

    `now` is None if they cannot be read: then an answer without an error is not enough.
    """
    if answer is None:
        return Outcome(result=Result.NOT_TRIED)
    if answer.refused is not None and change.place in answer.refused:
        return Outcome(result=Result.REFUSED, why=explained(answer.refused[change.place]))
    if now is None:
        return Outcome(result=Result.UNKNOWN, why="it cannot be read back")
    position = now.get(change.place)
    if position == change.new:
        return Outcome(result=Result.DONE)
    if answer.refused is not None:
        return Outcome(result=Result.DIFFERS, why=f"reads back as {_text(position)}")
    if position == change.old:
        return Outcome(result=Result.REFUSED)
    return Outcome(result=Result.UNKNOWN, why=f"no answer, and now it is {_text(position)}")


def explained(error: str, text: str | None = None) -> str:
    """Kafka's error name, or a text that ends with it, with what it means here."""
    hint = _HINTS.get(error)
    return f"{text or error} ({hint})" if hint else text or error


def _text(position: Position | None) -> str:
    if position is None:
        return "no offset"
    metadata = f" {position.metadata!r}" if position.metadata else ""
    epoch = f" of leader epoch {position.leader_epoch}" if position.leader_epoch >= 0 else ""
    return f"{position.offset}{epoch}{metadata}"
