"""The edges that concern a given set of groups."""

from collections.abc import Iterable, Sequence

from kgroup.history.feeds.model import Feed


def connected(feeds: Sequence[Feed], groups: Iterable[str]) -> tuple[Feed, ...]:
    """The edges that lead to these groups or away from them, through whatever lies between."""
    kept: set[Feed] = set()
    for up in (True, False):
        reached, before = set(groups), -1
        topics: set[str] = set()
        while len(reached) + len(topics) != before:
            before = len(reached) + len(topics)
            for feed in feeds:
                if feed.group in reached and feed.is_into_group is up:
                    topics.add(feed.topic)
                    kept.add(feed)
                if feed.topic in topics and feed.is_into_group is not up:
                    reached.add(feed.group)
                    kept.add(feed)
    return tuple(feed for feed in feeds if feed in kept)
