"""Settings of single groups that brokers keep and nobody reads: they are for groups of another kind.

A broker takes any of them for any name, whether there is a group or not (KIP-848, KIP-932, KIP-1071), and
says nothing when the group turns out to be of another kind.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from kgroup.history.advise.model import Advice
from kgroup.history.groups.model import GroupKind
from kgroup.history.timeline.model import Grade, Timeline

_READS: Final = {
    GroupKind.CONSUMER: "consumer.",
    GroupKind.SHARE: "share.",
    GroupKind.STREAMS: "streams.",
}
"""Before the dot stands the kind whose coordinator reads it; of a classic group nothing is read."""


def without_effect(timeline: Timeline, configs: Mapping[str, str]) -> Iterator[Advice]:
    """A piece of advice for each setting in `configs`, those of the group alone, that its kind does not read.

    The kind is that of the last generation; without one there is no advice.
    """
    if not timeline.generations:
        return
    roster = timeline.generations[-1].roster
    read = _READS.get(roster.kind)
    for name, value in sorted(configs.items()):
        if read is not None and name.startswith(read):
            continue
        of_kind = name.partition(".")[0]
        caution = None
        if roster.kind is GroupKind.CLASSIC and of_kind == "consumer":
            caution = "it counts from the day on which the first member with group.protocol=consumer joins"
        yield Advice(
            group=timeline.group_id,
            setting=name,
            now=value,
            advised="-",
            grade=Grade.RECORDED,
            evidence=f"set for this group and without effect: it is a {roster.kind} group, and only"
            f" {of_kind} groups read it",
            numbers={"group_type": roster.kind.value},
            caution=caution,
        )
