"""The captures of real brokers, what the broker said of its groups, and kgroup's report on them."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kgroup.api.lag.inputs import LagInputs, gather
from kgroup.lag.measures.rows import LagRow
from kgroup.log.files.sources import open_sources
from kgroup.scan.reductions.scan import newest, split
from tests.compat.described import Described, read_described

FIXTURES = Path(__file__).parents[2] / "fixtures"
NAMES = sorted(str(path.parent.relative_to(FIXTURES)) for path in FIXTURES.glob("[0-9]*/*/groups.json"))


@dataclass(frozen=True)
class Report:
    """kgroup's report on a capture."""

    inputs: LagInputs
    rows: tuple[LagRow, ...]

    def of(self, group: str) -> list[LagRow]:
        return [row for row in self.rows if row.group == group]


@cache
def report(name: str, *, with_topics_json: bool = False) -> Report:
    sources = open_sources([FIXTURES / name])
    parts = [part for segment in sources for part in split(segment.path, segment.partition, 1 << 30)]
    log_ends = FIXTURES / name / "topics.json" if with_topics_json else None
    inputs = gather(newest(parts), sources, log_ends, lambda group: True)
    return Report(inputs, tuple(inputs.rows()))


@cache
def described(name: str) -> Described:
    return read_described(FIXTURES / name / "described.txt")


@cache
def groups_json(name: str) -> dict:
    return json.loads((FIXTURES / name / "groups.json").read_text())["groups"]


@cache
def truth(name: str) -> list[dict]:
    with (FIXTURES / name / "truth.jsonl").open() as lines:
        return [json.loads(line) for line in lines]
