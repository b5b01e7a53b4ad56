"""Which ways to go a silence fits: each bound, and a moment beyond it."""

import pytest

from kgroup.history.groups.model import GroupKind
from kgroup.history.timeline.commits import CommitTrack, Silence, silence_of
from kgroup.history.timeline.model import Partition, Roster, TimelineMember
from kgroup.history.timeline.silences import (
    Quiet,
    expiry_fits,
    is_longer_than_a_leave,
    poll_interval_fits,
    quiet_of,
)

P0, P1, P2 = (Partition("t", number) for number in range(3))
SESSION_MS, INTERVAL_MS, EVERY_MS, ROUND_MS = 10_000, 60_000, 2_000, 1_000


def quiet(ms: int, **changes: object) -> Quiet:
    rhythm: dict[str, object] = {"longest_ms": EVERY_MS, "hiccup_ms": EVERY_MS, "in_rhythm": True}
    rhythm |= {name: changes.pop(name) for name in list(changes) if name in Silence.__slots__}
    known: dict[str, object] = {
        "session_ms": SESSION_MS,
        "poll_interval_ms": INTERVAL_MS,
        "round_ms": ROUND_MS,
        "lived_ms": 600_000,
        "is_next": True,
        "is_static": False,
        "is_one_of_many": False,
    }
    silence = Silence(last_ms=0, log_offset=1, usual_ms=EVERY_MS, **rhythm)  # type: ignore[arg-type]
    return Quiet(ms=ms, silence=silence, **(known | changes))  # type: ignore[arg-type]


# ---- a leave ----------------------------------------------------------------------------------------

LEAVE_MS = EVERY_MS * 11 // 10 + ROUND_MS + 500


@pytest.mark.parametrize(
    ("silent", "is_longer"),
    [
        (quiet(LEAVE_MS), False),
        (quiet(LEAVE_MS + 1), True),
        (quiet(LEAVE_MS + 1, round_ms=ROUND_MS + 1), False),
        (quiet(LEAVE_MS + 1, hiccup_ms=LEAVE_MS + 1), False),  # it was silent for as long once before
        (quiet(LEAVE_MS + 1, round_ms=None), False),  # all stood still
        (quiet(LEAVE_MS + 1, in_rhythm=False), False),  # it may have had nothing to read
        (quiet(LEAVE_MS + 1, in_rhythm=False, commits_idle=True), True),
        (quiet(LEAVE_MS + 1, longest_ms=None), False),  # too few commits to tell
    ],
)
def test_whoever_leaves_in_its_rhythm_is_silent_for_that_and_the_round(
    silent: Quiet, is_longer: bool
) -> None:
    assert is_longer_than_a_leave(silent) is is_longer


# ---- a session --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ms", "fits"),
    [(9_999, False), (10_000, True), (10_000 + EVERY_MS + 3_333 + 1_500, True), (16_834, False)],
)
def test_a_session_ends_after_its_timeout_and_within_a_commit_and_a_heartbeat_of_it(
    ms: int, fits: bool
) -> None:
    assert expiry_fits(quiet(ms), SESSION_MS) is fits


# ---- the poll interval ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("silent", "fits"),
    [
        (quiet(INTERVAL_MS - EVERY_MS), True),  # librdkafka commits once more after the last poll
        (quiet(INTERVAL_MS - EVERY_MS - 1), False),
        (quiet(INTERVAL_MS + EVERY_MS + ROUND_MS + 1_500), True),
        (quiet(INTERVAL_MS + EVERY_MS + ROUND_MS + 1_501), False),
        (quiet(INTERVAL_MS, is_static=True), False),  # a static member sends no LeaveGroup
        (quiet(INTERVAL_MS, poll_interval_ms=None), False),
        (quiet(INTERVAL_MS, lived_ms=INTERVAL_MS), True),
        (quiet(INTERVAL_MS, lived_ms=INTERVAL_MS - 1), False),  # it polled when it joined
        (quiet(INTERVAL_MS, lived_ms=None), False),
        (quiet(INTERVAL_MS, is_next=False), False),  # it may have gone rounds ago
        (quiet(INTERVAL_MS, is_one_of_many=True), False),
        (quiet(INTERVAL_MS, in_rhythm=False), False),
        (quiet(INTERVAL_MS, in_rhythm=False, commits_idle=True), True),
    ],
)
def test_a_client_that_does_not_poll_goes_after_its_interval(silent: Quiet, fits: bool) -> None:
    assert poll_interval_fits(silent) is fits


# ---- how long the round took ------------------------------------------------------------------------


def track(*times_ms: int) -> CommitTrack:
    made = CommitTrack(times_ms[0], 0, 50)
    for number, at_ms in enumerate(times_ms[1:], start=1):
        made.add(at_ms, number, 50 + number, -1, 4)
    return made


def round_ms(
    *stayed_last_ms: int | None, protocol: str = "range", kind: GroupKind = GroupKind.CLASSIC
) -> object:
    """`a` committed last at 10 s and is missing at 30 s; the others stayed."""
    gone = TimelineMember(member_id="a", session_timeout_ms=SESSION_MS, owned=frozenset((P0,)))
    stayed = [
        TimelineMember(member_id=f"s{number}", session_timeout_ms=SESSION_MS, owned=frozenset((partition,)))
        for number, partition in zip(range(len(stayed_last_ms)), (P1, P2), strict=False)
    ]
    tracks = {P0: track(4_000, 6_000, 8_000, 10_000)}
    for partition, last_ms in zip((P1, P2), stayed_last_ms, strict=False):
        if last_ms is not None:
            tracks[partition] = track(last_ms - 2_000, last_ms)

    def roster(at_ms: int, generation: int, *members: TimelineMember) -> Roster:
        return Roster(
            kind=kind,
            generation=generation,
            at_ms=at_ms,
            offset=generation,
            offsets_partition=0,
            leader_epoch=0,
            protocol=protocol,
            members=members,
        )

    silence = silence_of(tracks, gone.owned, 1)
    assert silence is not None
    made = quiet_of(gone, silence, roster(0, 1, gone, *stayed), roster(30_000, 2, *stayed), tracks)
    assert (made.ms, made.lived_ms, made.is_next) == (20_000, 30_000, True)
    assert made.is_one_of_many is False
    return made.round_ms


def test_who_stays_tells_by_its_last_commit_and_a_heartbeat_how_long_the_round_took() -> None:
    assert round_ms(28_000) == 2_000 + SESSION_MS // 3
    assert round_ms(28_000, 25_000) == 5_000 + SESSION_MS // 3
    assert round_ms(28_000, None) == 2_000 + SESSION_MS // 3
    assert round_ms(None) == SESSION_MS // 3


def test_where_all_were_as_silent_nothing_is_known() -> None:
    assert round_ms(15_000) is None
    assert round_ms(15_001) == 14_999 + SESSION_MS // 3
    assert round_ms(28_000, 15_000) == 2_000 + SESSION_MS // 3  # that one had nothing to read


def test_cooperative_members_commit_during_a_round_and_a_broker_that_assigns_waits_for_none() -> None:
    assert round_ms(28_000, protocol="cooperative-sticky") == SESSION_MS // 3
    assert round_ms(28_000, kind=GroupKind.CONSUMER) == 0
    assert round_ms() == 0
