"""Points in time as users write them: ISO-8601, epoch milliseconds, or a duration before now."""

import re
from datetime import UTC, datetime
from typing import Final

from kgroup.durations import parse_duration
from kgroup.errors import InputError

_EPOCH_MS: Final = re.compile(r"\d{11,15}")
_LONGEST_MS: Final = 10**17
"""Three million years: sums of it and of times fit into 64 bits."""
_FORMS: Final = "an ISO time (2026-01-31T09:30Z), epoch ms, or a duration before now (90s, 15m, 2h30m, P1D)"


def parse_length(text: str, option: str, *, least: str = "1ms") -> int:
    """Milliseconds of a duration, `least` or longer. Raises InputError that names `option`."""
    least_ms = parse_duration(least)
    assert least_ms is not None, least
    length_ms = parse_duration(text)
    if length_ms is None or length_ms < least_ms:
        raise InputError(f"{option} {text}: not a duration of {least} or more, like 30s, 15m, 2h30m or P1D")
    if length_ms > _LONGEST_MS:
        raise InputError(f"{option} {text}: too long")
    return length_ms


def parse_time(text: str, option: str, now_ms: int) -> int:
    """Epoch ms. An ISO time without an offset is UTC. Raises InputError that names `option`."""
    if _EPOCH_MS.fullmatch(text):
        return int(text)
    duration_ms = parse_duration(text)
    if duration_ms is not None:
        if duration_ms > _LONGEST_MS:
            raise InputError(f"{option} {text}: too long")
        return now_ms - duration_ms
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InputError(f"{option} {text}: not a time; give {_FORMS}") from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)
