"""Members that exceeded their poll interval, by the causes of generations."""

from typing import Final

from kgroup.history.timeline.model import Cause, CauseKind, Grade, Timeline

POLL_CAUSES: Final = frozenset({"poll-interval-exceeded", CauseKind.REBALANCE_TIMEOUT.value})
"""By name: a log does not tell all kinds apart, and the client's own leaving is one besides."""


def late_polls(timeline: Timeline) -> list[Cause]:
    """The causes, in the order of generations, that the log does not leave open."""
    return [
        cause
        for generation in timeline.generations
        for cause in generation.causes
        if cause.kind.value in POLL_CAUSES and cause.grade is not Grade.UNKNOWN
    ]
