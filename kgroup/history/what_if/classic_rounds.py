"""A consumer group's epochs as the rounds a classic group would have made of the same joins and leaves.

A coordinator that assigns makes an epoch of each. A classic group waits: an empty one for
`group.initial.rebalance.delay.ms`, one with members until all have heard of the round by their heartbeats
and joined; members that come or go meanwhile are in the same round.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from kgroup.history.what_if.schedule import Moment

ROUND_MS: Final = 3_000
"""Kafka's default of both: `group.initial.rebalance.delay.ms` and a consumer's `heartbeat.interval.ms`."""


def in_rounds(moments: Sequence[Moment], of_epochs: Sequence[bool]) -> Iterator[Moment]:
    """The moments in order, those that fall into one round as one; `of_epochs` says whether each may."""
    pending: Moment | None = None
    since_ms = 0
    for moment, is_epoch in zip(moments, of_epochs, strict=True):
        may_fold = is_epoch and moment.recorded and moment.at_ms is not None
        if pending is not None and may_fold and _is_meanwhile(pending, moment, since_ms):
            pending = _together(pending, moment)
            continue
        if pending is not None:
            yield pending
        pending = None
        if may_fold:
            assert moment.at_ms is not None
            pending, since_ms = moment, moment.at_ms
        else:
            yield moment
    if pending is not None:
        yield pending


def _is_meanwhile(pending: Moment, moment: Moment, since_ms: int) -> bool:
    """Whether the round still lasts; one who came in it and goes again makes it two."""
    came = {key for key, _ in pending.joins}
    goes = {departure.key for departure in moment.departures}
    return moment.at_ms is not None and moment.at_ms < since_ms + ROUND_MS and came.isdisjoint(goes)


def _together(pending: Moment, moment: Moment) -> Moment:
    return replace(
        moment,
        joins=(*pending.joins, *moment.joins),
        departures=(*pending.departures, *moment.departures),
        others=tuple(dict.fromkeys((*pending.others, *moment.others))),
    )
