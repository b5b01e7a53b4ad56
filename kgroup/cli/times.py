"""Points in time as users write them: ISO-8601, epoch milliseconds, or a duration before now."""

import re
from datetime import UTC, datetime
from typing import Final

from kgroup.errors import InputError

_UNITS_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_SHORT: Final = re.compile(r"(?:\d+(?:ms|[smhdw]))+")
_SHORT_PART: Final = re.compile(r"(\d+)(ms|[smhdw])")
_ISO_DURATION: Final = re.compile(
    r"P(?=[\dT])(?:(?P<w>\d+)W)?(?:(?P<d>\d+)D)?(?:T(?=\d)(?:(?P<h>\d+)H)?(?:(?P<m>\d+)M)?(?:(?P<s>\d+)S)?)?"
)
_EPOCH_MS: Final = re.compile(r"\d{11,15}")
_FORMS: Final = "an ISO time (2026-01-31T09:30Z), epoch ms, or a duration before now (90s, 15m, 2h30m, P1D)"


def parse_time(text: str, option: str, now_ms: int) -> int:
    """Epoch ms. An ISO time without an offset is UTC. Raises InputError that names `option`."""
    if _EPOCH_MS.fullmatch(text):
        return int(text)
    duration_ms = parse_duration(text)
    if duration_ms is not None:
        return now_ms - duration_ms
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InputError(f"{option} {text}: not a time; give {_FORMS}") from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)


def parse_duration(text: str) -> int | None:
    """Milliseconds of `90s`, `2h30m`, `P1D` or `PT1H30M`; None if `text` is no duration.

    Years and months have no fixed length, so they are not understood.
    """
    if _SHORT.fullmatch(text):
        return sum(int(number) * _UNITS_MS[unit] for number, unit in _SHORT_PART.findall(text))
    iso = _ISO_DURATION.fullmatch(text)
    if iso is None:
        return None
    return sum(int(number) * _UNITS_MS[unit] for unit, number in iso.groupdict().items() if number)
