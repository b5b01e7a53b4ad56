"""Lengths of time as people write them, `90s`, `2h30m`, `P1D`, and as evidence gives them."""

import re
from typing import Final

_UNITS_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_SHORT: Final = re.compile(r"(?:\d{1,15}(?:ms|[smhdw]))+")
_SHORT_PART: Final = re.compile(r"(\d+)(ms|[smhdw])")
_ISO_DURATION: Final = re.compile(
    r"P(?=[\dT])(?:(?P<w>\d{1,15})W)?(?:(?P<d>\d{1,15})D)?"
    r"(?:T(?=\d)(?:(?P<h>\d{1,15})H)?(?:(?P<m>\d{1,15})M)?(?:(?P<s>\d{1,15})S)?)?"
)


def parse_duration(text: str) -> int | None:
    """Milliseconds of `90s`, `2h30m`, `P1D` or `PT1H30M`; None if `text` is no duration.

    Years and months have no fixed length, so they are not understood; nor are numbers of over 15 digits.
    """
    if _SHORT.fullmatch(text):
        return sum(int(number) * _UNITS_MS[unit] for number, unit in _SHORT_PART.findall(text))
    iso = _ISO_DURATION.fullmatch(text)
    if iso is None:
        return None
    return sum(int(number) * _UNITS_MS[unit] for unit, number in iso.groupdict().items() if number)


def seconds_text(ms: int) -> str:
    """Seconds to a tenth, as evidence gives them: `12.3 s`."""
    return f"{ms / 1000:.1f} s"
