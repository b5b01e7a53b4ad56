"""The period a command covers: `--since` and `--until`; `--from` and `--to` are their older names."""

from dataclasses import dataclass
from typing import Annotated

from kgroup.cli.shell.options import Since, Until
from kgroup.cli.shell.section import Section, option
from kgroup.cli.shell.times import parse_time
from kgroup.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """The period as it was given."""

    since: Since = None
    until: Until = None
    from_: Annotated[
        str | None,
        option("--from", metavar="TIME", help="The same as --since.", section=Section.SELECTION, hidden=True),
    ] = None
    to: Annotated[
        str | None,
        option("--to", metavar="TIME", help="The same as --until.", section=Section.SELECTION, hidden=True),
    ] = None

    @property
    def given(self) -> dict[str, str | None]:
        """The options as given, by their documented names."""
        return {"--since": self.since or self.from_, "--until": self.until or self.to}

    def times(self, now_ms: int) -> tuple[int | None, int | None]:
        """First and last time, epoch ms. Raises InputError for what is no time, no period, or given twice."""
        for name, value, other, same in (
            ("--since", self.since, "--from", self.from_),
            ("--until", self.until, "--to", self.to),
        ):
            if value is not None and same is not None:
                raise InputError(f"{name} and {other} are the same: give one of them")
        since_ms, until_ms = (
            parse_time(text, name, now_ms) if text else None for name, text in self.given.items()
        )
        if since_ms is not None and until_ms is not None and until_ms <= since_ms:
            raise InputError(f"--until {self.given['--until']} is not after --since {self.given['--since']}")
        return since_ms, until_ms
