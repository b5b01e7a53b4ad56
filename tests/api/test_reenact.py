"""Real groups played again: the second log tells the first one's story."""

from pathlib import Path

import pytest

import kgroup
from kgroup.api.reenact import Reenactment, plan_reenactment, plan_reenactments, reenact_virtually
from kgroup.errors import InputError
from kgroup.history.reenactment.model import (
    CommitOffsets,
    Die,
    Grow,
    Join,
    Leave,
    Produce,
    Rejoin,
    Resubscribe,
)

FIXTURES = Path(__file__).parents[2] / "fixtures"
GROUPS_PLAYED = {"0.10.1.1": 18, "1.1.1": 24, "2.4.1": 29, "3.9.1": 29, "4.3.1": 28}


def lives(version):
    return kgroup.open_logs(FIXTURES / version / "lives")


def planned(version, group, **options):
    return plan_reenactment(lives(version), group, **options)


def acts_of(plan, kind):
    return [act for act in plan.acts if isinstance(act, kind)]


@pytest.mark.parametrize("version", GROUPS_PLAYED)
def test_almost_all_generations_of_recorded_groups_come_out_the_same(version):
    made = plan_reenactments(lives(version), ["*"])
    scores = [reenact_virtually(each) for each in made.values() if isinstance(each, Reenactment)]
    assert len(scores) == GROUPS_PLAYED[version]
    assert sum(score.agreeing for score in scores) >= 0.97 * sum(score.longer for score in scores)
    assert sum(score.moved for score in scores) >= 0.96 * sum(score.longer for score in scores)


def test_the_kept_log_has_the_times_and_commits_of_the_original(tmp_path):
    made = planned("3.9.1", "assign-range")
    reenact_virtually(made, tmp_path / "again")
    again = kgroup.replay(kgroup.open_logs(tmp_path / "again"), "assign-range")
    apart_ms = [
        abs(new.roster.at_ms - old.roster.at_ms)
        for new, old in zip(again.generations, made.original, strict=True)
    ]
    assert max(apart_ms) < 1_000
    assert again.commits == 150


def test_the_same_plan_gives_the_same_log(tmp_path):
    made = planned("2.4.1", "assign-cooperative")
    logs = []
    for name in ("one", "two"):
        reenact_virtually(made, tmp_path / name)
        logs.append([file.read_bytes() for file in sorted((tmp_path / name).rglob("*.log"))])
    assert logs[0] == logs[1]


def test_a_folder_that_is_in_use_is_refused(tmp_path):
    (tmp_path / "there").write_text("")
    with pytest.raises(InputError, match=r"--keep .*not empty; name"):
        reenact_virtually(planned("3.9.1", "nightly-idle"), tmp_path)


def test_who_expired_dies_a_session_before_and_who_left_closes():
    plan = planned("3.9.1", "orders-app").plan
    (leave,), (die,) = acts_of(plan, Leave), acts_of(plan, Die)
    assert (leave.member, die.member) == ("grow-2", "grow-victim")
    joins = {act.member: act for act in acts_of(plan, Join)}
    assert joins["grow-victim"].session_timeout_ms == 5_000
    assert leave.at_ms < joins["grow-victim"].at_ms < die.at_ms


def test_what_the_log_says_of_topics_is_in_the_plan():
    grown = planned("3.9.1", "assign-range").plan
    assert {topic.name: topic.partitions for topic in grown.topics} == {"inventory_stock": 2, "payments": 3}
    assert [(act.topic, act.partitions) for act in acts_of(grown, Grow)] == [("inventory_stock", 4)]
    switched = planned("3.9.1", "topic-switcher").plan
    assert [act.topics for act in acts_of(switched, Resubscribe)] == [("inventory_stock",)]


def test_a_round_without_a_change_is_the_leaders():
    assert [act.member for act in acts_of(planned("1.1.1", "kafka-python-app").plan, Rejoin)] == ["kpy-1"]


def test_records_come_before_the_commits_that_show_them():
    plan = planned("3.9.1", "orders-app").plan
    come = {}
    for act in plan.acts:
        if isinstance(act, Produce):
            come[act.partition] = come.get(act.partition, 0) + act.records
        elif isinstance(act, CommitOffsets):
            assert all(offset <= come.get(partition, 0) for partition, offset in act.offsets)
    assert come


def test_a_part_of_the_time_begins_with_those_who_were_there():
    whole = planned("3.9.1", "orders-app")
    third_ms, fourth_ms = (whole.original[place].roster.at_ms for place in (2, 3))
    part = planned("3.9.1", "orders-app", since_ms=third_ms + 1_000, until_ms=fourth_ms + 1_000)
    assert [act.member for act in acts_of(part.plan, Join)] == ["grow-1", "grow-2", "grow-3"]
    assert [act.member for act in acts_of(part.plan, Leave)] == ["grow-2"]
    assert len(part.original) == 2


def test_more_partitions_than_the_log_shows():
    plan = planned("3.9.1", "nightly-idle", partitions={"audit": 9}).plan
    assert [(topic.name, topic.partitions) for topic in plan.topics] == [("audit", 9)]


@pytest.mark.parametrize(
    ("group", "why"),
    [
        ("trades-848", "a consumer group; only classic ones can be re-enacted"),
        ("share-queue", "a share group; only classic ones"),
        ("flow-tally", "a streams group; only classic ones"),
        ("connect-sink", "its members are not consumers, their protocol type is 'connect'"),
        ("cron-exporter", "no members in this log"),
    ],
)
def test_what_cannot_be_played_is_refused_in_one_line(group, why):
    with pytest.raises(InputError, match=f"group {group}: {why}"):
        planned("4.3.1", group)


def test_a_member_is_named_by_plan_client_or_instance():
    made = planned("3.9.1", "ledger-static")
    assert {made.member(name).client_id for name in ("rack1-a", "static-a")} == {"static-a"}
    with pytest.raises(InputError, match="--replace nobody: no such member"):
        made.member("nobody")


@pytest.mark.parametrize("version", ["2.4.1", "4.3.1"])
def test_a_static_member_that_was_taken_out_leaves(version):
    made = reenact_virtually(planned(version, "ledger-static"))
    assert made.agreeing == made.longer == 2
