"""Reductions by name, as JSON: the value of a data source option. Nothing in it is ever run."""

import json
from dataclasses import asdict
from typing import Any

from kgroup.errors import InputError
from kgroup.spark.reductions import Both, LastCommitsOfEach, NewestRecords, ReachAndRounds, Reduction


def reduction_as_json(reduction: Reduction[Any]) -> str:
    """JSON from which `reduction_of_json` makes an equal one. Raises InputError for one without a name."""
    return json.dumps(_described(reduction))


def reduction_of_json(text: str) -> Reduction[Any]:
    """Raises InputError for what describes no reduction."""
    try:
        return _made(json.loads(text))
    except (ValueError, LookupError, TypeError) as error:
        raise InputError(f"no reduction: {text[:100]!r}") from error


def _described(reduction: Reduction[Any]) -> dict[str, Any]:
    match reduction:
        case NewestRecords():
            return {"name": "newest"}
        case LastCommitsOfEach(keep):
            return {"name": "last-commits", **asdict(keep)}
        case ReachAndRounds(rounds):
            return {"name": "reach-and-rounds", "rounds": rounds}
        case Both(first, second):
            return {"name": "both", "of": [_described(first), _described(second)]}
        case _:
            raise InputError(f"{type(reduction).__name__}: a reduction without a name")


def _made(described: dict[str, Any]) -> Reduction[Any]:
    name = described["name"]
    if name == "newest":
        return NewestRecords()
    if name == "last-commits":
        from kgroup.scan.reductions.last_commits import Keep

        slots, period_ms, longest = (described[field] for field in ("slots", "period_ms", "longest"))
        if (
            not isinstance(slots, int)
            or not isinstance(period_ms, int | None)
            or not isinstance(longest, int)
        ):
            raise TypeError("not numbers")
        return LastCommitsOfEach(Keep(slots=slots, period_ms=period_ms, longest=longest))
    if name == "reach-and-rounds":
        if not isinstance(described["rounds"], bool):
            raise TypeError("neither true nor false")
        return ReachAndRounds(described["rounds"])
    if name == "both":
        first, second = described["of"]
        return Both(_made(first), _made(second))
    raise LookupError(name)
