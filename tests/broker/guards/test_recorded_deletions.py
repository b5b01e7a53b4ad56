"""DeleteTopics as a broker of 4.3.1 answered it, with all rights and with few: fixtures/vectors/README.md."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from kafka.protocol.admin.topics import DeleteTopicsRequest

from kgroup.broker.security.acls import parse_acls
from kgroup.broker.security.authorizer import Authorizer
from kgroup.protocol.error_codes import ErrorCode
from tests.broker.world import BrokerWorld

RECORDED = Path(__file__).parents[3] / "fixtures" / "vectors" / "delete_topics.jsonl"
CASES = [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]
NOBODYS = 1000
"""The ids of topics that are there are lower."""
BOBS = "allow User:ANONYMOUS DESCRIBE topic see prefixed\nallow User:ANONYMOUS DELETE topic del prefixed"


def label(case: dict[str, Any]) -> str:
    given = (" and ".join(f"{key} {value}"[:20] for key, value in each.items()) for each in case["topics"])
    return f"{case['user']} v{case['version']}: {', '.join(given)}"


def request(case: dict[str, Any], ids: dict[str | int, UUID]) -> DeleteTopicsRequest:
    version, topics = case["version"], case["topics"]
    if version < 6:
        return DeleteTopicsRequest(
            version=version, topic_names=[each["name"] for each in topics], timeout_ms=1000
        )
    state = DeleteTopicsRequest.DeleteTopicState
    states = [
        state(version=6, name=each.get("name"), topic_id=ids[each["id"]] if "id" in each else None)
        for each in topics
    ]
    return DeleteTopicsRequest(version=6, topics=states, timeout_ms=1000)


def told(result: Any, version: int, names: dict[UUID, str | int]) -> list[Any]:
    answer = [result.name]
    if version >= 6:
        answer.append(None if result.topic_id is None else names[result.topic_id])
    answer.append(ErrorCode(result.error_code).name)
    if version >= 5:
        answer.append(result.error_message)
    return answer


@pytest.mark.parametrize("case", CASES, ids=label)
def test_a_deletion_is_answered_as_recorded(case: dict[str, Any]) -> None:
    world = BrokerWorld()
    ids: dict[str | int, UUID] = {number: UUID(int=NOBODYS + number) for number in range(1, 6)}
    for name in ("no", "see", "del"):
        world.cluster.create_topic(name, 1, 1, {}, world.now_ms)
        ids[name] = world.cluster.topics[name].spec.topic_id
    if case["user"] == "bob":
        world.cluster.authorizer = Authorizer(parse_acls(BOBS, "acls"))
    results = world.ask(request(case, ids)).responses
    names = {topic_id: name for name, topic_id in ids.items()}
    answers = [told(each, case["version"], names) for each in results]
    assert sorted(answers, key=json.dumps) == sorted(case["answers"], key=json.dumps)
    deleted = {answer[0] for answer in case["answers"] if "NONE" in answer}
    assert {"no", "see", "del"} - world.cluster.topics.keys() == deleted
