"""What a worker that has scanned leaves to the garbage collector, which PySpark calls after each task."""

import gc
from collections.abc import Iterator

import pytest

from kgroup.scan.kernels.compile import TIER
from kgroup.spark import reduced_source
from tests.scan.tiers import kernels


@pytest.fixture(autouse=True)
def _a_new_worker() -> Iterator[None]:
    reduced_source._freeze.cache_clear()
    yield
    reduced_source._freeze.cache_clear()


def test_what_is_loaded_is_kept_from_it_once_and_once_more_when_kernels_are_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frozen: list[bool] = []
    monkeypatch.setattr(gc, "collect", lambda: 0)
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(TIER.is_compiled))
    for compiled in (False, True):
        with kernels(compiled=compiled):
            for _ in range(3):
                assert list(reduced_source.read_tasks(iter(()), (), None)) == []  # type: ignore[arg-type]
    assert frozen == [False, True]
