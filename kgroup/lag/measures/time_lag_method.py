"""The ways to find a time lag."""

from enum import StrEnum


class TimeLagMethod(StrEnum):
    """The method's name, on the command line and in every row."""

    EXACT = "exact"
    """By the timestamp of the first unread record."""
    BISECT = "bisect"
    """The same timestamp, narrowed down by asking for offsets by time."""
    INTERPOLATE = "interpolate"
    """An estimate, from when the log's end stood where."""
