"""Two processes with one group.instance.id: each that joins fences the other (KIP-345), again and again.

A broker gives the instance a new member id each time, and keeps the client id and host of the first member
until the next round. So a log shows takeovers, and whether the one before was alive: a process that restarts
is silent for as long as that takes, one that is fenced off had just committed. Or the instance's client or
host goes back and forth, which one process cannot do. Without any commits to go by, many takeovers in a row
are a duel or a crash loop: unknown.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from kgroup.durations import lasting
from kgroup.history.timeline.model import Grade, Pattern, Takeover

INSTANCE_ID_DUEL = "instance-id-duel"

_TAKEOVERS_MIN = 4
_PAUSE_MAX_MS = 600_000
_ALIVE_MIN = 3
# No process is started and has joined its group so soon after it died.
_RESTART_MIN_MS = 1_000
_AT_ONCE_MIN = 2
_UNPROVEN_MIN = 8
_REMEDY = (
    "Give every process its own group.instance.id. Look for a copied configuration, a replica count"
    " above 1, or an old process that was never stopped; the one that is fenced logs FENCED_INSTANCE_ID."
)


def find_duels(takeovers: Sequence[Takeover]) -> Iterator[Pattern]:
    """A pattern for each run of takeovers of one instance that one process cannot have made.

    Where the broker assigns, nobody is pushed out: a second process is refused (UNRELEASED_INSTANCE_ID).
    """
    of_instance: defaultdict[str, list[Takeover]] = defaultdict(list)
    for takeover in takeovers:
        if not takeover.was_free:
            of_instance[takeover.instance_id].append(takeover)
    for instance_id in sorted(of_instance):
        for run in _runs(of_instance[instance_id]):
            if len(run) >= _TAKEOVERS_MIN and (why := _proof(run)) is not None:
                yield _duel(instance_id, run, why, Grade.INFERRED)
            elif len(run) >= _UNPROVEN_MIN and all(takeover.quiet_ms is None for takeover in run):
                why = "two processes have its id, or one keeps restarting: no commits here show which"
                yield _duel(instance_id, run, why, Grade.UNKNOWN)


def _runs(takeovers: Sequence[Takeover]) -> Iterator[list[Takeover]]:
    run: list[Takeover] = []
    for takeover in takeovers:
        if run and (
            takeover.at_ms is None or run[-1].at_ms is None or takeover.at_ms - run[-1].at_ms > _PAUSE_MAX_MS
        ):
            yield run
            run = []
        run.append(takeover)
    if run:
        yield run


def _proof(run: Sequence[Takeover]) -> str | None:
    names = [run[0].before, *(takeover.after for takeover in run)]
    back_and_forth = sum(
        first == third != second for first, second, third in zip(names, names[1:], names[2:], strict=False)
    )
    if back_and_forth >= _ALIVE_MIN:
        both = " and ".join(sorted({_text(name) for name in names}))
        return f"it is {both} in turn"
    alive = [takeover for takeover in run if takeover.took_a_living_one]
    at_once = [one for one in alive if one.quiet_ms is not None and one.quiet_ms < _RESTART_MIN_MS]
    if len(alive) >= _ALIVE_MIN and 2 * len(alive) >= len(run) and len(at_once) >= _AT_ONCE_MIN:
        return (
            f"{len(alive)} times the previous member kept committing in its rhythm until it was replaced,"
            f" {len(at_once)} times less than {lasting(_RESTART_MIN_MS)} before"
        )
    return None


def _duel(instance_id: str, run: Sequence[Takeover], why: str, grade: Grade) -> Pattern:
    times = [takeover.at_ms for takeover in run if takeover.at_ms is not None]
    pauses = [after - before for before, after in pairwise(times)]
    every = f", one every {lasting(sum(pauses) // len(pauses))}" if pauses else ""
    return Pattern(
        name=INSTANCE_ID_DUEL,
        from_ms=times[0] if times else None,
        to_ms=times[-1] if times else None,
        first_generation=run[0].generation,
        last_generation=run[-1].generation,
        member_ids=(run[0].old_id, *(takeover.new_id for takeover in run)),
        evidence=f"instance {instance_id} got a new member id {len(run)} times{every}; {why}",
        remedy=_REMEDY,
        grade=grade,
    )


def _text(name: tuple[str, str]) -> str:
    client_id, host = name
    return f"{client_id or 'a client without a name'} on {host.lstrip('/')}"
