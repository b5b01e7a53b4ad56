"""Options of `lag-report` about columns and views. No heavy imports."""

from enum import Enum
from typing import Annotated, Final

import typer

from kgroup.errors import InputError
from kgroup.report.emit import Column, Kind


class TimeLagChoice(Enum):
    """What `--time-lag` takes."""

    EXACT = "exact"
    BISECT = "bisect"
    INTERPOLATE = "interpolate"


TimeLagOption = Annotated[
    TimeLagChoice | None,
    typer.Option(
        "--time-lag",
        metavar="exact|bisect|interpolate",
        help="How long the first unread record has waited, and how the lag changes: exact, by the record's"
        " timestamp; bisect, by asking a cluster for offsets by time; interpolate, by past log ends.",
        show_default=False,
    ),
]

TIME_COLUMNS: Final = (
    Column(name="time_lag_ms", header="TIME-LAG", kind=Kind.DURATION_MS),
    Column(name="time_lag_method", header="METHOD"),
    Column(name="time_lag_reason", header="REASON"),
    Column(name="written_per_s", kind=Kind.FLOAT),
    Column(name="read_per_s", kind=Kind.FLOAT),
    Column(name="growth_per_s", header="GROWTH/S", kind=Kind.FLOAT),
    Column(name="drain_ms", header="DRAIN", kind=Kind.DURATION_MS),
)
TIME_TABLE_COLUMNS: Final = tuple(
    column for column in TIME_COLUMNS if column.name not in ("written_per_s", "read_per_s")
)


def check_time_lag(choice: TimeLagChoice, *, live: bool, repeated: bool) -> None:
    """Raises InputError for a method that the source cannot answer by."""
    if choice is TimeLagChoice.BISECT and not live:
        raise InputError("--time-lag bisect asks brokers: give --bootstrap-server, or take exact")
    if choice is TimeLagChoice.INTERPOLATE and live and not repeated:
        raise InputError(
            "--time-lag interpolate needs more than one look at a cluster: add --watch or --serve-metrics,"
            " or take exact or bisect"
        )
