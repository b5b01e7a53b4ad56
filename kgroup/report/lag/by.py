"""What the rows of a lag report can be put together by."""

from enum import Enum


class By(Enum):
    """A group, a topic of all groups, or a member of a group."""

    GROUP = "group"
    TOPIC = "topic"
    MEMBER = "member"
