"""The options of a stream of `kafka-offsets`. No need of a PySpark that has streams as kgroup's are."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from kgroup.errors import InputError
from kgroup.spark.sources.options import GivenOptions

if TYPE_CHECKING:
    from kgroup.spark.live_source import OffsetsTopic

Connect = Callable[[str, str | None], "OffsetsTopic"]
"""Finds the topic of a cluster by its servers and a file of client properties. Raises InputError."""

STREAM_OPTIONS: Final = ("bootstrapServers", "commandConfig", "maxOffsets", "logReset")

_OFFSETS_MAX: Final = 1_000_000


class LogReset(StrEnum):
    """Values of the option `logReset`: what to do where a log is not the one any more that was read."""

    FAIL = "fail"
    AGAIN = "again"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOptions:
    """The options of a stream, checked."""

    servers: str
    config: str | None
    offsets_max: int
    log_reset: LogReset

    @classmethod
    def of(cls, given: GivenOptions) -> "StreamOptions":
        """Raises InputError for a wrong one, and for those of logs in files."""
        servers = given.text("bootstrapServers")
        if servers is None:
            raise InputError(
                f"{given.source}: a stream is of a live cluster: give the option bootstrapServers,"
                " like host:9092"
            )
        if given.has_paths:
            raise InputError(f"{given.source}: a stream is of a live cluster, and load() takes no path")
        return cls(
            servers=servers,
            config=given.text("commandConfig"),
            offsets_max=given.number("maxOffsets", _OFFSETS_MAX, "offsets"),
            log_reset=given.choice("logReset", LogReset.FAIL),
        )


def refuse_stream_options(given: GivenOptions) -> None:
    """Refuse stream options for files, which do not stream. Raises InputError."""
    for name in STREAM_OPTIONS:
        if name in given:
            raise InputError(f"{given.source}: option {name} is for readStream")
