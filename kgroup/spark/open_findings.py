"""The open findings of a stream, kept in its checkpoint so that each is opened once and closed once.

    kgroup-findings-1/7     what happened in micro-batch 7, and what has been open since

There is one for a micro-batch in which something happened. It is decided and kept before it is reported: a
micro-batch that is made again, later and with a cluster that has moved on, reports the same again.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kgroup.spark.checkpoint_folder import CheckpointFolder
from kgroup.spark.parts.packing import DamagedPartError, packed_contents, unpacked_contents
from kgroup.spark.spark_notes import positions_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_KIND: Final = "finding events"
_VERSION: Final = 1
_FOLDERS: Final = "kgroup-findings-"
_FOLDER: Final = f"{_FOLDERS}{_VERSION}"
_EVENTS: Final = "events"
_OPEN: Final = "open"
_SCHEMA: Final = "packed binary"

Row = Mapping[str, Any]
"""In JSON's types."""

Decide = Callable[[Sequence[Row]], tuple[Sequence[Row], Sequence[Row]]]
"""Of what was open: what happened, and what is open now."""


class OpenFindings:
    """The findings open after the last micro-batch, held in memory and in the checkpoint."""

    def __init__(self, session: "SparkSession", checkpoint: str) -> None:
        self._session = session
        self._checkpoint = checkpoint
        self._folder = CheckpointFolder(session, checkpoint, _FOLDER)
        self._last: tuple[int, Sequence[Row]] | None = None  # as of which micro-batch, and what was open

    def check_version(self) -> None:
        """Raises InputError where findings of another version are kept."""
        self._folder.check_version(_FOLDERS)

    def is_whole(self, number: int) -> bool:
        """Whether micro-batch `number` gets to where the log ended; until then nothing can be judged."""
        return positions_of(self._session, self._checkpoint, number).whole_ms is not None

    def events(self, number: int, decide: Decide) -> Sequence[Row]:
        """The events of micro-batch `number`. Raises InputError for a checkpoint that is damaged."""
        kept = self._kept(number)
        if number in kept:
            events, now_open = self._read(number)
        else:
            before = self._before(kept)
            events, now_open = decide(before)
            if not events:
                return []
            self._write(number, events, now_open)
        for each in kept:
            if each < number:
                self._folder.remove(str(each))
        self._last = number, now_open
        return events

    def _kept(self, number: int) -> Sequence[int]:
        """The micro-batches of which there is something."""
        kept = sorted(map(int, self._folder.whole()))
        if kept and kept[-1] > number:
            raise self._folder.damaged(
                f"it has findings of micro-batch {kept[-1]}, and Spark's notes go to {number}"
            )
        # What was not written to its end is written again; of an older one nothing but its removal was begun.
        for name in self._folder.names():
            if max(kept, default=-1) < int(name) < number:
                raise self._folder.damaged(f"the findings of micro-batch {name} are not whole")
        return kept

    def _before(self, kept: Sequence[int]) -> Sequence[Row]:
        if not kept:
            return []
        if self._last is None or self._last[0] != kept[-1]:
            self._last = kept[-1], self._read(kept[-1])[1]
        return self._last[1]

    def _read(self, number: int) -> tuple[Sequence[Row], Sequence[Row]]:
        with self._folder.damage_named():
            rows = self._session.read.schema(_SCHEMA).parquet(self._folder.path(str(number))).collect()
            kind, version, contents = unpacked_contents(bytes(rows[0].packed) if rows else b"")
            if (kind, version) != (_KIND, _VERSION):
                raise DamagedPartError(f"{kind} {version} is not {_KIND} {_VERSION}")
            return json.loads(contents[_EVENTS]), json.loads(contents[_OPEN])

    def _write(self, number: int, events: Sequence[Row], now_open: Sequence[Row]) -> None:
        contents = {_EVENTS: _json(events), _OPEN: _json(now_open)}
        row = (bytearray(packed_contents(_KIND, _VERSION, contents)),)
        frame = self._session.createDataFrame([row], _SCHEMA).coalesce(1)
        frame.write.mode("overwrite").parquet(self._folder.path(str(number)))


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()
