"""What real brokers did with the crafted partitions (`fixtures/fsck`, written by `tests.fsck.brokers`)."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FIXTURES = Path(__file__).parents[2] / "fixtures" / "fsck"


@dataclass(frozen=True)
class Recorded:
    """The outcome; the exception, if any; the segment's bytes afterwards, if not those before."""

    outcome: str
    error: str = ""
    says: str = ""
    size: int | None = None


@cache
def recorded() -> dict[str, dict[str, dict[bool, Recorded]]]:
    """Version -> case -> after a clean shutdown, or not -> what the broker did."""
    runs = {}
    for path in sorted(FIXTURES.glob("*.json")):
        run = json.loads(path.read_text(encoding="utf-8"))
        runs[run["kafka"]] = {
            case: {after == "clean shutdown": Recorded(**what) for after, what in by_end.items()}
            for case, by_end in run["verdicts"].items()
        }
    return runs
