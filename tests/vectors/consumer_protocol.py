"""`consumer_protocol.jsonl`: subscriptions and assignments as bytes, by Kafka's own `ConsumerProtocol`.

A line with `value` was encoded by Kafka as `hex`; every line was read back as `decoded`, or refused
with `error`. Kafka gives a subscription's partitions as one list, so a topic that stands twice in the
bytes is compared as one, and one without partitions does not show. Wordings of errors are our own and
are not compared.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from kgroup.errors import DecodeError
from kgroup.protocol.subscription import (
    Assignment,
    NamedTopicPartitions,
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from tests.vectors.case import Case, VectorError


def cases(path: Path) -> Iterator[Case]:
    """One case for each line: what kgroup reads, and what it writes where the line says what was written."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            vector = json.loads(line)
            name = f"{vector['kind']} {vector['id']}"
            failure = _decoding(vector) or _encoding(vector)
        except (ValueError, KeyError, TypeError) as error:
            raise VectorError(f"line {number}: {error!r}") from error
        yield Case(name, failure)


def _decoding(vector: dict[str, Any]) -> str | None:
    data = bytes.fromhex(vector["hex"])
    try:
        decoded = _decode(vector["kind"], data)
    except DecodeError as error:
        return None if "error" in vector else f"refused ({error}), but Kafka reads {vector['decoded']}"
    if "error" in vector:
        return f"read as {decoded}, but Kafka refuses: {vector['error']}"
    return None if decoded == vector["decoded"] else f"read as {decoded}, by Kafka as {vector['decoded']}"


def _decode(kind: str, data: bytes) -> dict[str, Any]:
    if kind == "subscription":
        subscription = decode_subscription(data)
        return {
            "topics": list(subscription.topics),
            "user_data": _hex(subscription.user_data),
            "owned": _by_topic(subscription.owned_partitions),
            "generation": subscription.generation,
            "rack": subscription.rack,
        }
    if kind == "assignment":
        assignment = decode_assignment(data)
        return {
            "partitions": _by_topic(assignment.assigned_partitions),
            "user_data": _hex(assignment.user_data),
        }
    raise ValueError(f"unknown kind {kind!r}")


def _encoding(vector: dict[str, Any]) -> str | None:
    if "value" not in vector:
        return None
    value, version = vector["value"], vector["version"]
    user_data = None if value["user_data"] is None else bytes.fromhex(value["user_data"])
    if vector["kind"] == "subscription":
        encoded = encode_subscription(
            Subscription(
                topics=tuple(value["topics"]),
                user_data=user_data,
                owned_partitions=_named(value["owned"]),
                generation_id=value["generation"],
                rack_id=value["rack"],
            ),
            version,
        )
    else:
        assignment = Assignment(assigned_partitions=_named(value["partitions"]), user_data=user_data)
        encoded = encode_assignment(assignment, version)
    return None if encoded.hex() == vector["hex"] else f"wrote {encoded.hex()}, Kafka {vector['hex']}"


def _named(partitions: list[list[Any]]) -> tuple[NamedTopicPartitions, ...]:
    return tuple(
        NamedTopicPartitions(topic=topic, partitions=tuple(numbers)) for topic, numbers in partitions
    )


def _by_topic(partitions: Iterable[NamedTopicPartitions]) -> list[list[Any]]:
    merged: dict[str, list[int]] = {}
    for each in partitions:
        merged.setdefault(each.topic, []).extend(each.partitions)
    return [[topic, numbers] for topic, numbers in merged.items() if numbers]


def _hex(data: bytes | None) -> str | None:
    return None if data is None else data.hex()
