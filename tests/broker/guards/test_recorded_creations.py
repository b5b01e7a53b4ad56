"""CreateTopics as a broker of 4.3.1 answered it, with all rights and with few: fixtures/vectors/README.md."""

import json
from pathlib import Path
from typing import Any

import pytest
from kafka.protocol.admin.configs import DescribeConfigsRequest
from kafka.protocol.admin.topics import CreateTopicsRequest

from kgroup.broker.security.acls import parse_acls
from kgroup.broker.security.authorizer import Authorizer
from kgroup.protocol.error_codes import ErrorCode
from tests.broker.world import BrokerWorld

RECORDED = Path(__file__).parents[3] / "fixtures" / "vectors" / "create_topics.jsonl"
CASES = [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]
BOBS = "allow User:ANONYMOUS CREATE topic mk- prefixed"


def label(case: dict[str, Any]) -> str:
    topics = [" ".join(map(str, each.values()))[:60] for each in case["topics"]]
    return f"{case['user']}{' validates' if case['validate_only'] else ''}: {', '.join(topics)}"


def request(case: dict[str, Any]) -> CreateTopicsRequest:
    topic = CreateTopicsRequest.CreatableTopic
    config = topic.CreatableTopicConfig
    topics = [
        topic(
            version=7,
            name=each["name"],
            num_partitions=each["partitions"],
            replication_factor=each["replicas"],
            assignments=[],
            configs=[config(version=7, name=name, value=value) for name, value in each["configs"]],
        )
        for each in case["topics"]
    ]
    return CreateTopicsRequest(version=7, topics=topics, timeout_ms=1000, validate_only=case["validate_only"])


def described(world: BrokerWorld, topic: str, names: list[str]) -> dict[str, list[Any]]:
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        version=4, resource_type=2, resource_name=topic, configuration_keys=names
    )
    [result] = world.ask(
        DescribeConfigsRequest(
            version=4, resources=[resource], include_synonyms=False, include_documentation=False
        )
    ).results
    return {each.name: [each.value, each.config_source, each.config_type] for each in result.configs}


@pytest.mark.parametrize("case", CASES, ids=label)
def test_a_creation_is_answered_as_recorded(case: dict[str, Any]) -> None:
    world = BrokerWorld(properties={"num.partitions": "3"})
    world.cluster.create_topic("there", 2, 1, {}, world.now_ms)
    if case["user"] == "bob":
        world.cluster.authorizer = Authorizer(parse_acls(BOBS, "acls"))
    given = {each["name"]: {name for name, _ in each["configs"]} for each in case["topics"]}
    answers = [
        [
            each.name,
            ErrorCode(each.error_code).name,
            each.error_message,
            each.num_partitions,
            each.replication_factor,
            {
                config.name: [config.value, config.config_source]
                for config in each.configs
                if config.name in given[each.name]
            },
        ]
        for each in world.ask(request(case)).topics
    ]
    assert sorted(answers, key=json.dumps) == sorted(case["answers"], key=json.dumps)
    made = set() if case["validate_only"] else {answer[0] for answer in answers if answer[1] == "NONE"}
    assert world.cluster.topics.keys() == {"there", *made}
    if "described" in case:
        topic = case["topics"][0]
        assert described(world, topic["name"], sorted(given[topic["name"]])) == case["described"]
