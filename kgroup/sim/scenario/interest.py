"""A consumer's subscription: topics by name, a pattern, or nothing yet."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from kgroup.group.member.positions import Subscriptions, TopicPattern
from kgroup.sim.scenario.scenario import SimMember


@dataclass(frozen=True, slots=True, kw_only=True)
class Interest:
    """Either `topics`, in the order in which the user names them, or a `pattern`; neither: unsubscribed."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None

    @property
    def is_nothing(self) -> bool:
        """Whether it is in no group."""
        return not self.topics and self.pattern is None

    def among(self, topics: Iterable[str]) -> tuple[str, ...]:
        """The `topics` that it asks for, a pattern's sorted. Raises InputError for an invalid pattern."""
        if self.pattern is None:
            return tuple(topic for topic in topics if topic in self.topics)
        matches = _pattern(self.pattern)
        return tuple(sorted(topic for topic in topics if matches.fullmatch(topic)))


@lru_cache(maxsize=64)
def _pattern(pattern: str) -> TopicPattern:
    """The pattern by the client's own rule, so that a simulated group reads what a real one would."""
    subscriptions = Subscriptions()
    subscriptions.subscribe_pattern(pattern)
    assert subscriptions.pattern is not None
    return subscriptions.pattern


def interest_of(member: SimMember) -> Interest:
    """The member's interest as its process starts."""
    return Interest(topics=member.topics, pattern=member.pattern)
