"""Steps between rebalances: what makes no sense is refused with what was meant."""

import pytest

from kgroup.assignors.planning.steps import PARTITIONS_MAX, apply_step, parse_topic
from kgroup.errors import InputError
from tests.assignors.groups import plan

GROUP = plan({"t": 2, "u": 2}, a="t", b="t")


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ("", "a step is 'join ID', 'leave ID' or 'grow TOPIC:N'"),
        ("crash a", "a step is 'join ID'"),
        ("join", "who joins"),
        ("join topics=t", "who joins"),
        ("join a", "member 'a' is in the group already"),
        ("join c colour=red", "'colour=red' is not topics=, instance= or rack="),
        ("join c quickly", "'quickly' is not topics="),
        ("join c rack=1 rack=2", "'rack=2' is not topics="),
        ("join c topics=v", "there is no topic 'v'"),
        ("leave", "who leaves"),
        ("leave a b", "who leaves"),
        ("leave c", "there is no member 'c'; there are a, b"),
        ("grow", "which topic"),
        ("grow t:3 u:3", "which topic"),
        ("grow t", "'t' is not TOPIC:PARTITIONS"),
        ("grow t:1", "topic 't' has 2 partitions, and never loses any"),
        (f"grow t:{PARTITIONS_MAX + 1}", "more than 1000000 partitions"),
    ],
)
def test_a_step_that_makes_no_sense(step: str, why: str) -> None:
    with pytest.raises(InputError) as refused:
        apply_step(GROUP, step)
    assert str(refused.value).startswith(f"--then '{step}': ")
    assert why in str(refused.value)


def test_a_member_may_join_without_any_topic() -> None:
    assert apply_step(GROUP, "join c topics=").members[-1].topics == ()


def test_growing_to_the_same_number_changes_nothing() -> None:
    assert apply_step(GROUP, "grow t:2").topics == GROUP.topics


def test_the_largest_topic_there_may_be() -> None:
    assert parse_topic(f"t:{PARTITIONS_MAX}").partitions == PARTITIONS_MAX
