"""Options of `lag-report` about columns and views. No heavy imports."""

from enum import Enum
from typing import Annotated

import typer

from kgroup.errors import InputError


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


def check_time_lag(choice: TimeLagChoice, *, live: bool, repeated: bool) -> None:
    """Raises InputError for a method that the source cannot answer by."""
    if choice is TimeLagChoice.BISECT and not live:
        raise InputError("--time-lag bisect asks brokers: give --bootstrap-server, or take exact")
    if choice is TimeLagChoice.INTERPOLATE and live and not repeated:
        raise InputError(
            "--time-lag interpolate needs more than one look at a cluster: add --watch or --serve-metrics,"
            " or take exact or bisect"
        )
