"""Kernels as Python or as machine code, whatever was read before."""

from collections.abc import Iterator
from contextlib import contextmanager

from kgroup.log.files import small
from kgroup.scan.kernels.compile import TIER

_ALWAYS_PYTHON = 1 << 62


@contextmanager
def kernels(*, compiled: bool) -> Iterator[None]:
    """Let kernels run as machine code, or as Python, in the block, on small logs, too."""
    before, small_bytes = TIER.as_python_bytes, small.SMALL_BYTES
    small.SMALL_BYTES = -1  # type: ignore[misc]  # which commands read without kernels
    TIER.as_python_bytes = -1 if compiled else _ALWAYS_PYTHON
    try:
        yield
    finally:
        TIER.as_python_bytes = before
        small.SMALL_BYTES = small_bytes  # type: ignore[misc]
