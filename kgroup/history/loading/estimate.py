"""Estimates how long a load takes and how much memory it needs.

Bounds that are chosen wide and not measured: one loader thread replays records one by one, on machines and
disks that nobody knows here. docs/fsck.md says so, too.
"""

from dataclasses import dataclass
from typing import Final

RECORDS_PER_S: Final = (60_000, 1_200_000)
"""From a loaded, slow machine with a cold disk to a quiet one."""
BYTES_PER_S: Final = (20_000_000, 400_000_000)
HEAP_BYTES_PER_COMMIT: Final = (200, 450)
"""Live commits alone, without their metadata."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Shortest and longest, smallest and largest that is to be expected."""

    load_ms: tuple[int, int]
    heap_bytes: tuple[int, int]


def estimate(*, size: int, records: int, live_commits: int, live_bytes: int) -> Estimate:
    """The cost of a partition with this many bytes and records, of which these commits and bytes count."""
    slow = max(records / RECORDS_PER_S[0], size / BYTES_PER_S[0])
    fast = max(records / RECORDS_PER_S[1], size / BYTES_PER_S[1])
    low, high = HEAP_BYTES_PER_COMMIT
    return Estimate(
        load_ms=(round(fast * 1000), round(slow * 1000)),
        heap_bytes=(live_commits * low + live_bytes, live_commits * high + 2 * live_bytes),
    )
