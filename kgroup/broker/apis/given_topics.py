"""The topics that a DeleteTopics request gives, by name or by id, and what is unclear about them.

Source: ControllerApis.deleteTopics, and a broker of 4.3.1 that was asked
(fixtures/vectors/delete_topics.jsonl): doubts come before rights. Its results come in any order.
"""

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple
from uuid import UUID

from kgroup.wire.frames import required


class Doubt(StrEnum):
    """Why nothing is deleted for what a request gives; the value is what Kafka says with INVALID_REQUEST."""

    NAME_WITH_ID = "You may not specify both topic name and topic id."
    NOTHING = "Neither topic name nor id were specified."
    NAME_TWICE = "Duplicate topic name."
    ID_TWICE = "Duplicate topic id."
    ID_OF_NAME = "The provided topic name maps to an ID that was already supplied."


_SAID_EACH_TIME: Final = (Doubt.NAME_WITH_ID, Doubt.NOTHING)


class GivenTopic(NamedTuple):
    """One entry of a request; a proper one has either a name or an id."""

    name: str | None
    topic_id: UUID | None


def given_topics(body: Any, version: int) -> list[GivenTopic]:
    """What a request gives, in its order and as often as it does."""
    if version >= 6:
        return [GivenTopic(each.name, each.topic_id) for each in required(body.topics)]
    return [GivenTopic(name, None) for name in required(body.topic_names)]


def doubtful(given: Sequence[GivenTopic]) -> dict[GivenTopic, Doubt]:
    """Those of the entries that show by themselves that nothing can be deleted for them."""
    doubts = {each: _doubt(each, times) for each, times in Counter(given).items()}
    return {each: doubt for each, doubt in doubts.items() if doubt is not None}


def _doubt(given: GivenTopic, times: int) -> Doubt | None:
    if given.name is not None and given.topic_id is not None:
        return Doubt.NAME_WITH_ID
    if given.name is None and given.topic_id is None:
        return Doubt.NOTHING
    if times > 1:
        return Doubt.ID_TWICE if given.name is None else Doubt.NAME_TWICE
    return None


def deletions(given: Sequence[GivenTopic], id_of: dict[str, UUID]) -> list[tuple[GivenTopic, Doubt | None]]:
    """One item for each answer: what to delete, or the doubt for which it is kept; `id_of` are all topics.

    A topic given by its name and by its id has one answer, besides that to an id given twice.
    """
    answers: dict[GivenTopic, Doubt | None] = dict.fromkeys(given)
    answers |= doubtful(given)
    for each in list(answers):
        by_id = GivenTopic(None, id_of.get(each.name) if each.name is not None else None)
        if each.topic_id is not None or by_id.topic_id is None or answers[each] or by_id not in answers:
            continue
        answers[each] = Doubt.ID_OF_NAME
        if answers[by_id] is None:
            del answers[by_id]
    times = Counter(given)
    return [
        (each, doubt)
        for each, doubt in answers.items()
        for _ in range(times[each] if doubt in _SAID_EACH_TIME else 1)
    ]
