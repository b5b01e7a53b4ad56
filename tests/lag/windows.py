"""Windows of commits for tests, written on one line."""

from kgroup.lag.status.window import CommitWindow, LogEnd, WindowCommit

NOW = 1_700_000_000_000


def ago(seconds):
    """Epoch ms."""
    return NOW - round(seconds * 1000)


def window(
    *commits, slots=10, heads=(), unread_since=None, unread_by=None, membership_changes=None, proof=None
):
    """A window of (seconds ago, offset, lag) commits, and (seconds ago, offset) log ends.

    The orders of the commits are 10, 20, 30 and so on.
    """
    return CommitWindow(
        slots=slots,
        commits=tuple(
            WindowCommit(offset=offset, timestamp=ago(seconds), lag=lag, order=order)
            for order, (seconds, offset, lag) in zip(range(10, 1000, 10), commits, strict=False)
        ),
        heads=tuple(LogEnd(offset=offset, timestamp=ago(seconds)) for seconds, offset in heads),
        unread_since_ms=None if unread_since is None else ago(unread_since),
        unread_by_ms=None if unread_by is None else ago(unread_by),
        membership_changes=membership_changes,
        proof=proof,
    )
