"""Times and durations as the tool reads them: `Utils.getDateTime` of Kafka, `Duration.parse` of Java."""

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

from kgroup.cli.compat.failure import ToolError

_TIME: Final = re.compile(r"(\d+)-(\d+)-(\d+)T(\d+):(\d+):(\d+)\.(\d+)(Z|([+-])(\d\d):?(\d\d)?)")
_DURATION: Final = re.compile(
    r"([-+]?)P(?:([-+]?\d+)D)?(T(?:([-+]?\d+)H)?(?:([-+]?\d+)M)?(?:([-+]?\d+)(?:[.,](\d{0,9}))?S)?)?",
    re.IGNORECASE,
)
_DAY_MS: Final = 86_400_000


def date_time_ms(text: str) -> int:
    """Epoch ms of `2026-01-31T09:30:00.000`, without a zone in UTC. Raises ToolError."""
    _, has_time, time = text.partition("T")
    if not has_time or not time:
        raise _parse_error("Error parsing timestamp. It does not contain a 'T' according to ISO8601 format")
    if not set("+-Z") & set(time):
        text += "Z"
    matched = _TIME.match(text)
    if matched is None or int(matched[7]) > 999:
        raise _parse_error(f'Unparseable date: "{text}"')
    zone = UTC
    if matched[9]:
        offset = timedelta(hours=int(matched[10]), minutes=int(matched[11] or 0))
        zone = timezone(-offset if matched[9] == "-" else offset)
    try:
        moment = datetime(*(int(matched[number]) for number in range(1, 7)), tzinfo=zone)  # type: ignore[arg-type, misc]
    except ValueError:
        raise _parse_error(f'Unparseable date: "{text}"') from None
    return int(moment.timestamp()) * 1000 + int(matched[7])


def duration_ms(text: str) -> int:
    """Milliseconds of `PT2H`, `P1DT1.5S` or `-P1D`. Raises ToolError."""
    matched = _DURATION.fullmatch(text)
    if matched is None or matched[3] in ("T", "t") or not (matched[2] or matched[3]):
        why = "Text cannot be parsed to a Duration"
        raise ToolError(why, f"java.time.format.DateTimeParseException: {why}")
    units = [(matched[2], _DAY_MS), (matched[4], 3_600_000), (matched[5], 60_000), (matched[6], 1000)]
    total = sum(int(number) * unit for number, unit in units if number)
    fraction = int(((matched[7] or "") + "000")[:3])
    total += -fraction if (matched[6] or "").startswith("-") else fraction
    return -total if matched[1] == "-" else total


def _parse_error(why: str) -> ToolError:
    cause = f"java.text.ParseException: {why}"
    return ToolError(cause, f"java.lang.RuntimeException: {cause}")
