"""Tests of what kernels do ask for `each_tier`, and run with both."""

from collections.abc import Iterator

import pytest

from tests.scan.tiers import kernels


@pytest.fixture(scope="module", params=["as Python", "compiled"])
def each_tier(request: pytest.FixtureRequest) -> Iterator[None]:
    """Kernels as Python, then as machine code."""
    with kernels(compiled=request.param == "compiled"):
        yield
