"""Rebalances in a row, and what happens to a group in between."""

import pytest

from kgroup.assignors.model import AssignorError
from kgroup.assignors.planning.rounds import run_rounds
from kgroup.assignors.planning.steps import apply_step, parse_topic
from kgroup.errors import InputError
from tests.assignors.groups import named, plan


def test_a_member_that_joins_has_the_topics_that_all_others_share():
    joined = apply_step(plan({"t": 2, "u": 2}, a="t u"), "join b instance=i rack=r")
    newcomer = joined.members[-1]
    assert (newcomer.topics, newcomer.group_instance_id, newcomer.rack_id) == (("t", "u"), "i", "r")


def test_a_member_that_joins_must_say_its_topics_where_the_others_differ():
    mixed = plan({"t": 2, "u": 2}, a="t", b="u")
    with pytest.raises(InputError, match="subscriptions differ"):
        apply_step(mixed, "join c")
    assert apply_step(mixed, "join c topics=u,t").members[-1].topics == ("u", "t")


def test_the_first_member_of_an_empty_group_has_all_topics():
    assert apply_step(plan({"t": 2, "u": 2}), "join a").members[0].topics == ("t", "u")


def test_a_topic_that_grows_and_one_that_is_new():
    grown = apply_step(apply_step(plan({"t": 2}, a="t"), "grow t:3"), "grow u:1")
    assert [(topic.name, topic.partitions) for topic in grown.topics] == [("t", 3), ("u", 1)]


@pytest.mark.parametrize("text", ["t", "t:", ":3", "t:x", "t:-1", "t:1.5", "t:²"])
def test_what_is_no_topic_with_a_count(text):
    with pytest.raises(InputError):
        parse_topic(text)


def test_a_topic_name_may_hold_a_colon():
    assert parse_topic("a:b:3").name == "a:b"


def test_each_round_starts_from_what_the_one_before_handed_out():
    rounds = list(run_rounds(plan({"t": 4}, a="t", b="t"), "sticky", ["leave a", "join c"]))
    assert [played.what for played in rounds] == ["start", "leave a", "join c"]
    assert named(rounds[1].assignment) == {"b": "t-0 t-1 t-2 t-3"}
    assert rounds[2].score.kept == rounds[2].score.moved == 2


def test_where_kafka_throws_the_round_says_so_and_the_group_stays_as_it_was():
    _, failed, after = run_rounds(plan({"t": 2}, a="t"), "roundrobin", ["leave a", "join b topics=t"])
    assert isinstance(failed.error, AssignorError)
    assert failed.assignment is None
    assert named(after.assignment) == {"b": "t-0 t-1"}


def test_a_step_that_makes_no_sense_says_which():
    with pytest.raises(InputError, match="--then 'leave x': there is no member 'x'"):
        list(run_rounds(plan({"t": 2}, a="t"), "range", ["leave x"]))
