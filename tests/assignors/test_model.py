"""What every assignor refuses, and how it says that Kafka's would throw."""

from uuid import UUID

import pytest

from kgroup.assignors.model import (
    AssignorError,
    EndlessError,
    GroupMember,
    TargetMember,
    Topic,
    require_distinct,
)
from kgroup.assignors.registry import ASSIGNORS, CLIENT_ASSIGNORS, SERVER_ASSIGNORS, names_of_version
from kgroup.assignors.server.coordinator_view import coordinator_view
from kgroup.errors import InputError
from tests.assignors.groups import members, topics

TOPIC = Topic(name="t", partitions=2, topic_id=UUID(int=1))


@pytest.mark.parametrize("name", list(CLIENT_ASSIGNORS))
def test_a_member_that_is_there_twice_is_refused_by_every_client_side_assignor(name: str) -> None:
    twice = [*members(a="t"), *members(a="t")]
    with pytest.raises(InputError, match="member 'a' is given twice"):
        CLIENT_ASSIGNORS[name].assign(twice, topics(t=2))


@pytest.mark.parametrize("name", list(SERVER_ASSIGNORS))
def test_a_member_that_is_there_twice_is_refused_by_every_server_side_assignor(name: str) -> None:
    twice = [TargetMember(member_id="a", topics=("t",), assigned={})] * 2
    with pytest.raises(InputError, match="member 'a' is given twice"):
        SERVER_ASSIGNORS[name].assign(twice, [TOPIC])


def test_members_that_differ_are_let_through() -> None:
    require_distinct([GroupMember(member_id="a", topics=()), GroupMember(member_id="b", topics=())])


def test_a_server_side_assignor_needs_topic_ids() -> None:
    with pytest.raises(InputError, match="topic 't': a server-side assignor needs its topic id"):
        coordinator_view([], topics(t=2))


def test_a_topic_that_a_member_has_must_be_among_the_topics() -> None:
    member = TargetMember(member_id="a", topics=("t",), assigned={"gone": (0,)})
    with pytest.raises(InputError, match="member 'a', assigned: topic 'gone' is not among the topics"):
        coordinator_view([member], [TOPIC])


def test_an_error_of_kafkas_carries_its_class_and_message() -> None:
    error = AssignorError("java.lang.ArithmeticException", "/ by zero", "the group has no members")
    assert (error.java_class, error.java_message) == ("java.lang.ArithmeticException", "/ by zero")
    assert "/ by zero" in str(error) and "the group has no members" in str(error)


def test_an_assignor_that_never_returns_is_said_to_do_so() -> None:
    assert "would never return" in str(EndlessError())


@pytest.mark.parametrize(
    ("version", "some", "none"),
    [("2.4.1", {"sticky"}, {"uniform"}), ("4.3", {"uniform", "sticky"}, set()), (None, {"uniform"}, set())],
)
def test_the_assignors_of_a_kafka_version(version: str | None, some: set[str], none: set[str]) -> None:
    names = set(names_of_version(version))
    assert some <= names
    assert not none & names
    assert names <= set(ASSIGNORS)
