"""Run the scan's kernels as Python, however large a log is.

    pytest -p tests.scan.uncompiled tests/scan/kernels/test_keys.py

A debugger or a measurement of coverage sees nothing of what numba compiles. Slow: only for tests with little
data.
"""

from kgroup.scan.kernels.compile import TIER
from tests.scan.tiers import ALWAYS_PYTHON

TIER.as_python_bytes = ALWAYS_PYTHON
