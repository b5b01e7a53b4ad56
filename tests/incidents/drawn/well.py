"""Groups with nothing wrong and drawn settings, each of which looks a little like an incident."""

from __future__ import annotations

import random

from tests.incidents.drawn.draws import draw
from tests.incidents.drawn.families import Family
from tests.incidents.world import World


def rolling_restart(world: World, rng: random.Random) -> None:
    """Members closed in order and back, one by one; static ones stay away for less than their session."""
    own = draw(world, rng)
    is_static = rng.random() < 0.4
    members = [
        own.member(n, **({"instance": f"i-{n}"} if is_static else {})) for n in range(rng.randint(2, 6))
    ]
    own.run(200, 600)
    for member in members:
        away_s = rng.uniform(2, own.how["session_s"] * 0.7 if is_static else 40)
        member.restart(away_s)
        own.run(5, 60)
    own.run(30, 200)
    world.healthy("g")


def surge_deployment(world: World, rng: random.Random) -> None:
    """A new pod comes before an old one goes, as a Kubernetes deployment with maxSurge has it."""
    own = draw(world, rng)
    old = own.members(rng.randint(2, 5))
    own.run(200, 600)
    for number, member in enumerate(old):
        own.member(f"new-{number}")
        own.run(4, 40)
        member.close()
        own.run(0, 15)
    own.run(60, 200)
    world.healthy("g")


def catching_up(world: World, rng: random.Random) -> None:
    """A burst, or a pause of the readers; the lag comes down."""
    own = draw(world, rng, per_s=rng.choice((1.0, 3.0)), speed=rng.choice((200.0, 2000.0)))
    members = own.members(rng.randint(1, 3))
    own.run(200, 500)
    if rng.random() < 0.5:
        for member in members:
            member.close()
        own.run(100, 1200)
        for member in members:
            member.join()
    else:
        world.topics["t"].write(40)
        own.run(20, 60)
        world.topics["t"].write(own.per_s)
    own.run(30, 90)
    world.healthy("g")


def rare_commits(world: World, rng: random.Random) -> None:
    """Commits once in a minute or in ten; the log ends in the middle of an interval."""
    own = draw(world, rng, commit_s=rng.choice((30.0, 60.0, 300.0)))
    own.members(rng.randint(1, 3))
    world.run(own.how["commit_s"] * rng.uniform(8, 12) + 60, 1000)
    world.healthy("g")


def quiet(world: World, rng: random.Random) -> None:
    """Nothing is written for a while, or any more."""
    own = draw(world, rng)
    own.members(rng.randint(1, 3))
    own.run(200, 600)
    world.topics["t"].writes = False
    own.run(300, 3000)
    if rng.random() < 0.5:
        world.topics["t"].writes = True
        own.run(20, 200)
    world.healthy("g")


def scaled(world: World, rng: random.Random) -> None:
    """Members are added once or twice, and taken away once."""
    own = draw(world, rng)
    own.members(rng.randint(1, 3))
    own.run(200, 600)
    for wave in range(rng.randint(1, 2)):
        pods = [own.member(f"more-{wave}-{n}") for n in range(rng.randint(1, 3))]
        own.run(60, 900)
        for pod in pods:
            pod.close()
        own.run(60, 600)
    world.healthy("g")


def one_loss(world: World, rng: random.Random) -> None:
    """A process dies once; the others take over, and another one comes."""
    own = draw(world, rng)
    members = own.members(rng.randint(2, 4))
    own.run(200, 600)
    rng.choice(members).kill()
    world.run(own.how["session_s"] + rng.uniform(5, 60))
    own.member("new")
    own.run(100, 400)
    world.healthy("g")


def batch(world: World, rng: random.Random) -> None:
    """A job that comes now and then, reads all there is, and goes."""
    own = draw(world, rng, speed=5000.0)
    for number in range(rng.randint(3, 8)):
        job = own.member(number if rng.random() < 0.5 else "job")
        own.run(30, 90)
        job.close()
        own.run(100, 900)
    job = own.member("last")
    own.run(30, 60)
    world.healthy("g")


def long_records(world: World, rng: random.Random) -> None:
    """Some records take long, all well within max.poll.interval.ms."""
    own = draw(world, rng, per_s=0.5, poll_interval_s=300.0, partitions=rng.choice((2, 4)))
    members = own.members(2)
    own.run(100, 300)
    for _ in range(rng.randint(3, 8)):
        own.run(60, 200)
        rng.choice(members).busy(rng.uniform(20, 80))
    own.run(100, 200)
    world.healthy("g")


def spares(world: World, rng: random.Random) -> None:
    """More members than partitions, or uneven keys, and all is read."""
    own = draw(world, rng, rates=None)
    for log in world.topics["t"].partitions:
        log.per_s *= rng.choice((0.2, 1, 5))
    own.members(rng.randint(1, 6))
    own.run(300, 1200)
    world.healthy("g")


def moved_once(world: World, rng: random.Random) -> None:
    """The coordinator moves, and the group goes on."""
    own = draw(world, rng)
    own.members(rng.randint(1, 3))
    own.run(200, 600)
    world.move_coordinator("g")
    own.run(60, 300)
    world.healthy("g")


WELL: dict[str, Family] = {
    function.__name__: function
    for function in (
        rolling_restart,
        surge_deployment,
        catching_up,
        rare_commits,
        quiet,
        scaled,
        one_loss,
        batch,
        long_records,
        spares,
        moved_once,
    )
}
