"""Batches to be sent: their total size at once, their bytes piece by piece."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

PIECE_BYTES: Final = 1 << 17


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Whole batches of a log, one after another: `size` bytes, of `batches` batches.

    `pieces` fetches the bytes as they are asked for, at most `PIECE_BYTES` at a time; the log may have gone
    on since, or be gone. It raises SourceError for what can no longer be had.
    """

    size: int
    batches: int
    pieces: Callable[[], Iterator[bytes | memoryview]]

    def whole(self) -> bytes:
        """All the bytes. Raises SourceError."""
        return b"".join(self.pieces())


def in_memory(parts: Sequence[bytes], batches: int | None = None) -> Stretch:
    """A stretch of bytes in memory: one batch each, unless a number is given."""
    count = len(parts) if batches is None else batches
    return Stretch(size=sum(map(len, parts)), batches=count, pieces=lambda: in_pieces(parts))


def in_pieces(parts: Iterable[bytes]) -> Iterator[bytes | memoryview]:
    """These bytes: small parts joined to pieces, large ones cut without a copy."""
    small: list[bytes] = []
    size = 0
    for part in parts:
        if small and size + len(part) > PIECE_BYTES:
            yield b"".join(small)
            small, size = [], 0
        if len(part) > PIECE_BYTES:
            view = memoryview(part)
            for start in range(0, len(part), PIECE_BYTES):
                yield view[start : start + PIECE_BYTES]
        else:
            small.append(part)
            size += len(part)
    if small:
        yield b"".join(small)


NOTHING: Final = in_memory(())
