"""Hypothesis profiles: `quick` gives the same examples in every run, `exhaustive` many new ones.

Choose with `HYPOTHESIS_PROFILE=exhaustive pytest …`.
"""

import os

from hypothesis import settings

settings.register_profile("quick", derandomize=True, deadline=None)
settings.register_profile("exhaustive", max_examples=5000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
