"""Two processes with one instance id, and what only looks like it."""

from itertools import pairwise

import pytest

from kgroup.history.timeline.duels import find_duels
from kgroup.history.timeline.model import Grade, Pattern, Takeover
from tests.history.group_log import GroupLog, member

ONE = ("client", "/10.0.0.1")
OTHER = ("client", "/10.0.0.2")


def takeovers(
    count: int,
    *,
    quiet_ms: int | None = 400,
    usual_ms: int | None = 2_000,
    every_ms: int = 8_000,
    names: tuple[tuple[str, str], ...] = (ONE,),
    instance: str = "till-1",
) -> list[Takeover]:
    ids = [f"{instance}-{number}" for number in range(count + 1)]
    return [
        Takeover(
            instance_id=instance,
            at_ms=number * every_ms,
            generation=2,
            old_id=old,
            new_id=new,
            before=names[number % len(names)],
            after=names[(number + 1) % len(names)],
            quiet_ms=quiet_ms,
            usual_ms=usual_ms,
        )
        for number, (old, new) in enumerate(pairwise(ids))
    ]


def found(takeovers: list[Takeover]) -> list[Grade]:
    return [pattern.grade for pattern in find_duels(takeovers)]


@pytest.mark.parametrize(
    ("run", "grades"),
    [
        (takeovers(4), [Grade.INFERRED]),
        (takeovers(3), []),
        (takeovers(4, quiet_ms=1_000), []),  # a process may be back within a second
        (takeovers(4, quiet_ms=999), [Grade.INFERRED]),
        (takeovers(20, quiet_ms=5_000), []),  # a crash loop: silent for as long as a start takes
        (takeovers(4, quiet_ms=999, usual_ms=700), []),  # it had missed a commit
        (takeovers(4, usual_ms=None), []),
        (takeovers(4, every_ms=600_001), []),  # a restart now and then
        (takeovers(4, quiet_ms=9_000, names=(ONE, OTHER)), [Grade.INFERRED]),
        (takeovers(4, quiet_ms=9_000, names=(ONE, OTHER, ("client", "/10.0.0.3"))), []),  # pods move on
        (takeovers(7, quiet_ms=None, usual_ms=None), []),
        (takeovers(8, quiet_ms=None, usual_ms=None), [Grade.UNKNOWN]),
        (takeovers(4) + takeovers(4, instance="till-2"), [Grade.INFERRED] * 2),
    ],
)
def test_a_duel_takes_takeovers_that_one_process_cannot_have_made(
    run: list[Takeover], grades: list[Grade]
) -> None:
    assert found(run) == grades


def test_a_duel_names_the_instance_and_what_proves_it() -> None:
    (duel,) = find_duels(takeovers(5))
    assert (duel.name, duel.from_ms, duel.to_ms) == ("instance-id-duel", 0, 32_000)
    assert len(duel.member_ids) == 6
    assert duel.evidence.startswith("instance till-1 got a new member id 5 times, one every 8s; 5 times")
    (hosts,) = find_duels(takeovers(5, names=(ONE, ("", "/10.0.0.2"))))
    assert hosts.evidence.endswith("it is a client without a name on 10.0.0.2 and client on 10.0.0.1 in turn")


def fenced(*, quiet_s: float, commits: int) -> tuple[Pattern, ...]:
    """An instance gets a new id every 10 s; the one before commits every 2 s, and last `quiet_s` before."""
    log = GroupLog()
    log.generation(0, 1, member("till-0", 0, instance="till-1"))
    for number in range(1, 9):
        last = 10 * number - quiet_s
        log.commits(last - 2 * (commits - 1), last, 2, 0)
        log.generation(10 * number, 1, member(f"till-{number}", 0, instance="till-1"))
    return log.timeline().patterns


def test_a_log_tells_a_duel_from_a_crash_loop() -> None:
    assert [pattern.name for pattern in fenced(quiet_s=0.5, commits=5)] == ["instance-id-duel"]
    assert fenced(quiet_s=4, commits=3) == ()
