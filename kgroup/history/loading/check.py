"""The result for one offsets partition: the verdict, and its consequences."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from kgroup.history.loading.cleaning import Cleaning
from kgroup.history.loading.estimate import Estimate
from kgroup.history.loading.model import Obstacle, Outcome
from kgroup.history.loading.partition import outcome_of


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionCheck:
    """One replica of an offsets partition.

    `obstacles` are those of the version that was asked for, what makes the outcome first; `others` says what
    becomes of it under each release that loads otherwise. `groups` are those whose commits or members are in
    it; `commits` are the newest of all, with the columns of the scan's COMMIT_SCHEMA, as far as they can be
    read. `is_clean` is None where the files do not say whether the broker was stopped or crashed.
    """

    partition: int
    folder: Path
    version: str
    obstacles: tuple[Obstacle, ...]
    others: Mapping[str, Outcome]
    size: int
    records: int
    tombstones: int
    live_records: int
    groups: tuple[str, ...]
    cleaning: Cleaning
    estimate: Estimate
    is_clean: bool | None
    commits: pa.Table

    @property
    def outcome(self) -> Outcome:
        """The worst of all obstacles."""
        return outcome_of(self.obstacles)

    @property
    def finding(self) -> str | None:
        """`unloadable-log`, `loads-less` or `slow-to-load`; None for a partition that is well."""
        if self.outcome is Outcome.LOADS:
            return "slow-to-load" if self.cleaning.is_dead else None
        return "loads-less" if self.outcome is Outcome.LOADS_LESS else "unloadable-log"
