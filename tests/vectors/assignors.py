"""Questions put to Kafka's own assignors (`fixtures/vectors/assignors/README.md`), one case to a round.

Run as `python -m tests.vectors assignors FILE…`; a name ending in `.gz` is unpacked.
"""

import base64
import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from kgroup.assignors.model import AssignorError, GroupMember, TargetMember, Topic
from kgroup.assignors.planning.flaws import plan_flaws
from kgroup.assignors.planning.plan import GroupPlan, PlanMember, new_plan
from kgroup.assignors.planning.score import kept, spread
from kgroup.assignors.registry import CLIENT_ASSIGNORS, OLDER_CLIENT_ASSIGNORS, SERVER_ASSIGNORS
from kgroup.errors import KgroupError
from kgroup.protocol.topic_partition import TopicPartition
from tests.vectors.case import Case, VectorError

Question = dict[str, Any]


def cases(path: Path) -> Iterator[Case]:
    """Ask every round of the file; one with answers of older versions is asked once for each."""
    for case in questions(path):
        try:
            for number, question in enumerate(case["rounds"]):
                name = f"{case['id']}#{number}"
                yield Case(name, failure_of(case["assignor"], question))
                for version, expected in question.get("other_versions", {}).items():
                    if version not in OLDER_CLIENT_ASSIGNORS:
                        continue
                    failure = older_failure_of(case["assignor"], question, version, expected)
                    yield Case(f"{name}@{version}", failure)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise VectorError(f"{case.get('id')}: not a case of assignors: {error!r}") from error


def questions(path: Path) -> Iterator[Question]:
    """The cases of a file, as read."""
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as lines:
        try:
            for number, line in enumerate(lines, 1):
                yield _question(number, line)
        except (EOFError, zlib.error) as error:
            raise VectorError(f"cannot be unpacked: {error}") from error


def _question(number: int, line: bytes) -> Question:
    try:
        case = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise VectorError(f"line {number} is no JSON: {error}") from error
    if not isinstance(case, dict) or "rounds" not in case or "assignor" not in case:
        raise VectorError(f"line {number} has no assignor or no rounds")
    return case


def failure_of(assignor: str, question: Question) -> str | None:
    """What differs between the answer of Kafka 4.3.1 and ours; None if nothing does."""
    if is_server_side(question):
        return _server_failure(assignor, question)
    return _client_failure(assignor, question)


def is_server_side(question: Question) -> bool:
    """Whether the question is of the form put to a coordinator, rather than to a leader."""
    return "subscription_type" in question


def older_failure_of(assignor: str, question: Question, version: str, expected: Question) -> str | None:
    """The same against the answer of an older version."""
    topics, members = client_question(question)
    older = OLDER_CLIENT_ASSIGNORS[version][assignor]
    try:
        assignment = older.assign(members, topics)
    except KgroupError as error:
        return _error_failure(error, expected)
    if "error" in expected:
        return f"should throw {expected['error']}, answered {assignment}"
    differing = _differing_member({m: runs(p) for m, p in assignment.items()}, expected["assignment"])
    if differing or "next_user_data" not in expected:
        return differing
    remembered = {m: older.next_user_data(p, question["generation"]) for m, p in assignment.items()}
    user_data = {m: data and data.hex() for m, data in remembered.items()}
    return _differing_member(user_data, expected["next_user_data"])


def _client_failure(name: str, question: Question) -> str | None:
    assignor = CLIENT_ASSIGNORS[name]
    topics, members = client_question(question)
    expected = question["expect"]
    try:
        assignment = assignor.assign(members, topics)
    except KgroupError as error:
        return _error_failure(error, expected)
    if "error" in expected:
        return f"should throw {expected['error']}, answered {assignment}"
    differing = _differing_member({m: runs(p) for m, p in assignment.items()}, expected["assignment"])
    if differing:
        return differing
    generation = question.get("generation", 1)
    user_data = {m: assignor.next_user_data(p, generation) for m, p in assignment.items()}
    answers: dict[str, object] = {
        "spread": list(spread(assignment)),
        "next_user_data": {m: None if data is None else data.hex() for m, data in user_data.items()},
        "flaws": [flaw.value for flaw in plan_flaws(name, _plan(topics, members), assignment)],
        "kept": kept(name, members, assignment),
    }
    for field, answer in answers.items():
        # Flaws are recorded only where there are any, the others only for some assignors.
        wanted = expected.get("flaws", []) if field == "flaws" else expected.get(field, answer)
        if answer != wanted:
            return f"{field}: expected {wanted}, got {answer}"
    return None


def _plan(topics: Sequence[Topic], members: Sequence[GroupMember]) -> GroupPlan:
    return new_plan(
        [
            PlanMember(member_id=member.member_id, topics=member.topics, owned=tuple(member.owned_partitions))
            for member in members
        ],
        topics,
    )


def _server_failure(name: str, question: Question) -> str | None:
    topics, members = server_question(question)
    assignable = question.get("assignable")
    limits = None if assignable is None else {topic: list(numbers) for topic, numbers in assignable}
    expected = question["expect"]
    try:
        assignment = SERVER_ASSIGNORS[name].assign(members, topics, limits)
    except KgroupError as error:
        return _error_failure(error, expected)
    if "error" in expected:
        return f"should throw {expected['error']}, answered {assignment}"
    answer = {m: [[topic, numbers] for topic, numbers in topics.items()] for m, topics in assignment.items()}
    return _differing_member(answer, expected["assignment"])


def _error_failure(error: KgroupError, expected: Question) -> str | None:
    if not isinstance(error, AssignorError):
        return f"refused: {error}"
    if "error" not in expected:
        return f"threw {error}"
    wanted = expected["error"]
    if error.java_class != wanted["class"]:
        return f"threw {error.java_class}, expected {wanted['class']}"
    if "message" in wanted and error.java_message != wanted["message"]:
        return f"message {error.java_message!r}, expected {wanted['message']!r}"
    return None


def _differing_member(answer: dict[str, Any], expected: dict[str, Any]) -> str | None:
    for member in sorted(answer.keys() | expected.keys()):
        if answer.get(member) != expected.get(member):
            return f"{member}: expected {expected.get(member)}, got {answer.get(member)}"
    return None


def runs(partitions: list[TopicPartition]) -> list[list[Any]]:
    """A member's list as the vectors write it: runs of one topic, in order."""
    written: list[list[Any]] = []
    for topic, number in partitions:
        if not written or written[-1][0] != topic:
            written.append([topic, []])
        written[-1][1].append(number)
    return written


def client_question(question: Question) -> tuple[list[Topic], list[GroupMember]]:
    """Topics and members of a client-side round."""
    members = [
        GroupMember(
            member_id=member["id"],
            topics=tuple(member["topics"]),
            group_instance_id=member.get("instance"),
            owned_partitions=tuple((t, p) for t, numbers in member.get("owned", ()) for p in numbers),
            generation=member.get("generation", -1),
            rack_id=member.get("rack"),
            user_data=None if member.get("user_data") is None else bytes.fromhex(member["user_data"]),
        )
        for member in question["members"]
    ]
    return [_topic(topic) for topic in question["topics"]], members


def server_question(question: Question) -> tuple[list[Topic], list[TargetMember]]:
    """Topics and members of a server-side round."""
    members = [
        TargetMember(
            member_id=member["id"],
            topics=tuple(member["topics"]),
            group_instance_id=member.get("instance"),
            assigned={topic: list(numbers) for topic, numbers in member.get("assigned", ())},
        )
        for member in question["members"]
    ]
    return [_topic(topic) for topic in question["topics"]], members


def _topic(topic: Question) -> Topic:
    topic_id = topic.get("id")
    return Topic(
        name=topic["name"],
        partitions=topic.get("partitions", 0),
        partition_ids=tuple(topic["ids"]) if "ids" in topic else None,
        replica_racks=tuple(tuple(racks) for racks in topic.get("replica_racks", ())),
        topic_id=None if topic_id is None else UUID(bytes=base64.urlsafe_b64decode(topic_id + "==")),
        deleted=topic.get("deleted", False),
    )
