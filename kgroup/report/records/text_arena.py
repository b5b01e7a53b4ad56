"""Numbered texts in the form the kernels take."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from kgroup.scan.kernels.bytes_at import Bytes
from kgroup.scan.kernels.text import SLACK

EMPTY: Final = 0
"""The number of the empty text."""


class TextArena:
    """Texts one behind the other; each has a number, from 0, which is that of the empty text."""

    def __init__(self) -> None:
        self.texts: Bytes = np.empty(1 << 16, np.uint8)
        self.spans: NDArray[np.int64] = np.zeros(1 << 10, np.int64)
        self._used = 0
        self._count = 1

    def add(self, text: str) -> int:
        """The number of one more text."""
        encoded = text.encode("utf-8", "backslashreplace")
        end = self._used + len(encoded)
        if end + SLACK > len(self.texts):
            self.texts = np.concatenate([self.texts, np.empty(end + len(self.texts), np.uint8)])
        if 2 * self._count == len(self.spans):
            self.spans = np.concatenate([self.spans, np.zeros_like(self.spans)])
        self.texts.data[self._used : end] = encoded  # a short copy takes NumPy itself three times as long
        number = self._count
        self.spans[2 * number], self.spans[2 * number + 1] = self._used, end
        self._used = end
        self._count += 1
        return number


class TextNumbers:
    """The numbers of the texts for ids from 0 on, each asked for when it is first needed."""

    def __init__(self) -> None:
        self._numbers: NDArray[np.int64] = np.full(1 << 10, -1, np.int64)

    def missing(self, ids: NDArray[np.int64]) -> list[int]:
        """The ids without a number, each once."""
        if not len(ids):
            return []
        self._make_room(int(ids.max()))
        fresh = ids[self._numbers[ids] < 0]
        return np.unique(fresh).tolist() if len(fresh) else []

    def put(self, number: int, text: int) -> None:
        """Give an id the number of its text."""
        self._make_room(number)
        self._numbers[number] = text

    def of(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """The numbers of the texts of ids of which none is `missing`."""
        return self._numbers[ids]

    def _make_room(self, highest: int) -> None:
        if highest >= len(self._numbers):
            added = np.full(highest + len(self._numbers), -1, np.int64)
            self._numbers = np.concatenate([self._numbers, added])
