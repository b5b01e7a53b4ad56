"""Life after life of a broker on one folder: write, die, lose what a disk may lose, read back, compare."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.kills import disk
from tests.kills.book import Book
from tests.kills.process import RefusedError, broker
from tests.kills.reading import read_back
from tests.kills.workload import Workload
from tests.net.wire_client import WireClient

_MOVES_MAX: Final = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class Death:
    """One death: the wrongs found in the life after it, and what had been acknowledged before, in all."""

    number: int
    wrongs: tuple[str, ...]
    acknowledged: int
    warnings: tuple[str, ...]


def deaths(folder: Path, *, seed: int, count: int, power: bool, fsync: bool) -> Iterator[Death]:
    """Play `count` deaths. Without `power` only the process dies; with it the disk keeps what was synced.

    Where `power` is lost and nothing is synced, no more is expected than that the broker starts and shows
    nothing that was never written. A wrong ends the series: what follows would only repeat it.
    """
    chance = random.Random(seed)
    book = Book()
    data, notes = folder / "data", folder / "notes"
    is_durable = fsync or not power
    baseline = disk.Baseline()
    for number in range(count + 1):
        warnings: list[str] = []
        wrongs: list[str] = []
        acknowledged = book.acknowledged
        try:
            with (
                broker(data, fsync=fsync, notes=notes if power else None, warnings=warnings) as address,
                WireClient(address) as client,
            ):
                if number:
                    back = read_back(client, may_have_gaps=not is_durable)
                    wrongs = book.wrongs(back, is_durable=is_durable)
                    book.settle(back)
                if not wrongs and number < count:
                    work = Workload(client, book, chance, may_be_refused=not is_durable)
                    work.play(chance.randint(1, _MOVES_MAX))
        except RefusedError as error:
            wrongs = [f"the broker does not start: {error}"]
        if number:
            yield Death(
                number=number, wrongs=tuple(wrongs), acknowledged=acknowledged, warnings=tuple(warnings)
            )
        if wrongs:
            return
        if power:
            disk.lose_power(data, notes, baseline, chance)
            baseline = disk.Baseline.of(data)
