"""The transcript of kafka-consumer-groups in fixtures/compat, and how a run of ours is compared with it."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

TRANSCRIPT = Path(__file__).parents[3] / "fixtures/compat/kafka-consumer-groups-4.3.1.txt"


class Recorded(NamedTuple):
    """One call of the tool: its arguments, and what it wrote and how it ended."""

    arguments: tuple[str, ...]
    out: str
    err: str
    status: int

    @property
    def line(self) -> str:
        return shlex.join(self.arguments)


def transcript() -> list[Recorded]:
    """All calls in their order."""
    return list(_calls(TRANSCRIPT.read_text(encoding="utf-8")))


def _calls(text: str) -> Iterator[Recorded]:
    for part in re.split(r"^=== kafka-consumer-groups ", text, flags=re.M)[1:]:
        line, *answer = part.splitlines()
        out = "".join(f"{each[2:].removesuffix('$')}\n" for each in answer if each.startswith("O|"))
        err = "".join(f"{each[2:]}\n" for each in answer if each.startswith("E|"))
        (status,) = [int(each[3:]) for each in answer if each.startswith("rc=")]
        yield Recorded(tuple(shlex.split(line)), out, err, status)


def call(line: str) -> Recorded:
    """The call with these arguments. Raises StopIteration if it is not in the transcript."""
    return next(each for each in transcript() if each.line == line)
