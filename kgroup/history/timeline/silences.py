"""The length of a member's silence before it was gone, and the kinds of departure that fit it.

All is measured at the time when the round was stored. A departure comes before that by the round, which ends
when all who stay have rejoined: they learn of it with their next heartbeat, and under eager assignment commit
until they rejoin.
"""

from dataclasses import dataclass

from kgroup.history.groups.model import GroupKind
from kgroup.history.timeline.commits import CommitTrack, Silence, silence_of
from kgroup.history.timeline.model import Partition, Roster, TimelineMember

# group.consumer.session.timeout.ms by default: a setting of the broker, which no log tells (KIP-848).
DEFAULT_SESSION_MS = 45_000
_HEARTBEAT_SLACK_MS = 1_500
_LEAVE_SLACK_MS = 500
_COOPERATIVE = "cooperative-sticky"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quiet:
    """The silence of a member at the end of the round that it is missing from.

    `ms` is its length. `round_ms` is the longest that the round can have taken, None where those who stayed
    were as silent as the member: then all stood still, and nothing can be inferred. `lived_ms` is the time
    since the round before, in which the member polled. `is_next` says that no round between was left
    unfinished, `is_one_of_many` that all others went in the same round, so that it waited for each of them to
    go.
    """

    ms: int
    silence: Silence
    session_ms: int
    poll_interval_ms: int | None
    round_ms: int | None
    lived_ms: int | None
    is_next: bool
    is_static: bool
    is_one_of_many: bool

    @property
    def longest_ms(self) -> int:
        """The longest usual time between two commits, 0 where there are too few."""
        return self.silence.longest_ms or 0

    @property
    def is_no_lack_of_records(self) -> bool:
        """Whether the member was expected to keep committing."""
        silence = self.silence
        return silence.longest_ms is not None and (silence.in_rhythm or silence.commits_idle)


def quiet_of(
    member: TimelineMember,
    silence: Silence,
    previous: Roster,
    current: Roster,
    tracks: dict[Partition, CommitTrack],
) -> Quiet:
    """The silence of a member that `previous` has and `current` has not; both have times."""
    assert current.at_ms is not None
    quiet_ms = current.at_ms - silence.last_ms
    session_ms = member.session_timeout_ms or DEFAULT_SESSION_MS
    timeout_ms = member.rebalance_timeout_ms
    return Quiet(
        ms=quiet_ms,
        silence=silence,
        session_ms=session_ms,
        poll_interval_ms=timeout_ms if timeout_ms and timeout_ms > 0 else None,
        round_ms=_round_ms(quiet_ms, session_ms, previous, current, tracks),
        lived_ms=None if previous.at_ms is None else current.at_ms - previous.at_ms,
        is_next=current.generation == previous.generation + 1,
        is_static=member.instance_id is not None,
        is_one_of_many=len(previous.members) > 1 and not current.members,
    )


def _round_ms(
    quiet_ms: int, session_ms: int, previous: Roster, current: Roster, tracks: dict[Partition, CommitTrack]
) -> int | None:
    """The longest that the round can have taken, as those who stayed tell by their last commits."""
    if not current.members or current.kind is not GroupKind.CLASSIC:
        return 0  # an empty group is stored at once, and a broker that assigns waits for nobody
    # heartbeat.interval.ms is in no log; Kafka's documentation wants it no higher than a third of a session.
    notice_ms = session_ms // 3
    stayed = {member.member_id for member in current.members}
    silences = [
        current.at_ms - own.last_ms
        for member in previous.members
        if member.member_id in stayed
        and current.at_ms is not None
        and (own := silence_of(tracks, member.owned, previous.offset)) is not None
    ]
    if not silences:
        return notice_ms
    shorter = [ms for ms in silences if 4 * ms < 3 * quiet_ms]
    if not shorter:
        return None
    if current.protocol == _COOPERATIVE:
        return notice_ms  # these continue to commit while a round lasts
    return max(shorter) + notice_ms


def is_longer_than_a_leave(quiet: Quiet) -> bool:
    """Whether a member that committed in its rhythm until it left cannot have been silent for so long."""
    if quiet.round_ms is None or not quiet.is_no_lack_of_records:
        return False
    leave_ms = quiet.longest_ms * 11 // 10 + quiet.round_ms + _LEAVE_SLACK_MS
    return quiet.ms > max(leave_ms, quiet.silence.hiccup_ms)


def expiry_fits(quiet: Quiet, session_ms: int) -> bool:
    """Whether the silence is what a death between two commits leaves behind."""
    usual_ms = max(quiet.longest_ms, quiet.silence.usual_ms or 0)
    return session_ms <= quiet.ms <= session_ms + usual_ms + session_ms // 3 + _HEARTBEAT_SLACK_MS


def may_have_expired(quiet: Quiet) -> bool:
    """Whether the session can have run out before the round: with members that were slow to join it.

    `expiry_fits` says what an expiry usually leaves behind, this what it can.
    """
    usual_ms = max(quiet.longest_ms, quiet.silence.usual_ms or 0)
    round_ms = max(quiet.round_ms or 0, quiet.session_ms // 3)
    return quiet.session_ms <= quiet.ms <= quiet.session_ms + usual_ms + round_ms + _HEARTBEAT_SLACK_MS


def poll_interval_fits(quiet: Quiet) -> bool:
    """Whether the silence is what a client leaves behind that does not poll and goes by itself.

    A client polls at the latest when it commits by the clock or after a batch; librdkafka's own thread
    commits once more, up to an interval after the last poll. Joining the last round was a poll, too. A static
    member sends no LeaveGroup then (KIP-345): it stops its heartbeats.
    """
    interval_ms = quiet.poll_interval_ms
    if quiet.is_static or interval_ms is None or quiet.lived_ms is None or quiet.lived_ms < interval_ms:
        return False
    if not quiet.is_next or quiet.is_one_of_many or not quiet.is_no_lack_of_records:
        return False
    latest_ms = interval_ms + quiet.longest_ms + (quiet.round_ms or 0) + _HEARTBEAT_SLACK_MS
    return interval_ms - quiet.longest_ms <= quiet.ms <= latest_ms
