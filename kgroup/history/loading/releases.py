"""Differences between the coordinators of Kafka's versions when they load an offsets partition.

From `GroupMetadataManager.replay`, `OffsetMetadataManager.replay`, `CoordinatorLoaderImpl` and the record
schemas of each release, and from real brokers started on crafted logs (`fixtures/fsck`).
"""

import re
from dataclasses import dataclass, replace
from typing import Final

from kgroup.errors import InputError

_CLASSIC: Final = frozenset({0, 1, 2})
_CONSUMER: Final = frozenset({3, 4, 5, 6, 7, 8, 16})
_SHARE: Final = frozenset({10, 11, 12, 13, 14, 15})
_STREAMS: Final = frozenset({17, 19, 20, 21, 22, 23})
_SHARE_PARTITIONS: Final = 9
"""ShareGroupPartitionMetadata, which 4.0 had a schema for and no later version has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """The loading behaviour of one version's coordinators, and of versions that load alike."""

    version: str
    """The first version that loads so."""
    types: frozenset[int]
    """Record types that it knows; others it passes over with a warning."""
    is_partial: bool = False
    """The coordinator of 3.x takes over the partition also after it could not load it, with nothing in it."""
    strict_owners: bool = False
    """A partition or task whose former owner has not let go stops the load (KAFKA-19862)."""
    streams_over_commits: bool = True
    """A streams group may take the place of a group that has only commits (KAFKA-20254)."""
    strict_share: bool = False
    """Records of share groups must come in the order in which they were first written."""
    strict_subscriptions: bool = True
    """A classic member whose subscription cannot be read stops the load."""
    legacy_value_version: int = 0
    """The highest version of a value under key type 0."""


_NOW: Final = Release(version="4.3", types=_CLASSIC | _CONSUMER | _SHARE | _STREAMS)
_RELEASES: Final = (
    Release(version="3.7", types=_CLASSIC, is_partial=True, legacy_value_version=4),
    Release(
        version="4.0",
        types=_CLASSIC | _CONSUMER | _SHARE | {_SHARE_PARTITIONS},
        strict_owners=True,
        strict_share=True,
        legacy_value_version=4,
    ),
    Release(
        version="4.0.2",
        types=_CLASSIC | _CONSUMER | _SHARE | {_SHARE_PARTITIONS},
        strict_share=True,
        legacy_value_version=4,
    ),
    replace(_NOW, version="4.1", strict_owners=True, streams_over_commits=False),
    replace(_NOW, version="4.1.2", streams_over_commits=False),
    replace(_NOW, version="4.2", streams_over_commits=False),
    replace(_NOW, version="4.2.1"),
    replace(_NOW, version="4.2.2", strict_subscriptions=False),
    _NOW,
    replace(_NOW, version="4.4", strict_subscriptions=False),
)
OLDEST: Final = "3.7"
NEWEST: Final = "4.4"
_VERSION: Final = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")


def release_of(version: str) -> Release:
    """The release that a broker of this version loads as. Raises InputError for one that is not known."""
    match = _VERSION.fullmatch(version)
    if match is None:
        raise InputError(f"--kafka-version {version!r}: not a version of Kafka such as 4.1.0")
    number = _number(version)
    if not _number(OLDEST) <= number < (*_number(NEWEST)[:2], 1 << 30):
        raise InputError(f"--kafka-version {version}: known are {OLDEST} to {NEWEST}")
    release = max(
        (each for each in _RELEASES if _number(each.version) <= number),
        key=lambda each: _number(each.version),
    )
    return replace(release, version=version)


def releases() -> tuple[Release, ...]:
    """The releases that differ, oldest first."""
    return _RELEASES


def _number(version: str) -> tuple[int, int, int]:
    match = _VERSION.fullmatch(version)
    assert match is not None
    return int(match[1]), int(match[2]), int(match[3] or 0)
