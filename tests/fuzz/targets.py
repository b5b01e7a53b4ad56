"""What can be fuzzed: a name, and a function that plays so many inputs from a seed, and counts."""

from collections.abc import Callable
from typing import Final

from tests.fuzz import wire

Play = Callable[[int, int], dict[str, int]]
TARGETS: Final[dict[str, Play]] = {"wire": wire.play}
