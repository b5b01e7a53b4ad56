"""Records that `kgroup decode` can skip without decoding them, because the filter excludes them."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from kgroup.api.decode.filter import UNDECODED, Filter, type_name_of
from kgroup.log.format.batch import Batch, LogRecord
from kgroup.protocol.records.codec import decode_key

_FIRST_MAGIC_WITH_MAX_TIMESTAMP: Final = 2
_CACHED_KEYS: Final = 1 << 16


class Preselection:
    """The conditions of a Filter that the header of a batch, or the bytes of a key, can answer.

    What passes may still not be wanted: `Filter.wants` has the last word. Records whose key cannot be read
    pass, since their subject is unknown. `advance` is called with the size of each batch.
    """

    def __init__(self, wanted: Filter, advance: Callable[[int], None]) -> None:
        self.wanted = wanted
        self.advance = advance
        self._takes_all = wanted.takes_all
        self._keys: dict[bytes, bool] = {}

    def wants_batch(self, batch: Batch) -> bool:
        """See kgroup.log.files.entries.Selection."""
        self.advance(batch.size)
        wanted = self.wanted
        if wanted.first_offset is not None and batch.last_offset < wanted.first_offset:
            return False
        if wanted.last_offset is not None and batch.base_offset > wanted.last_offset:
            return False
        if wanted.since_ms is None or batch.magic < _FIRST_MAGIC_WITH_MAX_TIMESTAMP:
            return True
        return not 0 <= batch.max_timestamp_ms < wanted.since_ms

    def choose(self, batch: Batch, records: Sequence[LogRecord]) -> Iterable[LogRecord]:
        """See kgroup.log.files.entries.Selection."""
        if self._takes_all or batch.control:
            return records
        return (record for record in records if self._may_want(record))

    def _may_want(self, record: LogRecord) -> bool:
        wanted = self.wanted
        if wanted.first_offset is not None and record.offset < wanted.first_offset:
            return False
        if wanted.last_offset is not None and record.offset > wanted.last_offset:
            return False
        # Without a time of its own, a commit has the one in its value.
        if record.timestamp_ms >= 0:
            if wanted.since_ms is not None and record.timestamp_ms < wanted.since_ms:
                return False
            if wanted.until_ms is not None and record.timestamp_ms >= wanted.until_ms:
                return False
        if wanted.tombstones and record.value is not None:
            return False
        if record.key is None:
            return True
        known = self._keys.get(record.key)
        return self._add_key(record.key) if known is None else known

    def _add_key(self, key: bytes) -> bool:
        if len(self._keys) == _CACHED_KEYS:
            self._keys.clear()
        known = self._keys[key] = self.may_want_key(key)
        return known

    def may_want_key(self, key: bytes) -> bool:
        """Whether records with this key may be wanted."""
        decoded = decode_key(key)
        if decoded is None:
            return True
        record_type, about = decoded
        types = self.wanted.types
        if types is not None and types.isdisjoint({type_name_of(record_type), UNDECODED}):
            return False
        return self.wanted.wants_key(about)
