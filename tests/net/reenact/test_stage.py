"""A plan played over TCP, and what the log of the brokers tells of it."""

import asyncio

import kgroup
from kgroup.history.reenactment.model import (
    CommitOffsets,
    Die,
    Join,
    Leave,
    Plan,
    PlannedMember,
    PlannedTopic,
    Produce,
)
from kgroup.history.timeline.model import CauseKind, Partition
from kgroup.net.reenact.actor import scaled_settings
from kgroup.net.reenact.stage import Stage, settings_of, topics_of
from kgroup.net.serve.running import start_cluster

FIRST = Partition("orders", 0)


def member(name, instance_id=None):
    return PlannedMember(
        name=name, client_id=name, client_host="/h", instance_id=instance_id, topics=("orders",)
    )


def join(name, at_ms, session_timeout_ms=30_000):
    return Join(
        at_ms=at_ms,
        member=name,
        topics=("orders",),
        assignors=("range",),
        session_timeout_ms=session_timeout_ms,
        max_poll_interval_ms=60_000,
    )


def plan(*acts, members, duration_ms):
    return Plan(
        group_id="g",
        start_ms=0,
        duration_ms=duration_ms,
        topics=(PlannedTopic(name="orders", partitions=2),),
        members=tuple(member(name) for name in members),
        acts=acts,
    )


def played(made, folder, *, speed=1.0, replaced=None, stop_at_once=False):
    told, said = [], []

    async def run():
        server = await start_cluster(
            settings=settings_of(made, speed), topics=topics_of(made), data_dir=folder, warn=said.append
        )
        try:
            stop = asyncio.Event()
            if stop_at_once:
                stop.set()
            stage = Stage(made, server, speed=speed, replaced=replaced, tell=told.append, say=said.append)
            return await stage.play(stop)
        finally:
            server.stop()

    return asyncio.run(run()), told, said


def test_members_come_commit_and_go_and_the_log_says_so(tmp_path):
    made = plan(
        join("a", 0),
        join("b", 1_500),
        Produce(at_ms=2_900, partition=FIRST, records=7),
        CommitOffsets(at_ms=3_000, member="a", offsets=((FIRST, 7),)),
        Leave(at_ms=3_500, member="b"),
        members="ab",
        duration_ms=5_000,
    )
    ended, told, said = played(made, tmp_path)
    history = kgroup.replay(kgroup.open_logs(tmp_path), "g")
    assert ended and not said
    assert [type(act) for act in told] == [Join, Join, Leave]
    assert [cause.kind for each in history.generations for cause in each.causes][:2] == [
        CauseKind.FIRST_JOIN,
        CauseKind.JOIN,
    ]
    assert [[who.client_id for who in each.left] for each in history.generations] == [[], [], ["b"]]
    assert history.commits == 1


def test_the_place_of_a_replaced_member_stays_free_and_its_acts_are_told(tmp_path):
    made = plan(join("a", 0), join("b", 10), Die(at_ms=20, member="b"), members="ab", duration_ms=1_000)
    _, told, _ = played(made, tmp_path, replaced=made.member("b"))
    history = kgroup.replay(kgroup.open_logs(tmp_path), "g")
    assert [act.member for act in told] == ["a", "b", "b"]
    assert {who.client_id for each in history.generations for who in each.roster.members} == {"a"}


def test_who_stops_it_ends_it_at_once(tmp_path):
    made = plan(join("a", 3_600_000), members="a", duration_ms=3_600_000)
    assert played(made, tmp_path, stop_at_once=True) == (False, [], [])


def test_timeouts_are_divided_and_what_is_too_short_is_said():
    made = plan(members="a", duration_ms=1)
    settings, clamped = scaled_settings(made, join("a", 0), 10.0)
    assert (settings.session_timeout_ms, settings.max_poll_interval_ms, clamped) == (3_000, 6_000, None)
    settings, clamped = scaled_settings(made, join("a", 0), 50.0)
    assert settings.session_timeout_ms == 1_000
    assert clamped == "session timeout is 1 s instead of 0.6 s"
    assert scaled_settings(made, join("a", 0), 0.5)[0].session_timeout_ms == 60_000
