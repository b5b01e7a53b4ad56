"""`time_lag.jsonl`: what kafka-lag-exporter's table said to log ends and lookups, one after the other.

Format: `fixtures/vectors/time_lag.README.md`. A line, with all its steps, is one case.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kgroup.lag.measures.time_lag import LagIsZero, LogEndTable, Prediction, TooFewPoints
from tests.vectors.case import Case, VectorError

Json = dict[str, Any]


def cases(path: Path) -> Iterator[Case]:
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _case(f"{path.name}:{number}", line)


def _case(line_name: str, line: str) -> Case:
    try:
        known = json.loads(line)
        table, name = LogEndTable(known["table_size"]), f"{line_name} {known['id']}"
        for number, step in enumerate(known["steps"]):
            answer = _answer(table, step)
            wanted = (step["result"], float(step["time"]) if step["result"] == "Prediction" else None)
            if answer != wanted:
                return Case(name, f"step {number}: {answer}, kafka-lag-exporter says {wanted}")
        return Case(name)
    except (ValueError, KeyError, TypeError, AttributeError, AssertionError) as error:
        raise VectorError(f"{line_name} is no time lag: {error!r}") from error


def _answer(table: LogEndTable, step: Json) -> tuple[str, float | None]:
    if step["op"] == "point":
        return table.add(step["offset"], step["time"]).value, None
    if step["op"] != "lookup":
        raise ValueError(f"no such step: {step['op']}")
    match table.lookup(step["offset"]):
        case Prediction(time):
            return "Prediction", time
        case TooFewPoints():
            return "TooFewPoints", None
        case LagIsZero():
            return "LagIsZero", None
