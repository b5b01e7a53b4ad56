"""The furthest position anyone had reached in a partition, and when: proof of its log's length then.

A log of the offsets topic holds no log ends. But a group that commits an offset has read the record before
it, so every commit of every group says how long the log was at least. It says nothing of how long at most.
"""

from collections.abc import Iterable, Sequence

from kgroup.lag.status.window import LogEnd


def seen_ends(commits: Iterable[LogEnd], log_end_offset: int | None) -> tuple[LogEnd, ...]:
    """The commits of one partition that count as proof, by time; timestamps must be known.

    What goes beyond the log's end was read by nobody, and is left out. The order of offsets is not that of
    time: groups read at different places.
    """
    counting = [
        commit
        for commit in commits
        if commit.timestamp is not None and (log_end_offset is None or commit.offset <= log_end_offset)
    ]
    return tuple(sorted(counting, key=lambda commit: (commit.timestamp or 0, commit.offset)))


def unread_by(seen: Sequence[LogEnd], offset: int) -> int | None:
    """The latest time since which there was a record to read at `offset`: epoch ms, None if unproven.

    `seen` by time, here and below.
    """
    return next((end.timestamp for end in seen if end.offset > offset), None)


def passed_until(seen: Sequence[LogEnd], offset: int) -> int | None:
    """The last commit of anybody who had passed `offset`: epoch ms, None if nobody is known to have."""
    return next((end.timestamp for end in reversed(seen) if end.offset > offset), None)


def written_per_s(seen: Iterable[LogEnd], from_ms: int, to_ms: int) -> float | None:
    """The rate of the furthest reader in between; a caught-up reader cannot be faster than the writer.

    Records per second; None without two readings at different times.
    """
    furthest: list[tuple[int, int]] = []
    for end in seen:
        if end.timestamp is None or end.timestamp > to_ms or (furthest and end.offset <= furthest[-1][1]):
            continue
        if end.timestamp <= from_ms:
            furthest.clear()  # only the last one before the time in question counts
        furthest.append((end.timestamp, end.offset))
    if len(furthest) < 2 or furthest[-1][0] <= furthest[0][0]:
        return None
    (first_ms, first), (last_ms, last) = furthest[0], furthest[-1]
    return (last - first) * 1000 / (last_ms - first_ms)
