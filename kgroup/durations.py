"""Lengths of time as people write them (`90s`, `2h30m`, `P1D`) and as evidence gives them."""

import re
from typing import Final

_UNITS_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_SHORT: Final = re.compile(r"(?:\d{1,15}(?:ms|[smhdw]))+")
_SHORT_PART: Final = re.compile(r"(\d+)(ms|[smhdw])")
_ISO_DURATION: Final = re.compile(
    r"P(?=[\dT])(?:(?P<w>\d{1,15})W)?(?:(?P<d>\d{1,15})D)?"
    r"(?:T(?=\d)(?:(?P<h>\d{1,15})H)?(?:(?P<m>\d{1,15})M)?(?:(?P<s>\d{1,15})(?:[.,](?P<fraction>\d{0,9}))?S)?)?"
)


def parse_duration(text: str) -> int | None:
    """Milliseconds of `90s`, `2h30m`, `P1D` or `PT1H30M`; None if `text` is no duration.

    `PT1.5S` has a fraction of a second as `java.time.Duration.parse` takes it: up to nine digits, of which
    those below a millisecond are dropped. Years and months have no fixed length, so they are not understood;
    nor are numbers of over 15 digits.
    """
    if _SHORT.fullmatch(text):
        return sum(int(number) * _UNITS_MS[unit] for number, unit in _SHORT_PART.findall(text))
    iso = _ISO_DURATION.fullmatch(text)
    if iso is None:
        return None
    parts = iso.groupdict(default="")
    fraction_ms = int(f"{parts.pop('fraction')}000"[:3])
    return fraction_ms + sum(int(number) * _UNITS_MS[unit] for unit, number in parts.items() if number)


def lasting(ms: int) -> str:
    """A length of time in evidence, to a tenth of a second at best: `40ms`, `2.1s`, `12m 3s`, `3d 4h`."""
    if ms < 0:
        return "-" + lasting(-ms)
    if 0 < ms < 100:
        return f"{ms}ms"
    tenths = (ms + 50) // 100
    if tenths < 600:
        return f"{tenths / 10:.1f}".removesuffix(".0") + "s"
    minutes, seconds = divmod(tenths // 10, 60)
    hours, minutes = divmod(minutes, 60)
    if not hours:
        return f"{minutes}m {seconds}s"
    days, hours = divmod(hours, 24)
    return f"{days}d {hours}h" if days else f"{hours}h {minutes}m"
