"""A group's recorded history, played again under another assignor or other settings."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Final, overload

from kgroup.api.names import is_pattern
from kgroup.api.replay import Replayed
from kgroup.api.tabular import Tabular
from kgroup.assignors.registry import ASSIGNORS, CURRENT, Protocol, find_names
from kgroup.errors import InputError, did_you_mean
from kgroup.history.timeline.model import Timeline
from kgroup.history.what_if.changes import Changes
from kgroup.history.what_if.what_if import Comparison
from kgroup.history.what_if.what_if import what_if as play
from kgroup.report.emit import Column, Row
from kgroup.report.html_table import html_table
from kgroup.report.table import printable
from kgroup.report.timeline.what_if_rows import SUMMARY_COLUMNS, summary_rows, summary_table

_PROTOCOLS: Final = {
    "classic": (Protocol.EAGER, Protocol.COOPERATIVE),
    "eager": (Protocol.EAGER,),
    "cooperative": (Protocol.COOPERATIVE,),
    "consumer": (Protocol.SERVER,),
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GroupComparison(Comparison, Tabular):
    """A Comparison that a notebook shows; as a table it has a row for each side."""

    @classmethod
    def of(cls, comparison: Comparison) -> "GroupComparison":
        """The same with another face."""
        return cls(**{each.name: getattr(comparison, each.name) for each in fields(Comparison)})

    def __repr__(self) -> str:
        moved = f"{self.recorded.moved} partitions moved as recorded, {self.supposed.moved} as supposed"
        return f"<Comparison of group {printable(self.group_id)}: {moved}>"

    def _repr_html_(self) -> str:
        return _shown([self])

    def arrow_columns(self) -> Sequence[Column]:
        """The columns of `kgroup what-if -o parquet`."""
        return SUMMARY_COLUMNS

    def arrow_rows(self) -> Iterator[Row]:
        """The recorded side, and the supposed one."""
        return summary_rows([self])


class Comparisons(Mapping[str, GroupComparison], Tabular):
    """Comparisons by group id, in order; `passed_over` says why other groups could not be played again."""

    def __init__(self, compared: Iterable[Comparison], passed_over: Sequence[str] = ()) -> None:
        self._compared = {each.group_id: GroupComparison.of(each) for each in compared}
        self.passed_over = tuple(passed_over)

    def __getitem__(self, group: str) -> GroupComparison:
        return self._compared[group]

    def __iter__(self) -> Iterator[str]:
        return iter(self._compared)

    def __len__(self) -> int:
        return len(self._compared)

    def __repr__(self) -> str:
        return f"<Comparisons of {len(self)} groups, {len(self.passed_over)} passed over>"

    def _repr_html_(self) -> str:
        return _shown(list(self.values()))

    def arrow_columns(self) -> Sequence[Column]:
        """The columns of `kgroup what-if -o parquet`."""
        return SUMMARY_COLUMNS

    def arrow_rows(self) -> Iterator[Row]:
        """Both sides of each group."""
        return summary_rows(self.values())


@overload
def what_if(
    timeline: Timeline,
    changes: Changes | None = None,
    *,
    assignor: str | None = None,
    protocol: str | None = None,
    static: bool = False,
    session_timeout_ms: int | None = None,
    more_members: int = 0,
    partitions: Mapping[str, int] | None = None,
    pause_ms: int | None = None,
) -> GroupComparison: ...


@overload
def what_if(
    timeline: Replayed,
    changes: Changes | None = None,
    *,
    assignor: str | None = None,
    protocol: str | None = None,
    static: bool = False,
    session_timeout_ms: int | None = None,
    more_members: int = 0,
    partitions: Mapping[str, int] | None = None,
    pause_ms: int | None = None,
) -> Comparisons: ...


def what_if(
    timeline: Timeline | Replayed,
    changes: Changes | None = None,
    *,
    assignor: str | None = None,
    protocol: str | None = None,
    static: bool = False,
    session_timeout_ms: int | None = None,
    more_members: int = 0,
    partitions: Mapping[str, int] | None = None,
    pause_ms: int | None = None,
) -> GroupComparison | Comparisons:
    """Compute what other settings would have cost one group, or each of several.

    Changes are keywords, or a `Changes` object. `protocol` is classic, eager, cooperative or consumer.
    Raises InputError for an invalid change, and for a group that cannot be simulated; if patterns matched
    several groups, such groups are skipped, unless none is left.
    """
    if changes is None:
        changes = named_changes(
            assignor=assignor,
            protocol=protocol,
            static=static,
            session_timeout_ms=session_timeout_ms,
            more_members=more_members,
            partitions=partitions,
            pause_ms=pause_ms,
        )
    if isinstance(timeline, Timeline):
        return GroupComparison.of(play(timeline, changes))
    named = [pattern for pattern in timeline.patterns if not is_pattern(pattern)]
    compared, passed_over = [], []
    for each in timeline.values():
        try:
            compared.append(play(each, changes))
        except InputError as error:
            if each.group_id in named or len(timeline) == 1:
                raise
            passed_over.append(str(error))
    if not compared:
        raise InputError(f"none of {len(timeline)} groups can be played again: {passed_over[0]}")
    return Comparisons(compared, passed_over)


def named_changes(
    *,
    assignor: str | None = None,
    protocol: str | None = None,
    static: bool = False,
    session_timeout_ms: int | None = None,
    more_members: int = 0,
    partitions: Mapping[str, int] | None = None,
    pause_ms: int | None = None,
) -> Changes:
    """The changes as the rules take them. Raises InputError for unknown names, or names that do not fit."""
    if protocol is not None and protocol not in _PROTOCOLS:
        hint = did_you_mean(protocol, _PROTOCOLS)
        raise InputError(f"--protocol {protocol!r} is not one of {', '.join(_PROTOCOLS)}{hint}")
    return Changes(
        assignor=None if assignor is None else _assignor(assignor, protocol),
        protocol=None if protocol in (None, "classic") else _PROTOCOLS[protocol][0],
        classic=protocol == "classic",
        static=static,
        session_timeout_ms=session_timeout_ms,
        more_members=more_members,
        partitions=dict(partitions or {}),
        pause_ms=pause_ms,
    )


def _assignor(name: str, protocol: str | None) -> str:
    if name == "range" and protocol == "consumer":
        return "server-range"
    (known,) = find_names([name])
    entry = ASSIGNORS[known]
    if entry.shares:
        raise InputError(f"--assignor {name} is for share groups, which what-if does not play")
    if protocol is not None and entry.protocol not in _PROTOCOLS[protocol]:
        fitting = [
            n for n in CURRENT if ASSIGNORS[n].protocol in _PROTOCOLS[protocol] and not ASSIGNORS[n].shares
        ]
        raise InputError(
            f"--assignor {name} is not of --protocol {protocol}: there {'is' if len(fitting) == 1 else 'are'}"
            f" {', '.join(fitting)}"
        )
    return known


def _shown(compared: Sequence[Comparison]) -> str:
    return html_table(summary_rows(compared), summary_table(len(compared) > 1))
