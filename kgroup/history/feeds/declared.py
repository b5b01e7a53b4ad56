"""The topics named in a streams group's topology (record type 23, KIP-1071)."""

from collections.abc import Iterable, Iterator

from kgroup.history.feeds.model import Feed, FeedKind
from kgroup.history.timeline.model import Grade
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry
from kgroup.protocol.records.keys import StreamsGroupTopologyKey
from kgroup.protocol.records.streams_group import StreamsGroupTopologyValue


def declared_feeds(entries: Iterable[LoggedEntry]) -> Iterator[Feed]:
    """The edges of streams groups as they are declared, by group and topic; other entries are passed over.

    Sources and repartition topics go in, repartition topics and changelogs come out. The topics that a
    topology ends in are not in the record, and source patterns are no names.
    """
    edges = set[tuple[str, str, bool]]()
    for logged in entries:
        match logged.entry:
            case OffsetsEntry(
                key=StreamsGroupTopologyKey(group_id=group),
                value=StreamsGroupTopologyValue(subtopologies=parts),
            ):
                for part in parts:
                    repartition = (topic.name for topic in part.repartition_source_topics)
                    changelogs = (topic.name for topic in part.state_changelog_topics)
                    edges |= {(group, topic, True) for topic in (*part.source_topics, *repartition)}
                    edges |= {(group, topic, False) for topic in (*part.repartition_sink_topics, *changelogs)}
            case _:
                pass
    for group, topic, is_source in sorted(edges):
        yield Feed(
            group=group, topic=topic, kind=FeedKind.DECLARED, grade=Grade.RECORDED, is_source=is_source
        )
