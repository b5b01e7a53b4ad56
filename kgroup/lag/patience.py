"""How long a healthy group may leave unread records alone."""

from typing import Final

PATIENCE_MS: Final = 300_000
"""`max.poll.interval.ms`, 5 minutes by default (KIP-62).

A member may process what a poll gave it for this long, and many commit only then.
"""
